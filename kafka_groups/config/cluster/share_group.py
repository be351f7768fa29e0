"""The configuration of a share group, under Kafka's names (KIP-932, KIP-1240)."""

import functools
from typing import Any

from attrs import frozen

from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.readers import offset_reset_duration_ms, read_dead_letter_queue, read_offset_reset
from kafka_groups.config.settings import setting
from kafka_groups.errors import InvalidConfigError

__all__ = ["ShareGroupConfig", "flag", "integer", "long_integer", "milliseconds", "short_integer"]


def _number(key_type: KeyType, name: str, default: int, doc: str, **options: Any) -> Any:
    return setting(Key(name=name, type=key_type, default=default, doc=doc, error=InvalidConfigError, **options))


integer = functools.partial(_number, KeyType.INT)
short_integer = functools.partial(_number, KeyType.SHORT)
long_integer = functools.partial(_number, KeyType.LONG)
milliseconds = functools.partial(_number, KeyType.INT, unit="ms")


def flag(name: str, doc: str, *, default: bool = True) -> Any:
    """Return a key that is true or false, true by default."""
    return setting(Key(name=name, type=KeyType.BOOLEAN, default=default, doc=doc, error=InvalidConfigError))


@frozen(kw_only=True)
class ShareGroupConfig:
    """The effective configuration of a share group. `config.groups.share_group_config` builds it."""

    session_timeout_ms: int = milliseconds(
        "share.session.timeout.ms",
        45_000,
        "A member that sends no heartbeat for this long is removed from the group. Must be longer than the "
        "heartbeat interval.",
        minimum=1,
    )
    heartbeat_interval_ms: int = milliseconds(
        "share.heartbeat.interval.ms", 5_000, "How often members must send heartbeats.", minimum=1
    )
    record_lock_duration_ms: int = milliseconds(
        "share.record.lock.duration.ms",
        30_000,
        "How long a record stays locked for the member that acquired it. When the lock expires without an "
        "acknowledgement, Kafka redelivers the record.",
        minimum=1_000,
    )
    auto_offset_reset: str = setting(
        Key(
            name="share.auto.offset.reset",
            type=KeyType.STRING,
            default="latest",
            reader=read_offset_reset,
            form="latest, earliest or by_duration:PnDTnHnMn.nS",
            doc="Where the group starts in a partition that it has not read before: at the end, at the "
            "beginning, or a duration before now.",
            error=InvalidConfigError,
        )
    )
    isolation_level: str = setting(
        Key(
            name="share.isolation.level",
            type=KeyType.STRING,
            default="read_uncommitted",
            choices=("read_uncommitted", "read_committed"),
            doc="Whether to deliver records of open and aborted transactions.",
            error=InvalidConfigError,
        )
    )
    delivery_count_limit: int = integer(
        "share.delivery.count.limit",
        5,
        "How often Kafka delivers a record that nobody accepts. After that, it archives the record and does not "
        "deliver it again.",
        minimum=2,
    )
    partition_max_record_locks: int = integer(
        "share.partition.max.record.locks",
        2_000,
        "How many records of one partition may be in flight at a time.",
        minimum=100,
    )
    renew_acknowledge_enable: bool = flag(
        "share.renew.acknowledge.enable", "Whether members may renew record locks (KIP-1222)."
    )
    assignment_interval_ms: int = milliseconds(
        "share.assignment.interval.ms",
        1_000,
        "The shortest time between two assignments of partitions to the members (KIP-1263).",
        minimum=0,
    )

    errors_deadletterqueue_topic_name: str = setting(
        Key(
            name="errors.deadletterqueue.topic.name",
            type=KeyType.STRING,
            default="",
            reader=read_dead_letter_queue,
            form="the name of a topic that does not start with '__', or nothing for no queue",
            doc="The topic to which the brokers write dead letters: one for each record that is rejected, or archived "
            "at the delivery limit (KIP-1191).",
            error=InvalidConfigError,
        )
    )
    errors_deadletterqueue_copy_record_enable: bool = flag(
        "errors.deadletterqueue.copy.record.enable",
        "Whether dead letters get the keys and values of their records (KIP-1191).",
        default=False,
    )

    @property
    def auto_offset_reset_duration_ms(self) -> int | None:
        """The duration of `by_duration:`, in milliseconds; `None` for `latest` and `earliest`."""
        return offset_reset_duration_ms(self.auto_offset_reset)
