"""ApiVersions (key 18), v0-v5: which APIs and versions a broker serves, and the features of its cluster."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import ignorable


@frozen(kw_only=True)
class ApiVersionsRequest:
    """The client's name and version are for the broker's metrics; letters, digits, `.` and `-` only (KIP-511).

    A client that knows which broker it wants says so by `cluster_id` and `node_id`. Any other broker refuses it with
    REBOOTSTRAP_REQUIRED (KIP-1242).
    """

    client_software_name: str = ""  # v3+
    client_software_version: str = ""  # v3+
    cluster_id: str | None = ignorable(None)  # v5+
    node_id: int = ignorable(-1)  # v5+


@frozen(kw_only=True)
class ApiVersion:
    """The lowest and highest supported version of one API. `api_key` may be unknown."""

    api_key: int
    min_version: int
    max_version: int


@frozen(kw_only=True)
class SupportedFeatureKey:
    """The levels of a feature that this broker supports (KIP-584)."""

    name: str
    min_version: int
    max_version: int


@frozen(kw_only=True)
class FinalizedFeatureKey:
    """The level at which the cluster runs a feature, such as `share.version` 1. Level 0 is never listed."""

    name: str
    max_version_level: int
    min_version_level: int


@frozen(kw_only=True)
class ApiVersionsResponse:
    """Always sent with the oldest response header.

    The response to an unsupported version is v0 with UNSUPPORTED_VERSION. `finalized_features_epoch` is -1 if it is
    unknown.
    """

    error_code: ErrorCode = ErrorCode.NONE
    api_keys: tuple[ApiVersion, ...] = ()
    throttle_time_ms: int = 0  # v1+
    supported_features: tuple[SupportedFeatureKey, ...] = ()  # v3+
    finalized_features_epoch: int = -1  # v3+
    finalized_features: tuple[FinalizedFeatureKey, ...] = ()  # v3+
    zk_migration_ready: bool = False  # v3+
