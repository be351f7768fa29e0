"""A plan, as an admin client returns it."""

import enum
from collections.abc import Iterable, Mapping
from datetime import datetime

from attrs import field, frozen

from kafka_groups.assignment import AssignedTaskType
from kafka_groups.types import TaskId

__all__ = [
    "CopyBasis",
    "PlannedLoad",
    "PlannedMove",
    "PlannedThread",
    "RackTraffic",
    "StreamsPlan",
    "TaskCounts",
    "TaskPlace",
]


class CopyBasis(enum.Enum):
    """The origin of the number of records that a process has to copy.

    All numbers but 0 are upper bounds: the offsets of records that compaction has removed are counted, too.
    """

    NOTHING = "nothing to copy"
    """The task has no state, or the process has had the task active, so that its state is there."""
    REPORTED = "since its offset"
    """The end of the changelogs minus the offset that the process has reported."""
    WHOLE = "whole changelog"
    """The end of the changelogs minus their start: the process has reported no offset of the task."""
    UNKNOWN = "unknown"
    """The brokers did not return the offsets of a changelog."""


@frozen
class TaskPlace:
    """A member that has a task, and the process that the member runs in.

    Attributes:
        member_id: The member.
        process_id: Its process.
    """

    member_id: str
    process_id: str


@frozen(kw_only=True)
class PlannedMove:
    """A task that gets another place, or a copy of one.

    Attributes:
        task: The task.
        role: Its role in the new place; in the old one if it has no new one.
        source: Where it has had this role; None if nowhere, such as a new copy.
        target: Where it will have this role; None if nowhere, such as a copy that is given up.
        role_before: The role that the task has had in the process of `target` until now; None if it was not there.
        records: How many records of its changelogs the process of `target` has to copy; None if that is unknown.
        basis: What that number is made from.
    """

    task: TaskId
    role: AssignedTaskType
    source: TaskPlace | None
    target: TaskPlace | None
    role_before: AssignedTaskType | None = None
    records: int | None = 0
    basis: CopyBasis = CopyBasis.NOTHING

    @property
    def stays_in_process(self) -> bool:
        """True if the task goes to another thread of the same process."""
        return self.source is not None and self.target is not None and self.source.process_id == self.target.process_id


@frozen
class TaskCounts:
    """The numbers of tasks of a thread or process.

    Attributes:
        active: Tasks that it runs.
        standby: Tasks of which it has copies; warm-ups included.
    """

    active: int = 0
    standby: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.active + self.standby


@frozen(kw_only=True)
class PlannedThread:
    """The load of a thread, which is a member of the group.

    Attributes:
        member_id: The member.
        before: Its tasks now; None if it is not in the group yet.
        after: Its tasks after the change; None if it is not in the group any more.
    """

    member_id: str
    before: TaskCounts | None
    after: TaskCounts | None


@frozen(kw_only=True)
class PlannedLoad:
    """The load of a process.

    Attributes:
        process_id: The process.
        rack: Its rack, or None.
        client_tags: Its client tags.
        threads: Its threads, sorted by member id.
    """

    process_id: str
    rack: str | None
    client_tags: Mapping[str, str]
    threads: tuple[PlannedThread, ...]

    @property
    def before(self) -> TaskCounts | None:
        """Its tasks now; None if it is not in the group yet."""
        return _sum(thread.before for thread in self.threads)

    @property
    def after(self) -> TaskCounts | None:
        """Its tasks after the change; None if it is not in the group any more."""
        return _sum(thread.after for thread in self.threads)


def _sum(counts: Iterable[TaskCounts | None]) -> TaskCounts | None:
    known = [each for each in counts if each is not None]
    if not known:
        return None
    return TaskCounts(sum(each.active for each in known), sum(each.standby for each in known))


@frozen
class RackTraffic:
    """Source partitions that active tasks read from another rack, because no replica is in the rack of their process.

    Tasks count if the rack of their process is known, and partitions if the rack of a replica is.

    Attributes:
        before: Their number now.
        after: Their number after the change.
        partitions: The number of partitions that were counted after the change.
    """

    before: int
    after: int
    partitions: int


@frozen(kw_only=True)
class StreamsPlan:
    """A plan: what a task assignor would do to a streams group.

    Attributes:
        group_id: The group.
        state: Its state.
        assignor: The name of the assignor.
        group_assignor: The name of the assignor that the group uses; None before Kafka 4.4, and for classic groups,
            whose leaders decide.
        error: Why the group would not use the result; None if it would. What the result would have done is in the
            other attributes, unless it cannot be read. The group would keep its tasks.
        moves: The tasks that get another place, in the order of tasks.
        processes: The load of each process, sorted by id; those that leave and those that come included.
        traffic: The traffic between racks; None if the racks of processes or of brokers are not known.
        followups: When processes want another rebalance, by process id.
        unassigned_tasks: Tasks that no process would run.
        warnings: Why the plan may differ from what the group would do.
        missing_topics: Internal topics of a classic group that do not exist. Its leader creates them in the next round.
    """

    group_id: str
    state: str
    assignor: str
    group_assignor: str | None
    error: str | None = None
    moves: tuple[PlannedMove, ...] = ()
    processes: tuple[PlannedLoad, ...] = ()
    traffic: RackTraffic | None = None
    followups: Mapping[str, datetime] = field(factory=dict)
    unassigned_tasks: tuple[TaskId, ...] = ()
    warnings: tuple[str, ...] = ()
    missing_topics: tuple[str, ...] = ()

    @property
    def records(self) -> int | None:
        """The number of records that all processes have to copy, as an upper bound; None if it is unknown."""
        known = [move.records for move in self.moves if move.records is not None]
        return sum(known) if len(known) == len(self.moves) else None
