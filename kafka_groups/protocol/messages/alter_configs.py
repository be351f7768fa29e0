"""AlterConfigs (key 33), v0-v2: replaces all configs of topics, brokers and groups. KIP-339 has single changes."""

from attrs import frozen

from kafka_groups.protocol.messages.incremental_alter_configs import AlterConfigsResourceResponse

__all__ = ["AlterConfigsRequest", "AlterConfigsResponse", "ConfigToKeep", "ReplacedConfigs"]


@frozen(kw_only=True)
class ConfigToKeep:
    """One config that the resource has afterwards."""

    name: str
    value: str | None = None


@frozen(kw_only=True)
class ReplacedConfigs:
    """All configs of one resource. Those that are not named are reset."""

    resource_type: int
    resource_name: str
    configs: tuple[ConfigToKeep, ...] = ()


@frozen(kw_only=True)
class AlterConfigsRequest:
    """With `validate_only` nothing changes."""

    resources: tuple[ReplacedConfigs, ...] = ()
    validate_only: bool


@frozen(kw_only=True)
class AlterConfigsResponse:
    """One result for each resource of the request."""

    throttle_time_ms: int = 0
    responses: tuple[AlterConfigsResourceResponse, ...] = ()
