"""The question for configurations of topics (DescribeConfigs)."""

from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.client.calls.questions import Answer, Asking, Question, told
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

__all__ = ["TopicConfigValues", "describe_topic_configs"]

TopicConfigValues = Mapping[str, str | None]
"""The configuration of a topic by Kafka's names, defaults included; None for a value that the broker does not show."""


async def describe_topic_configs(ask: Asking, topics: Iterable[str]) -> Results[str, TopicConfigValues]:
    """Ask any broker for all configurations of topics, defaults included."""

    def build(keys: Sequence[str], _version: int) -> DescribeConfigsRequest:
        resources = (
            DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=key, configuration_keys=None)
            for key in keys
        )
        return DescribeConfigsRequest(resources=tuple(resources))

    keys, api = tuple(dict.fromkeys(topics)), ApiKey.DESCRIBE_CONFIGS
    return await ask(Question("describe the configuration of the topic", api, keys, build, _described))


def _described(_keys: Sequence[str], response: DescribeConfigsResponse) -> Mapping[str, Answer[TopicConfigValues]]:
    return {
        each.resource_name: told(
            each.error_code, each.error_message, {config.name: config.value for config in each.configs}
        )
        for each in response.results
    }
