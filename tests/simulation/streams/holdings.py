"""The tasks that a member of a streams group may own, by what the wire shows."""

from attrs import define, frozen

from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kafka_groups.streams.member.rules.member_tasks import tasks_from_wire
from tests.simulation.streams.topics import Tasks

__all__ = ["TaskHolding", "TaskRoles"]


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


_NOTHING = TaskRoles()


@define(eq=False)
class TaskHolding:
    """The tasks of a member.

    Attributes:
        held: The tasks that it may own: its assignments, without those that it has given up since.
        told: The tasks that it was last told.
        process: The process that it is in.
        is_in_doubt: The coordinator may have changed its tasks without a response that says so.
    """

    held: TaskRoles = _NOTHING
    told: TaskRoles = _NOTHING
    process: str = ""
    is_in_doubt: bool = False
    _closing: TaskRoles = _NOTHING
    _changed_role: TaskRoles = _NOTHING

    @property
    def is_clean(self) -> bool:
        """True if it certainly has no task to give up."""
        return self.held == self.told and not self.is_in_doubt

    @property
    def committable(self) -> Tasks:
        """The active tasks that it was last told."""
        return self.told.active

    def listed(self, request: StreamsGroupHeartbeatRequest) -> Tasks | None:
        """Return the active tasks that a heartbeat says that it owns. None: the heartbeat does not say."""
        return None if request.active_tasks is None else _listed(request).active

    def asked(self, request: StreamsGroupHeartbeatRequest, *, is_certain: bool) -> TaskRoles:
        """Note a heartbeat that it sends. Return what it says that it owns and was not told to."""
        self.process = request.process_id or self.process
        if request.member_epoch == JOIN_GROUP_EPOCH:
            self.held, self._closing = _NOTHING, self.held | self._closing
        elif request.member_epoch == LEAVE_STATIC_EPOCH:
            self.held = self.told if is_certain and not self.is_in_doubt else _NOTHING
        elif request.member_epoch < 0:
            self.held = _NOTHING
        elif request.active_tasks is not None:
            return self._said(_listed(request))
        return _NOTHING

    def _said(self, owned: TaskRoles) -> TaskRoles:
        allowed = self.held | self.told
        foreign, self.held = owned - allowed - self._closing, owned & allowed
        self._give_up_former_roles(owned)
        self._closing &= owned  # who joins again may take its time to close what it had
        return foreign

    def accepted(
        self, request: StreamsGroupHeartbeatRequest, response: StreamsGroupHeartbeatResponse, *, is_certain: bool
    ) -> TaskRoles:
        """Note a response to a heartbeat that joins or stays. Return the tasks that are new."""
        self.is_in_doubt = response.active_tasks is None and (self.is_in_doubt or not is_certain)
        if response.active_tasks is not None:
            self.told = _listed(response)
            if request.active_tasks is not None:  # the coordinator compares them with what it assigns now
                self._give_up_former_roles(_listed(request))
            self._changed_role |= TaskRoles(self.told.active & self.held.standby, self.told.standby & self.held.active)
        new = _NOTHING if self.is_in_doubt else self.told - self.held
        self.held = self.held | new
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

    def release(self) -> None:
        """Give up what it has kept while it was away."""
        self.held = _NOTHING


def _listed(message: StreamsGroupHeartbeatRequest | StreamsGroupHeartbeatResponse) -> TaskRoles:
    return TaskRoles(tasks_from_wire(message.active_tasks), tasks_from_wire(message.standby_tasks))
