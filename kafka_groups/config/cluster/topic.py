"""The topic configuration that the embedded broker supports, under Kafka's names."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.config.keys import LONG_MAX, Key, KeyType
from kafka_groups.config.readers import read_part
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


def _ignored(key_type: KeyType, name: str, default: object, doc: str, **options: Any) -> Any:
    """Return a key whose value is checked, stored and shown, and has no effect."""
    told = f"{doc} The embedded broker ignores the value."
    return setting(Key(name=name, type=key_type, default=default, doc=told, error=InvalidConfigError, **options))


@frozen(kw_only=True)
class TopicConfig:
    """The effective configuration of a topic. `topic_config` builds it."""

    cleanup_policy: tuple[str, ...] = setting(
        Key(
            name="cleanup.policy",
            type=KeyType.LIST,
            default=("delete",),
            choices=("compact", "delete"),
            doc="Whether old records are deleted, or all but the last record of each key, or both.",
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
        "How long records are kept, counted from their timestamps; -1 means forever. Whole segments are deleted.",
        "ms",
        -1,
    )
    retention_bytes: int = _long(
        "retention.bytes",
        -1,
        "The size that a partition's log keeps when old segments are deleted; -1 means all of it.",
        "bytes",
        -1,
    )
    delete_retention_ms: int = _long(
        "delete.retention.ms",
        86_400_000,
        "How long compaction keeps tombstones and the markers of transactions.",
        "ms",
        0,
    )
    segment_ms: int = _long(
        "segment.ms",
        604_800_000,
        "How long a segment grows, by the timestamps of its records.",
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
            doc="The largest size of a segment. Only whole segments are deleted or compacted.",
            error=InvalidConfigError,
        )
    )
    compression_gzip_level: int = _ignored(
        KeyType.INT, "compression.gzip.level", -1, "The level of gzip compression.", minimum=-1, maximum=9
    )
    compression_lz4_level: int = _ignored(
        KeyType.INT, "compression.lz4.level", 9, "The level of lz4 compression.", minimum=1, maximum=17
    )
    compression_zstd_level: int = _ignored(
        KeyType.INT, "compression.zstd.level", 3, "The level of zstd compression.", minimum=-131_072, maximum=22
    )
    file_delete_delay_ms: int = _ignored(
        KeyType.LONG,
        "file.delete.delay.ms",
        60_000,
        "How long files are kept after their deletion.",
        unit="ms",
        minimum=0,
    )
    flush_messages: int = _ignored(
        KeyType.LONG, "flush.messages", LONG_MAX, "After how many records the log is flushed.", minimum=1
    )
    flush_ms: int = _ignored(
        KeyType.LONG, "flush.ms", LONG_MAX, "How long until the log is flushed.", unit="ms", minimum=0
    )
    index_interval_bytes: int = _ignored(
        KeyType.INT,
        "index.interval.bytes",
        4_096,
        "How much data an entry of the offset index stands for.",
        unit="bytes",
        minimum=0,
    )
    local_retention_bytes: int = _ignored(
        KeyType.LONG,
        "local.retention.bytes",
        -2,
        "The largest local size of a partition's log with remote storage.",
        unit="bytes",
        minimum=-2,
    )
    local_retention_ms: int = _ignored(
        KeyType.LONG,
        "local.retention.ms",
        -2,
        "How long records are kept locally with remote storage.",
        unit="ms",
        minimum=-2,
    )
    max_compaction_lag_ms: int = _long(
        "max.compaction.lag.ms",
        LONG_MAX,
        "How long records may stay uncompacted, by their timestamps.",
        "ms",
        1,
    )
    message_timestamp_before_max_ms: int = _ignored(
        KeyType.LONG,
        "message.timestamp.before.max.ms",
        LONG_MAX,
        "How old the timestamp of a record may be.",
        unit="ms",
        minimum=0,
    )
    min_cleanable_dirty_ratio: float = setting(
        Key(
            name="min.cleanable.dirty.ratio",
            type=KeyType.DOUBLE,
            default=0.5,
            reader=read_part,
            form="a number from 0 to 1",
            doc="The part of a log that must be new before it is compacted.",
            error=InvalidConfigError,
        )
    )
    min_compaction_lag_ms: int = _long(
        "min.compaction.lag.ms", 0, "How long records stay uncompacted at least, by their timestamps.", "ms", 0
    )
    preallocate: bool = _ignored(
        KeyType.BOOLEAN, "preallocate", default=False, doc="Whether files of new segments are allocated at once."
    )
    segment_index_bytes: int = _ignored(
        KeyType.INT, "segment.index.bytes", 10_485_760, "The largest size of an offset index.", unit="bytes", minimum=4
    )
    segment_jitter_ms: int = _ignored(
        KeyType.LONG, "segment.jitter.ms", 0, "The largest random part of `segment.ms`.", unit="ms", minimum=0
    )
    unclean_leader_election_enable: bool = _ignored(
        KeyType.BOOLEAN,
        "unclean.leader.election.enable",
        default=False,
        doc="Whether a replica that fell behind may lead.",
    )
    errors_deadletterqueue_group_enable: bool = setting(
        Key(
            name="errors.deadletterqueue.group.enable",
            type=KeyType.BOOLEAN,
            default=False,
            doc="Whether share groups may have this topic as the queue for their dead letters (KIP-1191).",
            error=InvalidConfigError,
        )
    )
    message_timestamp_after_max_ms: int = _long(
        "message.timestamp.after.max.ms",
        3_600_000,
        "How far in the future the timestamp of a record may be.",
        "ms",
        0,
    )


_TOPIC = KeyTable(TopicConfig, dotted_only=True)


def topic_keys() -> dict[str, Key]:
    """Return the keys of a topic by dotted name (resource type TOPIC)."""
    return _TOPIC.by_name()


def topic_config(settings: BrokerSettings, overrides: Mapping[str, str]) -> TopicConfig:
    """Return the configuration in effect for a topic: its overrides, and the broker's defaults for the rest.

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
