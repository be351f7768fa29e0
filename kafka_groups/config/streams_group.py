"""The configuration of streams groups, under Kafka's names (KIP-1071, KIP-1263, KIP-1357)."""

from attrs import frozen

from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.settings import setting
from kafka_groups.config.share_group import integer, milliseconds
from kafka_groups.errors import InvalidConfigError

__all__ = ["StreamsGroupConfig"]


@frozen(kw_only=True)
class StreamsGroupConfig:
    """The effective configuration of a streams group."""

    session_timeout_ms: int = milliseconds(
        "streams.session.timeout.ms",
        45_000,
        "A member that sends no heartbeat for this long is removed from the group. Must be longer than the "
        "heartbeat interval.",
        minimum=1,
    )
    heartbeat_interval_ms: int = milliseconds(
        "streams.heartbeat.interval.ms", 5_000, "How often members must send heartbeats.", minimum=1
    )
    num_standby_replicas: int = integer(
        "streams.num.standby.replicas", 0, "The number of standby tasks for each task with state.", minimum=0
    )
    initial_rebalance_delay_ms: int = milliseconds(
        "streams.initial.rebalance.delay.ms",
        3_000,
        "How long a group that was empty waits for more members before tasks are assigned.",
        minimum=0,
    )
    assignment_interval_ms: int = milliseconds(
        "streams.assignment.interval.ms",
        1_000,
        "The shortest time between two assignments of tasks to the members (KIP-1263).",
        minimum=0,
    )
    assignor_name: str = setting(
        Key(
            name="streams.assignor.name",
            type=KeyType.STRING,
            default="",
            doc="The task assignor of the group. Without it, the group has the first one of the brokers.",
            error=InvalidConfigError,
        )
    )
    rack_aware_assignment_tags: tuple[str, ...] = setting(
        Key(
            name="streams.rack.aware.assignment.tags",
            type=KeyType.LIST,
            default=(),
            doc="Client tags that members must have, for assignors that place standby tasks by them.",
            error=InvalidConfigError,
        )
    )
