"""TODO describe_configs (key 32), versions 1-4."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DescribeConfigsResource:
    """TODO."""

    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None = ()


@frozen(kw_only=True)
class DescribeConfigsRequest:
    """TODO."""

    resources: tuple[DescribeConfigsResource, ...] = ()
    include_synonyms: bool = False
    include_documentation: bool = False  # v3+


@frozen(kw_only=True)
class DescribeConfigsSynonym:
    """TODO."""

    name: str
    value: str | None = None
    source: int


@frozen(kw_only=True)
class DescribeConfigsResourceResult:
    """TODO."""

    name: str
    value: str | None = None
    read_only: bool
    config_source: int = -1
    is_sensitive: bool
    synonyms: tuple[DescribeConfigsSynonym, ...] = ()
    config_type: int = 0  # v3+
    documentation: str | None = None  # v3+


@frozen(kw_only=True)
class DescribeConfigsResult:
    """TODO."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    resource_type: int
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...] = ()


@frozen(kw_only=True)
class DescribeConfigsResponse:
    """TODO."""

    throttle_time_ms: int = 0
    results: tuple[DescribeConfigsResult, ...] = ()
