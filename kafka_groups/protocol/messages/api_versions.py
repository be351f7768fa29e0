"""ApiVersions (key 18), v0-v4: which APIs and versions a broker serves, and the features of its cluster."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class ApiVersionsRequest:
    """The client's name and version are for the broker's metrics; letters, digits, `.` and `-` only (KIP-511)."""

    client_software_name: str = ""  # v3+
    client_software_version: str = ""  # v3+


@frozen(kw_only=True)
class ApiVersion:
    """The lowest and highest version of one API that is served; `api_key` may be one that we do not know."""

    api_key: int
    min_version: int
    max_version: int


@frozen(kw_only=True)
class SupportedFeatureKey:
    """The levels of a feature that this broker could run with (KIP-584)."""

    name: str
    min_version: int
    max_version: int


@frozen(kw_only=True)
class FinalizedFeatureKey:
    """The level at which the cluster runs a feature, as `share.version` 1; level 0 is never listed."""

    name: str
    max_version_level: int
    min_version_level: int


@frozen(kw_only=True)
class ApiVersionsResponse:
    """Always sent with the oldest response header.

    To a version that is not served it comes as v0 with UNSUPPORTED_VERSION. `finalized_features_epoch` is -1
    when it is unknown.
    """

    error_code: ErrorCode = ErrorCode.NONE
    api_keys: tuple[ApiVersion, ...] = ()
    throttle_time_ms: int = 0  # v1+
    supported_features: tuple[SupportedFeatureKey, ...] = ()  # v3+
    finalized_features_epoch: int = -1  # v3+
    finalized_features: tuple[FinalizedFeatureKey, ...] = ()  # v3+
    zk_migration_ready: bool = False  # v3+
