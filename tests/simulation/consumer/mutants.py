"""Defects planted on purpose in consumer groups: each must be caught by the simulation within a few seeds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve

from kafka_groups.broker.coordinators.groups.consumer import groups, offsets, reconciliation, subscriptions
from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerDraft, ConsumerGroup
from kafka_groups.broker.coordinators.groups.consumer.groups import ConsumerGroups
from kafka_groups.broker.coordinators.groups.consumer.members import remove_member
from kafka_groups.broker.coordinators.groups.consumer.reconciliation import _Step
from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerAssignment
from kafka_groups.broker.coordinators.groups.epochs import members
from kafka_groups.errors import FencedMemberEpochError
from kafka_groups.protocol.coordinator_records.consumer_group import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
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


# ------------------------------------------------------------------------------------------- partitions


def partitions_are_given_before_others_release_them(patch: Patch) -> None:
    """A member gets all of its target assignment at once, whoever has it."""

    def free(_step: _Step, kept: Any, wanted: Any) -> tuple[dict[Any, list[int]], bool]:
        return {topic: sorted(numbers - kept.get(topic, {}).keys()) for topic, numbers in wanted.items()}, False

    patch.setattr(_Step, "_free", free)


def revocations_are_not_confirmed(patch: Patch) -> None:
    """Who does not say what it owns is taken to own nothing."""
    take_silence_as_nothing(patch, reconciliation)


def partitions_to_revoke_are_free(patch: Patch) -> None:
    """What a member has yet to revoke is given to others."""
    own = ConsumerGroup._own

    def own_assigned(self: ConsumerGroup, member_id: str, current: Any) -> None:
        own(self, member_id, None if current is None else evolve(current, revoking={}))

    patch.setattr(ConsumerGroup, "_own", own_assigned)


def growing_topics_are_not_noticed(patch: Patch) -> None:
    """A change of topics does not change the group epoch."""
    bump = subscriptions.bump_group_epoch

    def bump_for_members(draft: ConsumerDraft, topics: Any, *, has_changed: bool) -> None:
        if has_changed:
            bump(draft, topics, has_changed=True)

    patch.setattr(groups, "bump_group_epoch", bump_for_members)


# ---------------------------------------------------------------------------------------------- epochs


def previous_epochs_are_fenced(patch: Patch) -> None:
    """A member that has missed an answer is fenced."""

    def check(epoch: int, current: ConsumerAssignment, *_rest: Any) -> None:
        if epoch != current.member_epoch:
            raise FencedMemberEpochError("Only the current epoch will do.")

    patch.setattr(members, "check_epoch", check)


def commits_in_any_epoch_are_accepted(patch: Patch) -> None:
    """A member may commit, whatever its epoch."""

    def check(group: ConsumerGroup, member_id: str, *_rest: Any) -> None:
        offsets._member(group, member_id)

    patch.setattr(groups, "check_commit", check)


def commits_of_former_members_are_accepted(patch: Patch) -> None:
    """Whoever is no member may commit, as if the group were empty."""
    let_former_members_commit(patch, groups, offsets)


def older_epochs_are_enough_for_all_that_is_owned(patch: Patch) -> None:
    """An older epoch is accepted for partitions that the member has had only since a later one (KIP-1251)."""

    def has_since(current: Any, partitions: Any, _epoch: int) -> bool:
        return all(offsets._assigned_at(current, *each, otherwise=-1) >= 0 for each in partitions)

    patch.setattr(offsets, "_has_since", has_since)


# --------------------------------------------------------------------------------------- static members


def instances_that_are_there_are_replaced(patch: Patch) -> None:
    """A second process takes the place of the first one, which is still there."""
    patch.setattr(ConsumerGroup, "may_be_replaced", lambda *_: True)


def older_ids_are_not_fenced(patch: Patch) -> None:
    """A member whose instance was started again is told that it is unknown, so that it joins once more."""
    fence_nobody(patch, groups)


def partitions_of_static_members_are_free_while_they_are_away(patch: Patch) -> None:
    """A static member that leaves for a while loses its partitions at once."""
    leave = members.leave_for_a_while

    def leave_without(draft: ConsumerDraft, member_id: str) -> None:
        leave(draft, member_id)
        group_id, away = draft.group.group_id, draft.group.current[member_id]
        draft.write(ConsumerGroupCurrentMemberAssignment(group_id, member_id, evolve(away, assigned={})))

    patch.setattr(groups, "leave_for_a_while", leave_without)


def static_members_leave_for_good(patch: Patch) -> None:
    """A static member that leaves for a while is removed."""

    def leave(self: ConsumerGroups, draft: ConsumerDraft, member_id: str) -> None:
        remove_member(draft, member_id)
        self._members_left(draft, [member_id])

    left: list[ConsumerGroups] = []
    leave_group = ConsumerGroups._leave

    def remember(self: ConsumerGroups, request: Any) -> Any:
        left[:] = [self]
        return leave_group(self, request)

    patch.setattr(ConsumerGroups, "_leave", remember)
    patch.setattr(groups, "leave_for_a_while", lambda draft, member_id: leave(left[0], draft, member_id))


# --------------------------------------------------------------------------------------------- loading


def sessions_are_lost_on_load(patch: Patch) -> None:
    """After a load, no session ends."""
    end_no_sessions(patch, ConsumerGroups)


def target_assignments_are_lost_on_load(patch: Patch) -> None:
    """A coordinator that takes over does not know the target assignment."""
    forget_on_load(patch, ConsumerGroups, ConsumerGroupTargetAssignmentMember, ConsumerGroupTargetAssignmentMetadata)


def current_assignments_are_lost_on_load(patch: Patch) -> None:
    """A coordinator that takes over does not know what members have, and in which epochs they are."""
    forget_on_load(patch, ConsumerGroups, ConsumerGroupCurrentMemberAssignment)


MUTANTS = by_name(
    partitions_are_given_before_others_release_them,
    revocations_are_not_confirmed,
    partitions_to_revoke_are_free,
    growing_topics_are_not_noticed,
    previous_epochs_are_fenced,
    commits_in_any_epoch_are_accepted,
    commits_of_former_members_are_accepted,
    older_epochs_are_enough_for_all_that_is_owned,
    some_commits_are_not_stored,
    instances_that_are_there_are_replaced,
    older_ids_are_not_fenced,
    partitions_of_static_members_are_free_while_they_are_away,
    static_members_leave_for_good,
    sessions_are_lost_on_load,
    target_assignments_are_lost_on_load,
    current_assignments_are_lost_on_load,
)

CAUGHT_BY: Mapping[str, int] = MappingProxyType({
    "growing_topics_are_not_noticed": 402,
    "older_epochs_are_enough_for_all_that_is_owned": 403,
    "older_ids_are_not_fenced": 401,
    "partitions_of_static_members_are_free_while_they_are_away": 404,
})  # fmt: skip
"""The seeds that catch defects which the first one does not see. They are tried first, and need not stay right."""
