"""The effective configuration: dynamic configs override the settings that the broker started with."""

from collections.abc import Mapping

from attrs import frozen

from kafka_groups.broker.configs.dynamic import DynamicConfigs, DynamicConfigsOwner
from kafka_groups.broker.log.batches import AppendRules
from kafka_groups.broker.log.cleaning import CleaningRules
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.config.cluster.broker import BrokerSettings, changed_settings
from kafka_groups.config.cluster.dynamic_broker_keys import TOPIC_KEY_OF
from kafka_groups.config.cluster.topic import topic_config
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE, TOPIC_RESOURCE

__all__ = [
    "ALL_BROKERS",
    "DYNAMIC_BROKER_KEYS",
    "BrokerConfigs",
    "append_rules",
    "cleaner_backoff_ms",
    "cleaning_rules",
    "cluster_defaults",
    "creates_dead_letter_queues",
    "dead_letter_queue_prefix",
    "group_defaults",
    "verifies_transactions",
]

ALL_BROKERS = ""
"""Name of the BROKER resource whose values are the defaults of all brokers."""
DYNAMIC_BROKER_KEYS = frozenset({
    "errors.deadletterqueue.auto.create.topics.enable",
    "errors.deadletterqueue.topic.name.prefix",
    "group.consumer.assignment.interval.ms",
    "group.share.assignment.interval.ms",
    "group.streams.assignment.interval.ms",
    "log.cleaner.backoff.ms",
    "message.max.bytes",
    "producer.id.expiration.ms",
    "transaction.partition.verification.enable",
})  # fmt: skip
"""The broker's keys that can change while it runs. Those of groups apply if they are set for all brokers."""
_TIMESTAMP_AFTER_MAX_MS = 3_600_000
_RETENTION = "retention.ms"
_DEFAULT_RULES = AppendRules()


@frozen
class BrokerConfigs:
    """The effective configs of one broker.

    Attributes:
        node_id: Node id of the broker.
        settings: The settings that it started with.
        owner: Has the dynamic configs of the cluster.
        profile: The release whose configs these are.
    """

    node_id: int
    settings: BrokerSettings
    owner: DynamicConfigsOwner
    profile: Profile = DEFAULT_PROFILE

    @property
    def dynamic(self) -> DynamicConfigs:
        """The dynamic configs of the cluster as they are now."""
        return self.owner.configs

    def overrides(self) -> Mapping[str, str]:
        """Return this broker's dynamic configs, which override those of all brokers."""
        for_all = self.dynamic.overrides(BROKER_RESOURCE, ALL_BROKERS)
        for_this = self.dynamic.overrides(BROKER_RESOURCE, str(self.node_id))
        return {**for_all, **for_this} if for_this else for_all


def group_defaults(settings: BrokerSettings, dynamic: DynamicConfigs) -> BrokerSettings:
    """Return the settings that groups fall back to: those of the brokers, with what was set for all of them."""
    values = dynamic.overrides(BROKER_RESOURCE, ALL_BROKERS)
    # A group may move to any broker, so only values for all brokers apply to groups.
    changes = {name: values[name] for name in DYNAMIC_BROKER_KEYS & values.keys() if name.startswith("group.")}
    return changed_settings(settings, changes) if changes else settings


def cluster_defaults(dynamic: DynamicConfigs) -> Mapping[str, str]:
    """Return what is set for all brokers. A new cluster has a value for `min.insync.replicas` there (KIP-966)."""
    return {"min.insync.replicas": "1", **dynamic.overrides(BROKER_RESOURCE, ALL_BROKERS)}


def _topic_overrides(configs: BrokerConfigs, topic: str) -> Mapping[str, str]:
    """Return what was set for a topic, and for its broker as the default of topics."""
    of_topic, of_broker = configs.dynamic.overrides(TOPIC_RESOURCE, topic), configs.overrides()
    if not of_broker:
        return of_topic
    defaults = {TOPIC_KEY_OF[name]: value for name, value in of_broker.items() if name in TOPIC_KEY_OF}
    # Any negative time means for ever, which has one number for topics (KafkaConfig.logRetentionTimeMillis).
    if defaults.get(_RETENTION, "").startswith("-"):
        defaults[_RETENTION] = "-1"
    return {**defaults, **of_topic}


def append_rules(configs: BrokerConfigs, topic: str) -> AppendRules:
    """Return the topic's configuration for appends.

    Every produce request reads these few values. They need no parsing here, because they were validated when set.
    """
    of_topic = _topic_overrides(configs, topic)
    of_broker = configs.overrides()
    settings = configs.settings
    expiration_ms = of_broker.get("producer.id.expiration.ms", settings.producer_id_expiration_ms)
    is_compacted = "compact" in of_topic.get("cleanup.policy", "")
    segment_ms = int(of_topic.get("segment.ms", _DEFAULT_RULES.segment_ms))
    # The active segment is never compacted. To keep `max.compaction.lag.ms`, it has to end in time
    # (LogConfig.maxSegmentMs in Kafka).
    if is_compacted:
        segment_ms = min(segment_ms, int(of_topic.get("max.compaction.lag.ms", segment_ms)))
    return AppendRules(
        max_message_bytes=int(of_topic.get("max.message.bytes", settings.message_max_bytes)),
        log_append_time=of_topic.get("message.timestamp.type") == "LogAppendTime",
        timestamp_after_max_ms=int(of_topic.get("message.timestamp.after.max.ms", _TIMESTAMP_AFTER_MAX_MS)),
        is_compacted=is_compacted,
        producer_expiration_ms=int(expiration_ms),
        verifies_transactions=verifies_transactions(configs),
        segment_bytes=int(of_topic.get("segment.bytes", _DEFAULT_RULES.segment_bytes)),
        segment_ms=segment_ms,
    )


def cleaning_rules(configs: BrokerConfigs, topic: str) -> CleaningRules:
    """Return the topic's configuration for the cleaner."""
    config = topic_config(configs.settings, _topic_overrides(configs, topic))
    return CleaningRules(
        deletes="delete" in config.cleanup_policy,
        compacts="compact" in config.cleanup_policy,
        retention_ms=config.retention_ms,
        retention_bytes=config.retention_bytes,
        segment_bytes=config.segment_bytes,
        min_dirty_ratio=config.min_cleanable_dirty_ratio,
        min_lag_ms=config.min_compaction_lag_ms,
        max_lag_ms=config.max_compaction_lag_ms,
        delete_retention_ms=config.delete_retention_ms,
    )


def cleaner_backoff_ms(configs: BrokerConfigs) -> int:
    """Return the time between two checks for logs to compact."""
    return int(configs.overrides().get("log.cleaner.backoff.ms", configs.settings.log_cleaner_backoff_ms))


def verifies_transactions(configs: BrokerConfigs) -> bool:
    """Return whether leaders ask the coordinator of a transaction before they take its first records."""
    enabled = configs.overrides().get("transaction.partition.verification.enable")
    return configs.settings.transaction_partition_verification_enable if enabled is None else enabled == "true"


def dead_letter_queue_prefix(configs: BrokerConfigs) -> str:
    """Return the prefix that topics for dead letters must have (KIP-1191)."""
    prefix = configs.overrides().get("errors.deadletterqueue.topic.name.prefix")
    return configs.settings.errors_deadletterqueue_topic_name_prefix if prefix is None else prefix


def creates_dead_letter_queues(configs: BrokerConfigs) -> bool:
    """Return whether the broker creates missing topics for dead letters (KIP-1191)."""
    enabled = configs.overrides().get("errors.deadletterqueue.auto.create.topics.enable")
    static = configs.settings.errors_deadletterqueue_auto_create_topics_enable
    return static if enabled is None else enabled.strip().lower() == "true"
