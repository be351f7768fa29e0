"""ApiVersions (key 18), v0-v5: lists the APIs and versions that this broker serves (KIP-35, KIP-511, KIP-584).

Only APIs with a handler are advertised, in the versions of the cluster's profile. From v3, the request contains the
name and version of the client's software, and the response contains the supported and the finalised features. In v5 the
request may say which broker it is for (KIP-1242).

Errors: INVALID_REQUEST if the software name or version has characters other than letters, digits, `-` and `.`, or if
only one of cluster and broker is given;
REBOOTSTRAP_REQUIRED if the request is for another cluster or broker; UNSUPPORTED_VERSION if the version is not served.
That response has version 0 and lists only the versions of this API.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from kafka_groups.broker.profile import Profile
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.protocol.apis import ApiKey, VersionRange
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
_ANY_BROKER = (None, -1)


class ApiVersionsHandler:
    """The handler for a set of served APIs.

    Args:
        served: The APIs with a handler. This API is added to them.
    """

    def __init__(self, served: Iterable[ApiKey]) -> None:
        self._served = sorted({ApiKey.API_VERSIONS, *served})

    async def __call__(self, request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
        """Return the APIs and features of the broker."""
        error = _refusal(request, context)
        if error is not None:
            return ApiVersionsResponse(error_code=error)
        profile = context.services.cluster.profile
        return ApiVersionsResponse(
            api_keys=tuple(_api_versions(self._served, profile)),
            supported_features=_supported(profile.supported_features(), context.version),
            finalized_features_epoch=context.services.cluster.metadata.version,
            finalized_features=_finalized(context.services.cluster.metadata.features),
        )


def unsupported_version(context: RequestContext) -> ApiVersionsResponse:
    """Return the response to a version of ApiVersions that is not served. It is sent in version 0 (KIP-511)."""
    api_keys = tuple(_api_versions((ApiKey.API_VERSIONS,), context.services.cluster.profile))
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=api_keys)


def _api_versions(keys: Iterable[ApiKey], profile: Profile) -> Iterator[ApiVersion]:
    for key in keys:
        versions = profile.advertised(key)
        if versions is not None:
            yield ApiVersion(api_key=key, min_version=versions.low, max_version=versions.high)


def _refusal(request: ApiVersionsRequest, context: RequestContext) -> ErrorCode | None:
    # Kafka takes these names for metrics, so it refuses others (ApiVersionsRequest.isValid; KIP-511).
    if context.version >= _FIRST_WITH_SOFTWARE and not _names_its_software(request):
        return ErrorCode.INVALID_REQUEST
    # A client may say which broker of which cluster it means. If another one listens at the address, the client has to
    # find the cluster again (KIP-1242).
    wanted = (request.cluster_id, request.node_id)
    if wanted == _ANY_BROKER:
        return None
    # One without the other means nothing.
    if _ANY_BROKER[0] == request.cluster_id or _ANY_BROKER[1] == request.node_id:
        return ErrorCode.INVALID_REQUEST
    this = (context.services.cluster.metadata.cluster_id, context.services.node_id)
    return None if wanted == this else ErrorCode.REBOOTSTRAP_REQUIRED


def _names_its_software(request: ApiVersionsRequest) -> bool:
    texts = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(text) for text in texts)


def _supported(features: Mapping[str, VersionRange], version: int) -> tuple[SupportedFeatureKey, ...]:
    return tuple(
        SupportedFeatureKey(name=name, min_version=levels.low, max_version=levels.high)
        for name, levels in features.items()
        if levels.low > 0 or version >= _FIRST_WITH_MINIMUM_0
    )


def _finalized(features: Mapping[str, int]) -> tuple[FinalizedFeatureKey, ...]:
    # A feature of level 0 is one that is not finalised.
    return tuple(
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in features.items()
        if level > 0
    )
