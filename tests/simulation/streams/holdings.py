"""What the wire shows of one member of a streams group: its tasks, since which epochs, and how surely it is there."""

from collections.abc import Iterable

from attrs import define, field, frozen

from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kafka_groups.streams.member.rules.tasks import tasks_from_wire
from kafka_groups.types import TaskId
from tests.simulation.streams.member import REBALANCE_S, SESSION_S
from tests.simulation.streams.topics import Tasks

__all__ = ["NOTHING", "Holding", "TaskRoles"]

_SURELY_MS = min(SESSION_S, REBALANCE_S) * 1000
"""For so long after a heartbeat that left nothing to revoke, no deadline of a member can have passed."""
_LONG_AGO = -1_000_000


@frozen
class TaskRoles:
    """Tasks by what a member does with them."""

    active: Tasks = frozenset()
    standby: Tasks = frozenset()

    def __and__(self, other: "TaskRoles") -> "TaskRoles":
        """The tasks that both have in the same role."""
        return TaskRoles(self.active & other.active, self.standby & other.standby)

    def __or__(self, other: "TaskRoles") -> "TaskRoles":
        """The tasks of both."""
        return TaskRoles(self.active | other.active, self.standby | other.standby)

    def __sub__(self, other: "TaskRoles") -> "TaskRoles":
        """The tasks that the other one does not have in the same role."""
        return TaskRoles(self.active - other.active, self.standby - other.standby)

    def __bool__(self) -> bool:
        return bool(self.active or self.standby)


NOTHING = TaskRoles()


@define(eq=False)
class Holding:
    """One member id.

    Attributes:
        instance: Its instance id.
        process: The process that it is in.
        epoch: The epoch of the last response.
        held: What it may own: what it was told, without what it has said since that it does not own.
        told: The tasks that it was last told.
        since: For each active task that the coordinator may have for it, an epoch before or at which it was assigned.
        is_away: It has left for a while, or has tried to.
        is_leaving: It has tried to leave for good.
        has_left: The coordinator has said that it has left, for good or for a while.
        is_gone: The coordinator has said that it is not a member.
        is_fenced: Its epoch was refused.
        is_joining: It has tried to join since then.
        clean_ms: When the last heartbeat was sent that was accepted and left nothing to revoke.
        is_in_doubt: The coordinator may have changed its tasks without a response that says so.
        unanswered: How many heartbeats it has sent since the last response.
        repeats: How many heartbeats were repeated before the last response, of any member.
    """

    member_id: str
    instance: str | None = None
    process: str = ""
    epoch: int = 0
    held: TaskRoles = NOTHING
    told: TaskRoles = NOTHING
    since: dict[TaskId, int] = field(factory=dict)
    is_away: bool = False
    is_leaving: bool = False
    has_left: bool = False
    is_gone: bool = False
    is_joining: bool = False
    is_fenced: bool = False
    clean_ms: int = _LONG_AGO
    is_in_doubt: bool = False
    unanswered: int = 0
    repeats: int = 0
    _floor: int = 0
    _closing: TaskRoles = NOTHING
    _changed_role: TaskRoles = NOTHING
    _left_ms: int = _LONG_AGO

    def is_there(self, now_ms: int) -> bool:
        """Whether it is a member for certain: no deadline may have passed, and it has not left."""
        may_be_over = self.is_gone or self.is_leaving or self.is_fenced
        return not may_be_over and now_ms < self.clean_ms + _SURELY_MS

    def may_commit(self, epoch: int, tasks: Iterable[TaskId]) -> bool:
        """Whether a commit may be accepted, by what is known now (KAFKA-19779)."""
        if self.is_gone or self.has_left:
            return self.is_joining
        return epoch >= self.epoch or all(self.since.get(each, epoch + 1) <= epoch for each in tasks)

    # ------------------------------------------------------------------------------------------ heartbeats

    def asked(self, request: StreamsGroupHeartbeatRequest, now_ms: int) -> TaskRoles:
        """It sends a heartbeat. Returns what it owns without having been told that it may."""
        self.unanswered += 1
        self.instance, self.process = request.instance_id, request.process_id or self.process
        if request.member_epoch == JOIN_GROUP_EPOCH:
            self._closing = self.held | self._closing
            self.held, self.is_joining = NOTHING, True
        elif request.member_epoch == LEAVE_STATIC_EPOCH:
            self.held = NOTHING if self.is_in_doubt or self.unanswered > 1 else self.told
            self.is_away, self.is_joining, self._floor, self._left_ms = True, False, 0, now_ms
            self.since = dict.fromkeys(self.since, 0)
        elif request.member_epoch < 0:
            self.held, self.is_leaving, self.is_joining, self._left_ms = NOTHING, True, False, now_ms
        elif request.active_tasks is not None:
            owned = _listed(request)
            allowed = self.held | self.told
            foreign, self.held = owned - allowed - self._closing, owned & allowed
            self._give_up_former_roles(owned)
            self._closing &= owned  # who joins again may take its time to close what it had
            return foreign
        return NOTHING

    def accepted(
        self, request: StreamsGroupHeartbeatRequest, response: StreamsGroupHeartbeatResponse, sent_ms: int
    ) -> TaskRoles:
        """A heartbeat of a member that joins or stays is accepted. Returns the tasks that are new to it."""
        if sent_ms > self._left_ms:
            self.is_gone = self.is_away = self.is_leaving = self.has_left = False
            self.is_joining = self.is_fenced = False
        self.is_in_doubt = response.active_tasks is None and (self.is_in_doubt or self.unanswered > 1)
        self.unanswered = 0
        if response.active_tasks is not None:
            self.told = _listed(response)
            if request.active_tasks is not None:  # the coordinator compares them with what it assigns now
                self._give_up_former_roles(_listed(request))
            self._changed_role |= TaskRoles(self.told.active & self.held.standby, self.told.standby & self.held.active)
        self._note_epochs(request)
        new = NOTHING if self.is_in_doubt else self.told - self.held
        self.held = self.held | new
        self.epoch = self._floor = response.member_epoch
        if self.held == self.told and not self.is_in_doubt:
            self.clean_ms = sent_ms
        return new

    def _give_up_former_roles(self, owned: TaskRoles) -> None:
        """Note what the coordinator takes for given up: tasks in a role that the member never took.

        As in Kafka, a member that must give up an active task has done so when it lists no such active task, even if
        it still has the standby that it was before, and the other way round.
        """
        told = self.told.active | self.told.standby
        changed = TaskRoles(self._changed_role.active - told, self._changed_role.standby - told)
        never_taken = TaskRoles(changed.standby - owned.standby, changed.active - owned.active)
        given_up = self.held & never_taken
        self.held, self._closing = self.held - given_up, self._closing | given_up
        self._changed_role = self._changed_role - changed

    def _note_epochs(self, request: StreamsGroupHeartbeatRequest) -> None:
        if request.active_tasks is not None:
            kept = _listed(request).active | self.told.active
            self.since = {task: epoch for task, epoch in self.since.items() if task in kept}
        for task in self.told.active:
            self.since.setdefault(task, self._floor)

    def left(self) -> None:
        """The coordinator knows that it has left, for good or for a while."""
        self.has_left = True

    def fenced(self) -> None:
        """It was told to give everything up."""
        self.is_fenced = True

    def lost(self) -> None:
        """It is not a member any more. It may not have heard of it."""
        self.is_gone, self.is_joining = True, False

    def released(self) -> None:
        """What it has kept while it was away may be given to its instance, and then to others."""
        if self.is_away:
            self.held = NOTHING


def _listed(message: StreamsGroupHeartbeatRequest | StreamsGroupHeartbeatResponse) -> TaskRoles:
    return TaskRoles(tasks_from_wire(message.active_tasks), tasks_from_wire(message.standby_tasks))
