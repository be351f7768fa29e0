"""The topic configuration that the embedded broker supports, under Kafka's names."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from kafka_groups.config.broker import BrokerSettings
from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.settings import KeyTable, read_keys, setting
from kafka_groups.errors import InvalidConfigError

__all__ = ["TopicConfig", "topic_config", "topic_keys", "validate_topic_config"]


def _long(name: str, default: int, doc: str, unit: str, minimum: int) -> Any:
    return setting(
        Key(
            name=name,
            type=KeyType.LONG,
            default=default,
            doc=doc,
            unit=unit,
            minimum=minimum,
            error=InvalidConfigError,
        )
    )


@frozen(kw_only=True)
class TopicConfig:
    """The effective configuration of a topic. `topic_config` builds it."""

    cleanup_policy: tuple[str, ...] = setting(
        Key(
            name="cleanup.policy",
            type=KeyType.LIST,
            default=("delete",),
            choices=("compact", "delete"),
            doc="Whether to delete or compact old records. The embedded broker stores the value but does neither.",
            error=InvalidConfigError,
        )
    )
    compression_type: str = setting(
        Key(
            name="compression.type",
            type=KeyType.STRING,
            default="producer",
            choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
            doc="The compression codec of the log. The embedded broker stores batches as the producer sent them.",
            error=InvalidConfigError,
        )
    )
    max_message_bytes: int = setting(
        Key(
            name="max.message.bytes",
            type=KeyType.INT,
            default=1_048_588,
            unit="bytes",
            minimum=0,
            doc="The largest record batch accepted.",
            error=InvalidConfigError,
        )
    )
    message_timestamp_type: str = setting(
        Key(
            name="message.timestamp.type",
            type=KeyType.STRING,
            default="CreateTime",
            choices=("CreateTime", "LogAppendTime"),
            doc="Whether the timestamps of records are the producer's or the broker's.",
            error=InvalidConfigError,
        )
    )
    min_insync_replicas: int = setting(
        Key(
            name="min.insync.replicas",
            type=KeyType.INT,
            default=1,
            minimum=1,
            doc="How many replicas acks=all requires. The embedded broker has no replicas and ignores the value.",
            error=InvalidConfigError,
        )
    )
    retention_ms: int = _long(
        "retention.ms",
        604_800_000,
        "How long records are kept; -1 means forever. The embedded broker always keeps them.",
        "ms",
        -1,
    )
    retention_bytes: int = _long(
        "retention.bytes",
        -1,
        "The largest size of a partition's log; -1 for no limit. The embedded broker ignores the value.",
        "bytes",
        -1,
    )
    delete_retention_ms: int = _long(
        "delete.retention.ms",
        86_400_000,
        "How long compaction keeps tombstones. The embedded broker ignores the value.",
        "ms",
        0,
    )
    segment_ms: int = _long(
        "segment.ms",
        604_800_000,
        "How long until the log starts a new segment. The embedded broker ignores the value.",
        "ms",
        1,
    )
    segment_bytes: int = setting(
        Key(
            name="segment.bytes",
            type=KeyType.INT,
            default=1_073_741_824,
            unit="bytes",
            minimum=1_048_576,
            doc="The size of a log segment. The embedded broker ignores the value.",
            error=InvalidConfigError,
        )
    )


_TOPIC = KeyTable(TopicConfig, dotted_only=True)


def topic_keys() -> dict[str, Key]:
    """The keys of a topic by dotted name (resource type TOPIC)."""
    return _TOPIC.by_name()


def topic_config(settings: BrokerSettings, overrides: Mapping[str, str]) -> TopicConfig:
    """The configuration in effect for a topic: its overrides, and the broker's defaults for the rest.

    Raises:
        InvalidConfigError: A key is unknown or a value does not fit.
    """
    values = read_keys(_TOPIC, overrides.items(), "a topic", InvalidConfigError)
    chosen: dict[str, Any] = {"max_message_bytes": settings.message_max_bytes} | values
    return TopicConfig(**chosen)


def validate_topic_config(settings: BrokerSettings, name: str, value: str) -> None:
    """Check one topic-level value.

    Raises:
        InvalidConfigError: The key is unknown or the value does not fit.
    """
    topic_config(settings, {name: value})
