"""The settings of streams groups."""

from collections.abc import Callable

from attrs import field, frozen

from kafka_groups.assignment import TaskAssignors
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig

__all__ = ["StreamsRules"]

_TASK_OFFSET_INTERVAL_MS = 60_000
_ACCEPTABLE_RECOVERY_LAG = 10_000


@frozen
class StreamsRules:
    """The settings of streams groups.

    Attributes:
        config_of: Returns the effective configuration of a group id.
        wall_ms: Returns the wall-clock time, for the records.
        max_size: Maximum number of members in a group (`group.streams.max.size`).
        assignors: The task assignors, the default first (`group.streams.assignors`).
        keeps_descriptions: Whether descriptions of topologies are kept (KIP-1331).
        is_4_4: Whether static members and offsets of tasks are supported, as from Kafka 4.4 on.
        task_offset_interval_ms: The interval between reports of task offsets. Kafka 4.4 has no public config for it.
        acceptable_recovery_lag: The largest lag at which a warm-up task may become active; no config either.
    """

    config_of: Callable[[str], StreamsGroupConfig]
    wall_ms: Callable[[], int]
    max_size: int = 2**31 - 1
    assignors: TaskAssignors = field(factory=TaskAssignors)
    keeps_descriptions: bool = False
    is_4_4: bool = True
    task_offset_interval_ms: int = _TASK_OFFSET_INTERVAL_MS
    acceptable_recovery_lag: int = _ACCEPTABLE_RECOVERY_LAG
