"""The configuration of consumer groups, under Kafka's names (KIP-848, KIP-1263): of a group, and of the brokers."""

from attrs import frozen

from kafka_groups.config.cluster.share_group import integer, milliseconds
from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.settings import setting
from kafka_groups.errors import InvalidConfigError

__all__ = ["ConsumerGroupConfig", "ConsumerGroupSettings"]


@frozen(kw_only=True)
class ConsumerGroupConfig:
    """The effective configuration of a consumer group. `config.groups.consumer_group_config` builds it."""

    session_timeout_ms: int = milliseconds(
        "consumer.session.timeout.ms",
        45_000,
        "A member that sends no heartbeat for this long is removed from the group. Must be longer than the "
        "heartbeat interval.",
        minimum=1,
    )
    heartbeat_interval_ms: int = milliseconds(
        "consumer.heartbeat.interval.ms", 5_000, "How often members must send heartbeats.", minimum=1
    )
    assignment_interval_ms: int = milliseconds(
        "consumer.assignment.interval.ms",
        1_000,
        "The shortest time between two assignments of partitions to the members (KIP-1263).",
        minimum=0,
    )


@frozen(kw_only=True)
class ConsumerGroupSettings:
    """The settings of a broker that consumer groups fall back to, or that limit them."""

    consumer_session_timeout_ms: int = milliseconds(
        "group.consumer.session.timeout.ms", 45_000, "Default of consumer.session.timeout.ms.", minimum=1
    )
    consumer_min_session_timeout_ms: int = milliseconds(
        "group.consumer.min.session.timeout.ms", 45_000, "The smallest consumer.session.timeout.ms allowed.", minimum=1
    )
    consumer_max_session_timeout_ms: int = milliseconds(
        "group.consumer.max.session.timeout.ms", 60_000, "The largest consumer.session.timeout.ms allowed.", minimum=1
    )
    consumer_heartbeat_interval_ms: int = milliseconds(
        "group.consumer.heartbeat.interval.ms", 5_000, "Default of consumer.heartbeat.interval.ms.", minimum=1
    )
    consumer_min_heartbeat_interval_ms: int = milliseconds(
        "group.consumer.min.heartbeat.interval.ms",
        5_000,
        "The smallest consumer.heartbeat.interval.ms allowed.",
        minimum=1,
    )
    consumer_max_heartbeat_interval_ms: int = milliseconds(
        "group.consumer.max.heartbeat.interval.ms",
        15_000,
        "The largest consumer.heartbeat.interval.ms allowed.",
        minimum=1,
    )
    consumer_assignment_interval_ms: int = milliseconds(
        "group.consumer.assignment.interval.ms", 1_000, "Default of consumer.assignment.interval.ms.", minimum=0
    )
    consumer_min_assignment_interval_ms: int = milliseconds(
        "group.consumer.min.assignment.interval.ms",
        0,
        "The smallest consumer.assignment.interval.ms allowed.",
        minimum=0,
    )
    consumer_max_assignment_interval_ms: int = milliseconds(
        "group.consumer.max.assignment.interval.ms",
        15_000,
        "The largest consumer.assignment.interval.ms allowed.",
        minimum=0,
    )
    consumer_group_max_size: int = integer(
        "group.consumer.max.size", 2_147_483_647, "The maximum number of members in a consumer group.", minimum=1
    )
    consumer_assignors: tuple[str, ...] = setting(
        Key(
            name="group.consumer.assignors",
            type=KeyType.LIST,
            default=("uniform", "range"),
            choices=("uniform", "range"),
            doc="The assignors of consumer groups. The first one is used unless most members prefer another.",
            error=InvalidConfigError,
        )
    )
    consumer_migration_policy: str = setting(
        Key(
            name="group.consumer.migration.policy",
            type=KeyType.STRING,
            default="bidirectional",
            choices=("disabled", "upgrade", "downgrade", "bidirectional"),
            doc="Whether a group with members may become a consumer group (upgrade), a classic group (downgrade), or "
            "both. An empty group can always become either.",
            error=InvalidConfigError,
        )
    )
    rebalance_protocols: tuple[str, ...] = setting(
        Key(
            name="group.coordinator.rebalance.protocols",
            type=KeyType.LIST,
            default=("classic", "consumer", "streams"),
            choices=("classic", "consumer", "streams"),
            doc="The protocols that groups may use. Without consumer, there are no consumer groups.",
            error=InvalidConfigError,
        )
    )
