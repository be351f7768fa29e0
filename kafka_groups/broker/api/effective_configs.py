"""The effective configuration: dynamic configs override the settings that the broker started with."""

from collections.abc import Mapping

from kafka_groups.broker.api.context import BrokerServices
from kafka_groups.broker.log.batches import AppendRules
from kafka_groups.broker.metadata import BROKER_RESOURCE, TOPIC_RESOURCE

__all__ = ["ALL_BROKERS", "DYNAMIC_BROKER_KEYS", "append_rules", "broker_overrides"]

ALL_BROKERS = ""
"""Name of the BROKER resource whose values are the defaults of all brokers."""
DYNAMIC_BROKER_KEYS = frozenset({"message.max.bytes", "producer.id.expiration.ms"})
"""The broker's keys that can change while it runs."""
_TIMESTAMP_AFTER_MAX_MS = 3_600_000


def broker_overrides(services: BrokerServices) -> Mapping[str, str]:
    """Return this broker's dynamic configs, which override those of all brokers."""
    configs = services.metadata.configs
    for_all = configs.overrides(BROKER_RESOURCE, ALL_BROKERS)
    for_this = configs.overrides(BROKER_RESOURCE, str(services.node_id))
    return {**for_all, **for_this} if for_this else for_all


def append_rules(services: BrokerServices, topic: str) -> AppendRules:
    """Return the topic's configuration for appends.

    Every produce request reads these few values. They need no parsing here, because they were validated when set.
    """
    of_topic = services.metadata.configs.overrides(TOPIC_RESOURCE, topic)
    of_broker = broker_overrides(services)
    settings = services.settings
    default_bytes = of_broker.get("message.max.bytes", settings.message_max_bytes)
    expiration_ms = of_broker.get("producer.id.expiration.ms", settings.producer_id_expiration_ms)
    return AppendRules(
        max_message_bytes=int(of_topic.get("max.message.bytes", default_bytes)),
        log_append_time=of_topic.get("message.timestamp.type") == "LogAppendTime",
        timestamp_after_max_ms=int(of_topic.get("message.timestamp.after.max.ms", _TIMESTAMP_AFTER_MAX_MS)),
        is_compacted="compact" in of_topic.get("cleanup.policy", ""),
        producer_expiration_ms=int(expiration_ms),
    )
