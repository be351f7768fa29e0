"""Reconciliation of a member's tasks with its target assignment (KIP-1071, "Rebalance Process").

First it revokes what it must not have any more, and confirms that by a heartbeat that lists what it owns. Then it gets
the new epoch, and those tasks that are free. An active task is free when nobody runs it and no other member of the
process has it as a standby, because the tasks of a process share their state on disk.

Changes of the role inside a member: an active task becomes a standby at once. A standby that becomes active stays a
standby until the active task is given to the member, so that the member keeps the state.
"""

from collections.abc import Mapping

from attrs import frozen

from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft, StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.records import StreamsAssignment, StreamsTarget
from kafka_groups.broker.coordinators.groups.streams.states import StreamsMemberState
from kafka_groups.broker.coordinators.groups.streams.tasks import OwnedTasks, Tasks
from kafka_groups.errors import FencedMemberEpochError
from kafka_groups.protocol.coordinator_records.streams_group import StreamsGroupCurrentMemberAssignment
from kafka_groups.types import TaskId

__all__ = ["reconcile"]

_STABLE, _UNREVOKED = StreamsMemberState.STABLE, StreamsMemberState.UNREVOKED_TASKS
_UNRELEASED, _UNKNOWN = StreamsMemberState.UNRELEASED_TASKS, StreamsMemberState.UNKNOWN
_NOTHING = OwnedTasks()


def reconcile(
    draft: StreamsDraft, member_id: str, owned: OwnedTasks | None, target: StreamsTarget, target_epoch: int
) -> StreamsAssignment:
    """Bring a member closer to its target assignment, and return its tasks: the same object if nothing has changed.

    Args:
        draft: The group.
        member_id: The member.
        owned: What it says that it owns. None: it does not say.
        target: Its target assignment.
        target_epoch: The group epoch that it was computed for.

    Raises:
        FencedMemberEpochError: Its state is unknown, and it may own tasks.
    """
    group = draft.group
    # This follows CurrentAssignmentBuilder.build of streams groups in Kafka, which decides by the state of the member
    # whether it may take a step at all. KIP-1071 describes the steps in "Reconciliation of the group".
    known = group.current.get(member_id)
    current = group.current_of(member_id) if known is None else known
    # A later release may have written the record, so the coordinator cannot tell what the member owns or must revoke.
    # Only a member that reports that it owns nothing can start from nothing; any other one is fenced
    # (CurrentAssignmentBuilder.build).
    if current.state is _UNKNOWN and owned != _NOTHING:
        raise FencedMemberEpochError(
            f"The state of member {member_id} is unknown. The member must abandon all its tasks and rejoin."
        )
    reached = current
    if _may_advance(current, owned, target_epoch):
        epoch = _epoch_while_revoking(current, target_epoch)
        reached = _MemberStep(group, member_id, target, target_epoch).advanced(epoch, owned)
    # Without a change there is no record to write. A new member gets its first record even if its assignment is empty,
    # because its epoch has to be stored.
    if known is not None and reached == known:
        return known
    draft.write(StreamsGroupCurrentMemberAssignment(group.group_id, member_id, reached))
    return reached


def _may_advance(current: StreamsAssignment, owned: OwnedTasks | None, target_epoch: int) -> bool:
    # There are three cases. A member that has to revoke tasks may go on once it confirms that it does not own them any
    # more. A stable member may go on if there is a newer target assignment. A member that waits for tasks of others may
    # go on at each heartbeat, because one of the tasks may be free now.
    if current.state is _UNREVOKED:
        return not _may_own(owned, current.revoking_active, current.revoking_standby)
    return current.state is not _STABLE or current.member_epoch != target_epoch


def _epoch_while_revoking(current: StreamsAssignment, target_epoch: int) -> int:
    """Return the epoch of a member with tasks to revoke. As in Kafka, it grows by one if it has just revoked others."""
    # Kafka lets a member that starts from nothing begin at the target epoch (CurrentAssignmentBuilder.build).
    if current.state is _UNKNOWN:
        return target_epoch
    # A member that still has to revoke must not get the epoch of the target assignment, since it has not reached it.
    # But a member that confirms one revocation while a newer target assignment asks for the next one has made progress:
    # CurrentAssignmentBuilder.build gives it the next epoch, before it revokes again.
    return current.member_epoch + 1 if current.state is _UNREVOKED else current.member_epoch


def _may_own(owned: OwnedTasks | None, active: Mapping[TaskId, int], standby: Tasks) -> bool:
    """Return whether a member still owns some of these tasks, or does not say."""
    # A heartbeat that leaves the lists out confirms nothing, because lists are left out if they did not change
    # (CurrentAssignmentBuilder.hasNotReleased).
    return owned is None or not (owned.active.isdisjoint(active) and owned.standby.isdisjoint(standby))


@frozen
class _MemberStep:
    """One step of one member."""

    group: StreamsGroup
    member_id: str
    target: StreamsTarget
    target_epoch: int

    def advanced(self, epoch: int, owned: OwnedTasks | None) -> StreamsAssignment:
        """Return the next assignment on the way to the target assignment.

        Args:
            epoch: The epoch that the member keeps while it revokes.
            owned: What it says that it owns.
        """
        current, target = self.group.current_of(self.member_id), self.target
        # This follows CurrentAssignmentBuilder.computeNextAssignment. The tasks that the member keeps keep their
        # assignment epochs, because commits with an older member epoch stay valid for them (KAFKA-19779).
        kept = {task: since for task, since in current.active.items() if task in target.active}
        dropped = {task: since for task, since in current.active.items() if task not in target.active}
        # A standby that becomes active is not revoked, as the member would close its state only to open it again
        # (CurrentAssignmentBuilder.dropPromotedTasksFromRevocation).
        promoted = current.standby & target.active
        dropped_standby = current.standby - target.standby - promoted
        standby = (current.standby & target.standby) | self._demoted(current)
        # Revocations come first: a member gets nothing new before it confirms them, as in the first two phases of
        # KIP-1071, "Reconciliation of the group". The exception is a heartbeat that shows that the member does not own
        # those tasks; then there is nothing to wait for (CurrentAssignmentBuilder.buildNewMember).
        if (dropped or dropped_standby) and _may_own(owned, dropped, dropped_standby):
            return StreamsAssignment(
                member_epoch=epoch,
                previous_member_epoch=current.member_epoch,
                state=_UNREVOKED,
                active=kept,
                standby=standby | promoted,
                revoking_active=dropped,
                revoking_standby=dropped_standby,
            )
        return self._granted(current, kept, standby, promoted)

    def _demoted(self, current: StreamsAssignment) -> Tasks:
        """Return the active tasks that become standbys at once, while the member still has to revoke them."""
        # The member itself is the owner that the new standby would have to wait for, so it need not wait
        # (CurrentAssignmentBuilder.demoteActiveTasksToStandby).
        return frozenset(task for task in current.active if task in self.target.standby and self._is_free_standby(task))

    def _granted(
        self, current: StreamsAssignment, kept: Mapping[TaskId, int], standby: Tasks, promoted: Tasks
    ) -> StreamsAssignment:
        """Return the assignment of a member that has nothing to revoke: what it keeps, and what is free."""
        # The third phase of KIP-1071, "Reconciliation of the group": the member gets the epoch of the target assignment
        # even if other members have not released all of its tasks. It asks for the rest as UNRELEASED_TASKS with each
        # heartbeat.
        wanted, wanted_standby = self.target.active - kept.keys(), self.target.standby - standby
        free = frozenset(task for task in wanted if self._is_free_active(task, current))
        free_standby = frozenset(task for task in wanted_standby if self._is_free_standby(task))
        has_waiting = free != wanted or free_standby != wanted_standby
        return StreamsAssignment(
            member_epoch=self.target_epoch,
            previous_member_epoch=current.member_epoch,
            state=_UNRELEASED if has_waiting else _STABLE,
            active={**kept, **dict.fromkeys(free, self.target_epoch)},
            # A promoted standby whose active task is still owned by another member stays a standby and keeps catching
            # up (CurrentAssignmentBuilder.keepPromotedTasksUntilGranted).
            standby=standby | free_standby | (promoted - free),
        )

    def _is_free_active(self, task: TaskId, current: StreamsAssignment) -> bool:
        """Return whether no member runs a task, and no other member of the process has it as a standby."""
        # Two members must never process the same task, so any owner blocks it, also one that has yet to confirm a
        # revocation (CurrentAssignmentBuilder.isUnreleasedActiveTask).
        if task in self.group.active_owners:
            return False
        # Members of one process share a state directory, so a standby of another thread has to be closed first. The
        # member's own standby does not block the task: it is what is promoted
        # (CurrentAssignmentBuilder.heldByAnotherMemberOnThisProcess).
        return task in current.standby or self._process not in self.group.standby_processes(task)

    def _is_free_standby(self, task: TaskId) -> bool:
        """Return whether no other member of the process runs a task, or has it as a standby."""
        # Only owners within the process block a standby, because only they use the same state directory. On other
        # processes active tasks and standbys of a task exist side by side
        # (CurrentAssignmentBuilder.isUnreleasedStandbyTask).
        owner = self.group.active_owners.get(task)
        runs_elsewhere = owner is not None and task not in self.group.current_of(self.member_id).active
        # The member's own active task does not count: it is the one that becomes this standby
        # (CurrentAssignmentBuilder.runByAnotherMemberOnThisProcess).
        if runs_elsewhere and self.group.active_process(task) == self._process:
            return False
        return self._process not in self.group.standby_processes(task)

    @property
    def _process(self) -> str:
        return self.group.members[self.member_id].process_id
