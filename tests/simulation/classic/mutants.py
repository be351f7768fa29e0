"""Defects planted on purpose in classic groups: each must be caught by the simulation within a few seeds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.broker.coordinators.groups.classic import joining, replies, rounds
from kafka_groups.broker.coordinators.groups.classic.classic_changes import ClassicChanges
from kafka_groups.broker.coordinators.groups.classic.group import ClassicGroup
from kafka_groups.broker.coordinators.groups.classic.groups import ClassicGroups
from kafka_groups.broker.coordinators.groups.classic.joining import JoinAttempt
from kafka_groups.broker.coordinators.groups.classic.members import ClassicMember
from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime
from kafka_groups.protocol.error_codes import ErrorCode
from tests.simulation.groups.mutants import some_commits_are_not_stored
from tests.support.planted_defects import Patch, by_name

__all__ = ["MUTANTS"]


def older_ids_are_not_fenced(patch: Patch) -> None:
    """A member whose instance was started again is told that it is unknown, so that it joins once more."""
    check = ClassicGroup.check_member

    def check_member_alone(self: ClassicGroup, member_id: str, _instance: str | None) -> ClassicMember:
        return check(self, member_id, None)

    patch.setattr(ClassicGroup, "check_member", check_member_alone)


def older_ids_stay_members(patch: Patch) -> None:
    """Both ids of an instance may act."""
    replace, check = ClassicGroup.replace, ClassicGroup.check_member
    older: dict[str, ClassicMember] = {}

    def replace_none(self: ClassicGroup, old: ClassicMember, new: ClassicMember) -> None:
        older[old.member_id] = old
        replace(self, old, new)

    def check_leniently(self: ClassicGroup, member_id: str, instance: str | None) -> ClassicMember:
        return older[member_id] if member_id in older else check(self, member_id, instance)

    patch.setattr(ClassicGroup, "replace", replace_none)
    patch.setattr(ClassicGroup, "check_member", check_leniently)


def instances_are_lost_on_load(patch: Patch) -> None:
    """A coordinator that takes over knows members, and not which instances they are."""
    restore = ClassicGroup._restore

    def restore_members(self: ClassicGroup, value: Any) -> None:
        restore(self, value)
        self.static_members.clear()

    def remove(self: ClassicGroup, member_id: str) -> ClassicMember | None:
        member = self.members.get(member_id)
        if member is not None and member.group_instance_id is not None:
            self.static_members.setdefault(member.group_instance_id, member_id)
        return forget(self, member_id)

    forget = ClassicGroup.remove
    patch.setattr(ClassicGroup, "remove", remove)
    patch.setattr(ClassicGroup, "_restore", restore_members)


def rebalance_timeouts_drop_static_members(patch: Patch) -> None:
    """A round does not wait for static members longer than for others, and removes them."""
    complete = rounds._complete

    def complete_without(group: ClassicGroup, changes: ClassicChanges) -> None:
        for member in [each for each in group.members.values() if each.parked_join is None]:
            rounds.drop_member(group, member, changes)
        complete(group, changes)

    patch.setattr(rounds, "_complete", complete_without)


def refused_records_do_not_put_the_older_id_back(patch: Patch) -> None:
    """A restart takes effect before its record is stored, and stays in effect if the log refuses the record."""
    quietly = JoinAttempt._restart_quietly

    def at_once(self: JoinAttempt, old: ClassicMember, new: ClassicMember) -> Any:
        result = quietly(self, old, new)
        self._replace(old, new)
        return result

    replace = ClassicGroup.replace

    def replace_once(self: ClassicGroup, old: ClassicMember, new: ClassicMember) -> None:
        if old.member_id in self.members:
            replace(self, old, new)

    patch.setattr(JoinAttempt, "_restart_quietly", at_once)
    patch.setattr(ClassicGroup, "replace", replace_once)
    patch.setattr(CoordinatorRuntime, "_reload", lambda _self, _led: None)


def waiting_requests_of_older_ids_are_not_answered(patch: Patch) -> None:
    """A request of the older one that waits is forgotten."""
    reply = ClassicChanges.reply

    def reply_to_others(self: ClassicChanges, token: int | None, response: Any) -> None:
        if response.error_code is not ErrorCode.FENCED_INSTANCE_ID:
            reply(self, token, response)

    patch.setattr(ClassicChanges, "reply", reply_to_others)


def commits_of_older_ids_are_accepted(patch: Patch) -> None:
    """Whoever knows the generation may commit."""
    check = ClassicGroups.check_commit

    def check_generation(self: ClassicGroups, group_id: str, committer: OffsetCommitter, now_ms: int) -> None:
        try:
            check(self, group_id, committer, now_ms)
        except Exception:
            if self.group(group_id).generation != committer.generation:
                raise

    patch.setattr(ClassicGroups, "check_commit", check_generation)


def old_assignments_are_given_to_new_members(patch: Patch) -> None:
    """Who has no assignment gets that of another member."""
    synced = replies.synced

    def synced_with_any(group: ClassicGroup, member: ClassicMember, assignment: bytes | None = None) -> Any:
        known = [each.assignment for each in group.members.values() if each.assignment]
        return synced(group, member, assignment or next(iter(known), b""))

    patch.setattr("kafka_groups.broker.coordinators.groups.classic.syncing.synced", synced_with_any)


def restarts_are_rebalances(patch: Patch) -> None:
    """Every restart starts a round."""
    patch.setattr(joining, "_STABLE", None)


def leaders_are_told_members_twice(patch: Patch) -> None:
    """A restarted instance is a member under both of its ids."""

    def restart(self: JoinAttempt, _old: ClassicMember, member_id: str) -> Any:
        return self._add(member_id)

    patch.setattr(JoinAttempt, "_restart", restart)


MUTANTS = by_name(
    older_ids_are_not_fenced,
    older_ids_stay_members,
    instances_are_lost_on_load,
    rebalance_timeouts_drop_static_members,
    refused_records_do_not_put_the_older_id_back,
    waiting_requests_of_older_ids_are_not_answered,
    commits_of_older_ids_are_accepted,
    some_commits_are_not_stored,
    old_assignments_are_given_to_new_members,
    restarts_are_rebalances,
    leaders_are_told_members_twice,
)

CAUGHT_BY: Mapping[str, int] = MappingProxyType({
    "waiting_requests_of_older_ids_are_not_answered": 401,
})  # fmt: skip
"""The seeds that catch defects which the first one does not see. They are tried first, and need not stay right."""
