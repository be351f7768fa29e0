"""The settings that the workers of an application have in common."""

from attrs import field, frozen

from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.tasks.stream_task import TaskSettings
from kafka_groups.streams.topology.subtopologies import NodeGroup, node_groups

__all__ = ["WorkerSettings"]


@frozen(kw_only=True)
class WorkerSettings:
    """The application, and the limits of its workers.

    Attributes:
        tasks: The settings of its tasks.
        commit_interval_ms: The longest time between two commits (`commit.interval.ms`).
        uncommitted_max_bytes: The memory of uncommitted changes with which a worker commits at once
            (`statestore.uncommitted.max.bytes`).
        max_task_idle_ms: How long a task waits for records of a partition that may have some (`max.task.idle.ms`);
            -1 does not wait at all.
        buffered_records: Records that a partition may have in a task before it is read more slowly
            (`buffered.records.per.partition`).
        max_poll_records: Records that are processed between two looks at the group (`max.poll.records`).
        poll_ms: Longest wait for records (`poll.ms`).
        task_timeout_ms: How long the brokers may fail to answer before the worker ends (`task.timeout.ms`).
        repartition_purge_interval_ms: The time between two deletions of repartitioned records that are done
            (`repartition.purge.interval.ms`).
        is_debugging: Whether to measure each record (`metrics.recording.level`).
        offset_reset: Where a source begins that has no offset and no rule of its own (`auto.offset.reset`).
        listeners: The listeners of restoration.
        is_exactly_once: Whether the records and offsets of all tasks are written in transactions
            (`processing.guarantee`).
        is_alone: Whether its process has no other worker (`num.workers`).
        is_classic: Whether its group is a classic one (`group.protocol`).
    """

    tasks: TaskSettings
    commit_interval_ms: int = 1_000
    uncommitted_max_bytes: int = 64 * 1024 * 1024
    max_task_idle_ms: int = 0
    buffered_records: int = 1_000
    max_poll_records: int = 1_000
    poll_ms: int = 100
    task_timeout_ms: int = 300_000
    repartition_purge_interval_ms: int = 30_000
    is_debugging: bool = False
    offset_reset: object = "earliest"
    listeners: RestoreListeners = field(factory=RestoreListeners)
    is_exactly_once: bool = False
    is_alone: bool = True
    is_classic: bool = False

    def groups(self) -> dict[str, NodeGroup]:
        """Return the sub-topologies by id; those that fill global stores, too."""
        return {str(group.number): group for group in node_groups(self.tasks.topology)}
