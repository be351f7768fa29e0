"""ApiVersions of brokers from before Kafka 4.2, which have neither share groups nor streams groups."""

from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse

__all__ = ["of_an_old_broker"]

NEW = frozenset(
    key
    for key in ApiKey
    if key.name.startswith(("SHARE_", "STREAMS_", "DESCRIBE_SHARE", "ALTER_SHARE", "DELETE_SHARE"))
)


def of_an_old_broker() -> ApiVersionsResponse:
    """The answer to ApiVersions."""
    served = [
        ApiVersion(api_key=key, min_version=api.versions.low, max_version=api.versions.high)
        for key, api in APIS.items()
        if key not in NEW
    ]
    return ApiVersionsResponse(api_keys=tuple(served))
