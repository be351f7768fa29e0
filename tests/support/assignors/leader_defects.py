"""Defects planted on purpose in the leader of classic groups: the comparison with Java's leader must show each."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from kafka_groups.admin.rules.streams_leader import assignments, follow_up_times, lags, leader_input, leading
from kafka_groups.admin.rules.streams_leader.assignments import host_maps
from kafka_groups.admin.rules.streams_leader.hand_over import _Process, hand_over
from kafka_groups.admin.rules.streams_leader.subscriptions import LedMember, Subscriptions, read_subscriptions
from kafka_groups.assignment.application.task_assignor import AssignedMember
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.protocol.streams_user_data.versions import LATEST_VERSION
from kafka_groups.types import TaskId, TopicPartition
from tests.support.planted_defects import Patch, by_name

__all__ = ["LEADER_DEFECTS"]


def the_version_is_never_lowered(patch: Patch) -> None:
    """Assignments are in the leader's version."""
    _change_subscriptions(patch, lambda found: evolve(found, version=LATEST_VERSION))


def members_agree_on_the_leaders_version(patch: Patch) -> None:
    """Members are told a version that not all of them know."""
    _change_subscriptions(patch, lambda found: evolve(found, common_version=LATEST_VERSION))


def members_are_in_the_order_of_their_ids(patch: Patch) -> None:
    """If two threads of a process contradict each other, the one with the larger id counts."""
    _change_subscriptions(patch, lambda found: evolve(found, members=dict(sorted(found.members.items()))))


def _change_subscriptions(patch: Patch, change: Callable[[Subscriptions], Subscriptions]) -> None:
    patch.setattr(leading, "read_subscriptions", lambda members: change(read_subscriptions(members)))


def owned_tasks_count_for_threads(patch: Patch) -> None:
    """Tasks of owned partitions count when tasks are spread over threads, and not those that a member reports."""
    made = leader_input._member

    def without(member: LedMember, *more: Any) -> Any:
        return evolve(made(member, *more), previous_tasks=None)

    patch.setattr(leader_input, "_member", without)


def running_tasks_lack_what_is_unknown(patch: Patch) -> None:
    """A task that runs has no state."""
    lag = lags._lag
    patch.setattr(lags, "_lag", lambda offset, end: lag(None if offset == RUNNING_TASK else offset, end))


def positions_beyond_the_end_are_caught_up(patch: Patch) -> None:
    """A position beyond the end of a changelog lacks nothing."""
    lag = lags._lag
    patch.setattr(lags, "_lag", lambda offset, end: lag(offset if not offset or not end else min(offset, end), end))


def claims_of_others_do_not_count(patch: Patch) -> None:
    """A task goes to its new owner at once."""
    patch.setattr(_Process, "_is_elsewhere", lambda _self, _task, _member_id: False)


def threads_of_a_process_take_tasks_at_once(patch: Patch) -> None:
    """A task moves between the threads of a process in one round."""

    def elsewhere(self: _Process, task: TaskId, _member_id: str) -> bool:
        return any(each in self._claimed and each not in self._owners for each in self._inputs[task])

    patch.setattr(_Process, "_is_elsewhere", elsewhere)


def copies_are_given_up_while_a_task_is_on_its_way(patch: Patch) -> None:
    """The new owner of a task throws its copy away."""
    made = _Process.__init__

    def without(self: _Process, *given: Any) -> None:
        made(self, *given)
        self._copies = set()

    patch.setattr(_Process, "__init__", without)


def the_smallest_process_gets_the_deadline(patch: Patch) -> None:
    """The deadline goes to the process to which the assignor gives it."""
    patch.setattr(follow_up_times, "_OF_LEADERS", ())


def hosts_show_what_members_have_now(patch: Patch) -> None:
    """Host maps leave out tasks on their way."""
    target: dict[str, AssignedMember] = {}

    def noted(*given: Any) -> Any:
        found = hand_over(*given)
        nothing = frozenset[TopicPartition]()
        target.clear()
        target.update(
            {
                id_: AssignedMember(frozenset(each.active), frozenset(each.standby), nothing)
                for id_, each in found.items()
            }
        )
        return found

    patch.setattr(leading, "hand_over", noted)
    patch.setattr(leading, "host_maps", lambda members, _target, inputs: host_maps(members, target, inputs))


def tasks_are_in_the_order_of_their_ids(patch: Patch) -> None:
    """The n-th task does not belong to the n-th partition."""

    def ordered(*, active_tasks: tuple[TaskId, ...] = (), **more: Any) -> Any:
        return AssignmentInfo(active_tasks=tuple(sorted(active_tasks)), **more)

    patch.setattr(assignments, "AssignmentInfo", ordered)


def offsets_of_sources_are_those_of_their_ends(patch: Patch) -> None:
    """A source topic that is a changelog has no committed offsets."""

    async def nothing(_ask: Any, _group_id: str, sources: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(sources, 10**9)

    patch.setattr(lags, "_committed", nothing)


LEADER_DEFECTS = by_name(
    the_version_is_never_lowered,
    members_agree_on_the_leaders_version,
    members_are_in_the_order_of_their_ids,
    owned_tasks_count_for_threads,
    running_tasks_lack_what_is_unknown,
    positions_beyond_the_end_are_caught_up,
    claims_of_others_do_not_count,
    threads_of_a_process_take_tasks_at_once,
    copies_are_given_up_while_a_task_is_on_its_way,
    the_smallest_process_gets_the_deadline,
    hosts_show_what_members_have_now,
    tasks_are_in_the_order_of_their_ids,
    offsets_of_sources_are_those_of_their_ends,
)
