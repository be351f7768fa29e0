"""DescribeConfigs (key 32), v1-v4: returns configs of resources (`config_resources.py`) with their sources."""

from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode

TOPIC_CONFIG: Final = 1
DYNAMIC_BROKER_CONFIG: Final = 2
DYNAMIC_DEFAULT_BROKER_CONFIG: Final = 3
STATIC_BROKER_CONFIG: Final = 4
DEFAULT_CONFIG: Final = 5
CLIENT_METRICS_CONFIG: Final = 7
GROUP_CONFIG: Final = 8
"""Sources of a config: the levels at which it can be set."""


@frozen(kw_only=True)
class DescribeConfigsResource:
    """One resource. If `configuration_keys` is None, all of its configs are returned."""

    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None = ()


@frozen(kw_only=True)
class DescribeConfigsRequest:
    """Synonyms are the levels that a config falls back to (KIP-226)."""

    resources: tuple[DescribeConfigsResource, ...] = ()
    include_synonyms: bool = False
    include_documentation: bool = False  # v3+


@frozen(kw_only=True)
class DescribeConfigsSynonym:
    """The value at one level. Sensitive values are None."""

    name: str
    value: str | None = None
    source: int


@frozen(kw_only=True)
class DescribeConfigsResourceResult:
    """One config. Sensitive values are None. `config_type` 0 and `config_source` -1 mean unknown."""

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
    """The configs of one resource. Empty if there is an error."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    resource_type: int
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...] = ()


@frozen(kw_only=True)
class DescribeConfigsResponse:
    """One result for each resource of the request."""

    throttle_time_ms: int = 0
    results: tuple[DescribeConfigsResult, ...] = ()
