"""Questions about the configurations of topics, brokers and groups (DescribeConfigs, IncrementalAlterConfigs)."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kafka_groups.admin.rules.config_questions import altered_resource
from kafka_groups.admin.rules.config_values import ConfigResource, ConfigSynonym, DescribedConfig, DescribedConfigs
from kafka_groups.admin.rules.group_configs import ConfigChanges
from kafka_groups.admin.rules.topics import brokers_of_cluster
from kafka_groups.client.calls.questions import Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from kafka_groups.protocol.messages.describe_configs import (
    CLIENT_METRICS_CONFIG,
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    GROUP_CONFIG,
    STATIC_BROKER_CONFIG,
    TOPIC_CONFIG,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from kafka_groups.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

__all__ = ["alter_resources", "describe_resources"]

_TYPES: Final = MappingProxyType({"topic": TOPIC_RESOURCE, "broker": BROKER_RESOURCE, "group": GROUP_RESOURCE})
_SOURCES: Final = MappingProxyType({
    TOPIC_CONFIG: "DYNAMIC_TOPIC_CONFIG",
    DYNAMIC_BROKER_CONFIG: "DYNAMIC_BROKER_CONFIG",
    DYNAMIC_DEFAULT_BROKER_CONFIG: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    STATIC_BROKER_CONFIG: "STATIC_BROKER_CONFIG",
    DEFAULT_CONFIG: "DEFAULT_CONFIG",
    CLIENT_METRICS_CONFIG: "DYNAMIC_CLIENT_METRICS_CONFIG",
    GROUP_CONFIG: "DYNAMIC_GROUP_CONFIG",
})  # fmt: skip
_UNKNOWN: Final = "UNKNOWN"


async def describe_resources(
    ask: Asking, resources: Iterable[ConfigResource]
) -> Results[ConfigResource, DescribedConfigs]:
    """Ask for all configurations of resources, defaults included. Each broker answers for itself."""

    def build(keys: Sequence[ConfigResource], _version: int) -> DescribeConfigsRequest:
        wanted = (
            DescribeConfigsResource(resource_type=_TYPES[key.kind], resource_name=key.name, configuration_keys=None)
            for key in keys
        )
        return DescribeConfigsRequest(resources=tuple(wanted), include_synonyms=True)

    keys = tuple(dict.fromkeys(resources))
    places = await _places(ask, keys)
    return await ask(
        Question("describe the configuration of", ApiKey.DESCRIBE_CONFIGS, keys, build, _described, places=places)
    )


def _described(
    keys: Sequence[ConfigResource], response: DescribeConfigsResponse
) -> Mapping[ConfigResource, Answer[DescribedConfigs]]:
    asked = _by_number(keys)
    return {
        (key := asked[each.resource_type, each.resource_name]): told(
            each.error_code,
            each.error_message or f"{each.error_code.name}: {key}",
            {config.name: _value_of(key, config) for config in each.configs},
        )
        for each in response.results
    }


def _value_of(resource: ConfigResource, config: DescribeConfigsResourceResult) -> DescribedConfig:
    return DescribedConfig(
        value=config.value,
        source=_SOURCES.get(config.config_source, _UNKNOWN),
        is_set=config.config_source == _own_source(resource),
        is_read_only=config.read_only,
        is_sensitive=config.is_sensitive,
        synonyms=tuple(
            ConfigSynonym(each.name, each.value, _SOURCES.get(each.source, _UNKNOWN)) for each in config.synonyms
        ),
    )


def _own_source(resource: ConfigResource) -> int:
    if resource.kind == "broker":
        return DYNAMIC_BROKER_CONFIG if resource.name else DYNAMIC_DEFAULT_BROKER_CONFIG
    return TOPIC_CONFIG if resource.kind == "topic" else GROUP_CONFIG


async def alter_resources(
    ask: Asking, changes: Mapping[ConfigResource, ConfigChanges], *, validate_only: bool
) -> Results[ConfigResource, None]:
    """Have brokers change configurations: all changes of a resource, or none."""

    def build(keys: Sequence[ConfigResource], _version: int) -> IncrementalAlterConfigsRequest:
        resources = tuple(altered_resource(_TYPES[key.kind], key.name, changes[key]) for key in keys)
        return IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)

    keys = tuple(changes)
    places, api = await _places(ask, keys), ApiKey.INCREMENTAL_ALTER_CONFIGS
    return await ask(Question("alter the configuration of", api, keys, build, _altered, places=places))


def _altered(
    keys: Sequence[ConfigResource], response: IncrementalAlterConfigsResponse
) -> Mapping[ConfigResource, Answer[None]]:
    asked = _by_number(keys)
    return {
        (key := asked[each.resource_type, each.resource_name]): told(
            each.error_code, each.error_message or f"{each.error_code.name}: {key}", None
        )
        for each in response.responses
    }


def _by_number(keys: Iterable[ConfigResource]) -> dict[tuple[int, str], ConfigResource]:
    return {(_TYPES[key.kind], key.name): key for key in keys}


async def _places(ask: Asking, resources: Iterable[ConfigResource]) -> dict[ConfigResource, int]:
    """Return the node ids of the brokers that are named. A broker refuses what is asked of another one."""
    named = [each for each in resources if each.kind == "broker" and each.name]
    running = {str(node): node for node in await brokers_of_cluster(ask)} if named else {}
    # One that is not running goes to any broker, whose error says that it is another.
    return {each: running[each.name] for each in named if each.name in running}
