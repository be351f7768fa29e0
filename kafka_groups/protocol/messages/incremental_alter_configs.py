"""IncrementalAlterConfigs (key 44), v0-v1: changes single configs of topics, brokers and groups (KIP-339)."""

from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3
"""Operations on a config."""


@frozen(kw_only=True)
class AlterableConfig:
    """`config_operation`: 0 set, 1 delete, 2 append to a list, 3 subtract from a list. Only delete takes None."""

    name: str
    config_operation: int
    value: str | None = None


@frozen(kw_only=True)
class AlterConfigsResource:
    """Changes to one resource. All are applied, or none."""

    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...] = ()


@frozen(kw_only=True)
class IncrementalAlterConfigsRequest:
    """With `validate_only` nothing changes."""

    resources: tuple[AlterConfigsResource, ...] = ()
    validate_only: bool


@frozen(kw_only=True)
class AlterConfigsResourceResponse:
    """The result for one resource."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    resource_type: int
    resource_name: str


@frozen(kw_only=True)
class IncrementalAlterConfigsResponse:
    """One result for each resource of the request."""

    throttle_time_ms: int = 0
    responses: tuple[AlterConfigsResourceResponse, ...] = ()
