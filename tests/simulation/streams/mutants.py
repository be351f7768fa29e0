"""Defects planted on purpose in streams groups: each must be caught by the simulation within a few seeds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve

from kafka_groups.assignment.group.sticky import assignor
from kafka_groups.assignment.group.sticky.active_tasks import assign_active
from kafka_groups.assignment.group.sticky.previous_assignment import PreviousAssignment
from kafka_groups.broker.coordinators.groups.epochs import members
from kafka_groups.broker.coordinators.groups.epochs.members import known_member
from kafka_groups.broker.coordinators.groups.streams import groups, member_heartbeat, offsets, reconciliation
from kafka_groups.broker.coordinators.groups.streams.assigning import target
from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft, StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.groups import StreamsGroups
from kafka_groups.broker.coordinators.groups.streams.reconciliation import _MemberStep
from kafka_groups.protocol.coordinator_records.streams_group import (
    StreamsGroupCurrentMemberAssignment,
    StreamsGroupTopology,
)
from tests.simulation.groups.epochs.mutants import (
    end_no_sessions,
    fence_nobody,
    forget_on_load,
    let_former_members_commit,
    take_silence_as_nothing,
)
from tests.simulation.groups.mutants import some_commits_are_not_stored
from tests.support.planted_defects import Patch, by_name

__all__ = ["MUTANTS"]


# ------------------------------------------------------------------------------------------------ tasks


def tasks_are_given_before_others_release_them(patch: Patch) -> None:
    """A member gets all of its target assignment at once, whoever has it."""
    patch.setattr(_MemberStep, "_is_free_active", lambda *_: True)


def revocations_are_not_confirmed(patch: Patch) -> None:
    """Who does not say what it owns is taken to own nothing."""
    take_silence_as_nothing(patch, reconciliation)


def tasks_to_revoke_are_free(patch: Patch) -> None:
    """What a member has yet to revoke is given to others."""
    own = StreamsGroup._own

    def own_assigned(self: StreamsGroup, member_id: str, current: Any) -> None:
        kept = None if current is None else evolve(current, revoking_active={}, revoking_standby=frozenset())
        own(self, member_id, kept)

    patch.setattr(StreamsGroup, "_own", own_assigned)


def standbys_go_to_the_process_of_the_active_task(patch: Patch) -> None:
    """A standby task is given although another member of the process runs the task or has a standby of it."""
    patch.setattr(_MemberStep, "_is_free_standby", lambda *_: True)


def active_tasks_go_to_the_process_of_a_standby(patch: Patch) -> None:
    """An active task is given although another member of the process still has a standby of it."""
    patch.setattr(_MemberStep, "_is_free_active", lambda step, task, _current: task not in step.group.active_owners)


def one_member_gets_everything(patch: Patch) -> None:
    """The loads are not balanced."""

    def assign_to_one(tasks: Any, numbered: Any, previous: Any) -> Any:
        return [0] * len(assign_active(tasks, numbered, previous))

    patch.setattr(assignor, "assign_active", assign_to_one)


def the_assignor_forgets_who_has_what(patch: Patch) -> None:
    """Former tasks do not count, so that each assignment begins anew."""
    of = PreviousAssignment.of

    def without_previous(group: Any, tasks: Any, numbered: Any) -> Any:
        previous = of(group, tasks, numbered)
        shifted = [(number + 1) % numbered.count for number in range(tasks.count)]
        return evolve(previous, active=shifted if group.configs.rack_aware_assignment_tags else previous.active)

    patch.setattr(PreviousAssignment, "of", without_previous)


def growing_topics_are_not_noticed(patch: Patch) -> None:
    """A change of topics does not change the group epoch."""
    increase = target.increase_if_due

    def increase_for_members(draft: StreamsDraft, *facts: Any, has_changed: bool) -> None:
        if has_changed or draft.group.metadata is None:
            increase(draft, *facts, has_changed=has_changed)

    patch.setattr(member_heartbeat, "increase_if_due", increase_for_members)


# ---------------------------------------------------------------------------------------------- epochs


def epochs_of_members_go_back(patch: Patch) -> None:
    """Who joins gets the epoch before that of the target assignment."""
    reconcile = reconciliation.reconcile

    def to_older(draft: StreamsDraft, member_id: str, owned: Any, target_: Any, epoch: int) -> Any:
        is_joining = draft.group.current_of(member_id).member_epoch == 0
        return reconcile(draft, member_id, owned, target_, max(epoch - 1, 1) if is_joining else epoch)

    patch.setattr(member_heartbeat, "reconcile", to_older)


def epochs_of_heartbeats_are_not_checked(patch: Patch) -> None:
    """A member may stay, whatever its epoch."""
    patch.setattr(members, "check_epoch", lambda *_: None)


def commits_in_any_epoch_are_accepted(patch: Patch) -> None:
    """A member may commit, whatever its epoch."""

    def check(group: StreamsGroup, member_id: str, *_rest: Any) -> None:
        known_member(group, member_id, None)

    patch.setattr(groups, "check_commit", check)


def commits_of_former_members_are_accepted(patch: Patch) -> None:
    """Whoever is not a member may commit, as if the group were empty."""
    let_former_members_commit(patch, groups, offsets)


# --------------------------------------------------------------------------------------- static members


def older_ids_are_not_fenced(patch: Patch) -> None:
    """A member whose instance was started again is told that it is unknown, so that it joins once more."""
    fence_nobody(patch, groups)


def tasks_of_static_members_are_free_while_they_are_away(patch: Patch) -> None:
    """A static member that leaves for a while loses its tasks at once."""
    leave = members.leave_for_a_while

    def leave_without(draft: StreamsDraft, member_id: str) -> None:
        leave(draft, member_id)
        group_id, away = draft.group.group_id, draft.group.current[member_id]
        without = evolve(away, active={}, standby=frozenset())
        draft.write(StreamsGroupCurrentMemberAssignment(group_id, member_id, without))
        members.remove(draft, member_id)

    patch.setattr(groups, "leave_for_a_while", leave_without)


# --------------------------------------------------------------------------------------------- loading


def sessions_are_lost_on_load(patch: Patch) -> None:
    """After a load, no session ends."""
    end_no_sessions(patch, StreamsGroups)


def current_assignments_are_lost_on_load(patch: Patch) -> None:
    """A coordinator that takes over does not know what members have, and in which epochs they are."""
    forget_on_load(patch, StreamsGroups, StreamsGroupCurrentMemberAssignment)


def topologies_are_lost_on_load(patch: Patch) -> None:
    """A coordinator that takes over does not know the topology."""
    forget_on_load(patch, StreamsGroups, StreamsGroupTopology)


MUTANTS = by_name(
    tasks_are_given_before_others_release_them,
    revocations_are_not_confirmed,
    tasks_to_revoke_are_free,
    standbys_go_to_the_process_of_the_active_task,
    active_tasks_go_to_the_process_of_a_standby,
    one_member_gets_everything,
    the_assignor_forgets_who_has_what,
    growing_topics_are_not_noticed,
    epochs_of_members_go_back,
    epochs_of_heartbeats_are_not_checked,
    commits_in_any_epoch_are_accepted,
    commits_of_former_members_are_accepted,
    some_commits_are_not_stored,
    older_ids_are_not_fenced,
    tasks_of_static_members_are_free_while_they_are_away,
    sessions_are_lost_on_load,
    current_assignments_are_lost_on_load,
    topologies_are_lost_on_load,
)

CAUGHT_BY: Mapping[str, int] = MappingProxyType({
    "standbys_go_to_the_process_of_the_active_task": 602,
    "active_tasks_go_to_the_process_of_a_standby": 602,
    "commits_of_former_members_are_accepted": 601,
    "older_ids_are_not_fenced": 603,
})  # fmt: skip
"""The seeds that catch defects which the first one does not see. They are tried first, and need not stay right."""
