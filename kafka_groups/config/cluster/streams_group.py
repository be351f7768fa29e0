"""The configuration of streams groups, under Kafka's names (KIP-1071, KIP-1263): of a group, and of brokers."""

from collections.abc import Iterable

from attrs import frozen

from kafka_groups.assignment import BUILT_IN_ASSIGNORS, TaskAssignors
from kafka_groups.config.cluster.consumer_group import ConsumerGroupSettings
from kafka_groups.config.cluster.share_group import integer, milliseconds
from kafka_groups.config.keys import Key, KeyType
from kafka_groups.config.readers import read_list, read_text
from kafka_groups.config.settings import setting
from kafka_groups.errors import ConfigurationError, InvalidConfigError

__all__ = ["IN_MEMORY_DESCRIPTIONS", "StreamsGroupConfig", "StreamsGroupSettings"]

IN_MEMORY_DESCRIPTIONS = "org.apache.kafka.server.streams.InMemoryTopologyDescriptionPlugin"
"""The plugin of Kafka 4.4 that keeps the descriptions of topologies in a broker's memory."""

_ASSIGNORS_KEY = "group.streams.assignors"
_BUILT_IN = " or ".join(BUILT_IN_ASSIGNORS)


def _read_assignors(value: object) -> TaskAssignors:
    """Read task assignors from their names, as text or in a list, and from objects and classes."""
    if isinstance(value, TaskAssignors):
        return value
    try:
        if isinstance(value, str):
            return TaskAssignors.of(read_list(value))
        return TaskAssignors.of(value if isinstance(value, Iterable) else (value,))
    except ConfigurationError as error:
        raise InvalidConfigError(f"Invalid value for {_ASSIGNORS_KEY}: {error}") from error


@frozen(kw_only=True)
class StreamsGroupConfig:
    """The effective configuration of a streams group. `config.groups.streams_group_config` builds it."""

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
            default="sticky",
            form="the name of a task assignor that the brokers offer",
            doc="The task assignor of the group. It is used from the next assignment of tasks on.",
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


@frozen(kw_only=True)
class StreamsGroupSettings(ConsumerGroupSettings):
    """The settings of a broker that streams groups fall back to, or that limit them. Those of consumer groups, too."""

    streams_session_timeout_ms: int = milliseconds(
        "group.streams.session.timeout.ms", 45_000, "Default of streams.session.timeout.ms.", minimum=1
    )
    streams_min_session_timeout_ms: int = milliseconds(
        "group.streams.min.session.timeout.ms", 45_000, "The smallest streams.session.timeout.ms allowed.", minimum=1
    )
    streams_max_session_timeout_ms: int = milliseconds(
        "group.streams.max.session.timeout.ms", 60_000, "The largest streams.session.timeout.ms allowed.", minimum=1
    )
    streams_heartbeat_interval_ms: int = milliseconds(
        "group.streams.heartbeat.interval.ms", 5_000, "Default of streams.heartbeat.interval.ms.", minimum=1
    )
    streams_min_heartbeat_interval_ms: int = milliseconds(
        "group.streams.min.heartbeat.interval.ms",
        5_000,
        "The smallest streams.heartbeat.interval.ms allowed.",
        minimum=1,
    )
    streams_max_heartbeat_interval_ms: int = milliseconds(
        "group.streams.max.heartbeat.interval.ms",
        15_000,
        "The largest streams.heartbeat.interval.ms allowed.",
        minimum=1,
    )
    streams_assignment_interval_ms: int = milliseconds(
        "group.streams.assignment.interval.ms", 1_000, "Default of streams.assignment.interval.ms.", minimum=0
    )
    streams_min_assignment_interval_ms: int = milliseconds(
        "group.streams.min.assignment.interval.ms", 0, "The smallest streams.assignment.interval.ms allowed.", minimum=0
    )
    streams_max_assignment_interval_ms: int = milliseconds(
        "group.streams.max.assignment.interval.ms",
        15_000,
        "The largest streams.assignment.interval.ms allowed.",
        minimum=0,
    )
    streams_num_standby_replicas: int = integer(
        "group.streams.num.standby.replicas", 0, "Default of streams.num.standby.replicas.", minimum=0
    )
    streams_max_standby_replicas: int = integer(
        "group.streams.max.standby.replicas", 2, "The largest streams.num.standby.replicas allowed.", minimum=0
    )
    streams_initial_rebalance_delay_ms: int = milliseconds(
        "group.streams.initial.rebalance.delay.ms", 3_000, "Default of streams.initial.rebalance.delay.ms.", minimum=0
    )
    streams_group_max_size: int = integer(
        "group.streams.max.size", 2_147_483_647, "The maximum number of members in a streams group.", minimum=1
    )
    streams_assignors: TaskAssignors = setting(
        Key(
            name=_ASSIGNORS_KEY,
            type=KeyType.LIST,
            default=TaskAssignors(),
            reader=_read_assignors,
            form=f"{_BUILT_IN}, or task assignors of your own",
            doc="The task assignors of streams groups: built-in names, objects, classes, functions, or their places "
            "as module:Class. The first one is the default of streams.assignor.name.",
            error=InvalidConfigError,
        )
    )
    streams_assignor_timeout_ms: int = milliseconds(
        "group.streams.assignor.timeout.ms",
        60_000,
        "How long a task assignor of applications (KIP-924) may take before its result is given up. Not in Kafka.",
        minimum=1,
    )
    streams_rack_aware_assignment_tags: tuple[str, ...] = setting(
        Key(
            name="group.streams.rack.aware.assignment.tags",
            type=KeyType.LIST,
            default=(),
            doc="Default of streams.rack.aware.assignment.tags.",
            error=InvalidConfigError,
        )
    )
    streams_topology_description_plugin: str | None = setting(
        Key(
            name="group.streams.topology.description.plugin.class",
            type=KeyType.CLASS,
            default=None,
            reader=read_text,
            choices=(IN_MEMORY_DESCRIPTIONS,),
            doc="What keeps the descriptions of topologies that applications send (KIP-1331). None: nothing, and "
            "brokers do not ask for descriptions.",
            error=InvalidConfigError,
        )
    )
