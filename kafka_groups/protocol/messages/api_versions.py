"""TODO api_versions (key 18), versions 0-4."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class ApiVersionsRequest:
    """TODO."""

    client_software_name: str = ""  # v3+
    client_software_version: str = ""  # v3+


@frozen(kw_only=True)
class ApiVersion:
    """TODO."""

    api_key: int
    min_version: int
    max_version: int


@frozen(kw_only=True)
class SupportedFeatureKey:
    """TODO."""

    name: str
    min_version: int
    max_version: int


@frozen(kw_only=True)
class FinalizedFeatureKey:
    """TODO."""

    name: str
    max_version_level: int
    min_version_level: int


@frozen(kw_only=True)
class ApiVersionsResponse:
    """TODO."""

    error_code: ErrorCode = ErrorCode.NONE
    api_keys: tuple[ApiVersion, ...] = ()
    throttle_time_ms: int = 0  # v1+
    supported_features: tuple[SupportedFeatureKey, ...] = ()  # v3+
    finalized_features_epoch: int = -1  # v3+
    finalized_features: tuple[FinalizedFeatureKey, ...] = ()  # v3+
    zk_migration_ready: bool = False  # v3+
