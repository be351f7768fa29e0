"""ApiVersions (key 18), v0-v4: lists the APIs and versions that this broker serves (KIP-35, KIP-511, KIP-584).

Only APIs with a handler are advertised. From v3, the request contains the name and version of the client's software,
and the response contains the supported and the finalised features.

Errors: INVALID_REQUEST if the software name or version has characters other than letters, digits, `-` and `.`;
UNSUPPORTED_VERSION if the version is not served. That response has version 0 and lists only the versions of this API.
"""

import re
from collections.abc import Iterable, Mapping

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

__all__ = ["ApiVersionsHandler", "unsupported_version"]

_FIRST_WITH_SOFTWARE = 3
_FIRST_WITH_MINIMUM_0 = 4  # KIP-1022: older clients fail on a minimum of 0, so such features are hidden from them
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_LOWEST_METADATA_VERSION = 7
_FEATURES_EPOCH = 0


class ApiVersionsHandler:
    """Return the handler for a set of served APIs.

    Args:
        served: The APIs with a handler. This API is added to them.
    """

    def __init__(self, served: Iterable[ApiKey]) -> None:
        keys = sorted({ApiKey.API_VERSIONS, *served})
        self._api_keys = tuple(_api_version(key) for key in keys)

    async def __call__(self, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
        """Return the APIs and features of the broker."""
        if context.version >= _FIRST_WITH_SOFTWARE and not _is_valid(request):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        features = context.services.metadata.features
        return ApiVersionsResponse(
            api_keys=self._api_keys,
            supported_features=_supported(features, context.version),
            finalized_features_epoch=_FEATURES_EPOCH,
            finalized_features=_finalized(features),
        )


def unsupported_version() -> ApiVersionsResponse:
    """Return the response to a version of ApiVersions that is not served. It is sent in version 0 (KIP-511)."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(_api_version(ApiKey.API_VERSIONS),))


def _api_version(key: ApiKey) -> ApiVersion:
    advertised = APIS[key].advertised
    return ApiVersion(api_key=key, min_version=advertised.low, max_version=advertised.high)


def _is_valid(request: ApiVersionsRequest) -> bool:
    texts = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(text) for text in texts)


def _supported(features: Mapping[str, int], version: int) -> tuple[SupportedFeatureKey, ...]:
    lowest = {name: _LOWEST_METADATA_VERSION if name == "metadata.version" else 0 for name in features}
    return tuple(
        SupportedFeatureKey(name=name, min_version=lowest[name], max_version=level)
        for name, level in features.items()
        if lowest[name] > 0 or version >= _FIRST_WITH_MINIMUM_0
    )


def _finalized(features: Mapping[str, int]) -> tuple[FinalizedFeatureKey, ...]:
    # A feature of level 0 is one that is not finalised.
    return tuple(
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in features.items()
        if level > 0
    )
