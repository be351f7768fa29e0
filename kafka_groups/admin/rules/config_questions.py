"""The parts of questions about configurations: all those of groups or topics, and changes of resources."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from kafka_groups.client.calls.questions import Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from kafka_groups.protocol.messages.incremental_alter_configs import DELETE, SET, AlterableConfig, AlterConfigsResource

__all__ = ["TopicConfigValues", "altered_resource", "config_question", "describe_topic_configs"]

V = TypeVar("V")


def config_question(
    purpose: str, resource_type: int, names: Iterable[str], value_of: Callable[[DescribeConfigsResourceResult], V]
) -> Question[str, Mapping[str, V]]:
    """Return the question for all configurations of some resources, defaults included. Any broker answers it.

    Args:
        purpose: What is asked for, for error messages.
        resource_type: The type of the resources, as in `config_resources`.
        names: The names of the resources.
        value_of: Reads one configuration.
    """

    def build(keys: Sequence[str], _version: int) -> DescribeConfigsRequest:
        resources = (
            DescribeConfigsResource(resource_type=resource_type, resource_name=key, configuration_keys=None)
            for key in keys
        )
        return DescribeConfigsRequest(resources=tuple(resources))

    def read(_keys: Sequence[str], response: DescribeConfigsResponse) -> Mapping[str, Answer[Mapping[str, V]]]:
        return {
            each.resource_name: told(
                each.error_code, each.error_message, {config.name: value_of(config) for config in each.configs}
            )
            for each in response.results
        }

    return Question(purpose, ApiKey.DESCRIBE_CONFIGS, tuple(dict.fromkeys(names)), build, read)


TopicConfigValues = Mapping[str, str | None]
"""The configuration of a topic by Kafka's names, defaults included; None for a value that the broker does not show."""


async def describe_topic_configs(ask: Asking, topics: Iterable[str]) -> Results[str, TopicConfigValues]:
    """Ask any broker for all configurations of topics, defaults included."""
    purpose = "describe the configuration of the topic"
    return await ask(config_question(purpose, TOPIC_RESOURCE, topics, lambda config: config.value))


def altered_resource(resource_type: int, name: str, changes: Mapping[str, str | None]) -> AlterConfigsResource:
    """Return changes of a resource as IncrementalAlterConfigs takes them. A value of None resets a configuration."""
    configs = (
        AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
        for key, value in changes.items()
    )
    return AlterConfigsResource(resource_type=resource_type, resource_name=name, configs=tuple(configs))
