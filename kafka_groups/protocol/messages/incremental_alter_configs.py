"""TODO incremental_alter_configs (key 44), versions 0-1."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class AlterableConfig:
    """TODO."""

    name: str
    config_operation: int
    value: str | None = None


@frozen(kw_only=True)
class AlterConfigsResource:
    """TODO."""

    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...] = ()


@frozen(kw_only=True)
class IncrementalAlterConfigsRequest:
    """TODO."""

    resources: tuple[AlterConfigsResource, ...] = ()
    validate_only: bool


@frozen(kw_only=True)
class AlterConfigsResourceResponse:
    """TODO."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    resource_type: int
    resource_name: str


@frozen(kw_only=True)
class IncrementalAlterConfigsResponse:
    """TODO."""

    throttle_time_ms: int = 0
    responses: tuple[AlterConfigsResourceResponse, ...] = ()
