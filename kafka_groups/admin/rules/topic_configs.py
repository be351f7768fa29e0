"""The question for configurations of topics (DescribeConfigs)."""

from collections.abc import Iterable, Mapping

from kafka_groups.admin.rules.config_questions import config_question
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE

__all__ = ["TopicConfigValues", "describe_topic_configs"]

TopicConfigValues = Mapping[str, str | None]
"""The configuration of a topic by Kafka's names, defaults included; None for a value that the broker does not show."""


async def describe_topic_configs(ask: Asking, topics: Iterable[str]) -> Results[str, TopicConfigValues]:
    """Ask any broker for all configurations of topics, defaults included."""
    purpose = "describe the configuration of the topic"
    return await ask(config_question(purpose, TOPIC_RESOURCE, topics, lambda config: config.value))
