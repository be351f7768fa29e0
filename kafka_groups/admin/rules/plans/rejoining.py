"""The members of a classic group, as they would join again now.

Brokers keep what members sent when they joined the last time, before they got their present tasks. So what they own
comes from their assignments, and what they sent then tells only how far the rest of their state is.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import evolve, frozen

from kafka_groups.admin.rules.classic_streams.classic_groups import DecodedClassicGroup, DecodedClassicMember
from kafka_groups.admin.rules.plans.plan_members import names_of_joining
from kafka_groups.admin.rules.plans.what_if import PlannedProcess
from kafka_groups.admin.rules.streams_leader.subscriptions import LedMember, Subscriptions, read_subscriptions
from kafka_groups.assignment import ProcessId, TaskInfo
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, UNKNOWN_OFFSET_SUM
from kafka_groups.protocol.streams_user_data.versions import FIRST_WITH_OFFSET_SUMS
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["KnownState", "is_settled", "rejoined", "with_processes"]

_NO_GENERATION: Final = -1


def is_settled(group: DecodedClassicGroup) -> bool:
    """Return whether nobody in a group is about to join again, as far as its assignments tell."""
    return all(each.assignment_info.next_rebalance_ms is None for each in group.members)


@frozen(kw_only=True)
class KnownState:
    """The state of tasks, as far as brokers know it.

    Attributes:
        tasks: The tasks.
        ends: The sum of the ends of the changelogs of each task with state; empty if they are not known.
        are_copies_complete: Whether copies lack nothing. In a group that waits for nothing, the leader saw that they
            had caught up, or did not need them.
    """

    tasks: Mapping[TaskId, TaskInfo]
    ends: Mapping[TaskId, int]
    are_copies_complete: bool

    def has_changelog(self, task: TaskId) -> bool:
        """Return whether a task has state."""
        return task in self.tasks and self.tasks[task].is_stateful

    def of_copy(self, task: TaskId, reported: int | None) -> int:
        """Return how far a copy is: at the end, or where it was when its member joined."""
        if self.are_copies_complete and task in self.ends:
            return self.ends[task]
        return 0 if reported is None or reported == RUNNING_TASK else reported


def rejoined(group: DecodedClassicGroup, leaving: Collection[str], state: KnownState) -> Subscriptions:
    """Return the members as they would join again without those that leave.

    The state of a thread that leaves stays in its process, if that has other threads.

    Args:
        group: The group.
        leaving: The ids of members that leave.
        state: The state of tasks.
    """
    known = read_subscriptions({each.member_id: each.metadata for each in group.members})
    by_id = {each.member_id: each for each in group.members}
    sums: dict[str, dict[TaskId, int]] = {}
    for members in known.processes.values():
        sums.update(_ProcessAgain([(each, by_id[each.member_id]) for each in members], leaving, state).sums())
    staying = {
        id_: evolve(member, owned_partitions=_owned(by_id[id_]), task_offset_sums=sums[id_])
        for id_, member in known.members.items()
        if id_ not in leaving
    }
    return evolve(known, members=staying)


def _owned(member: DecodedClassicMember) -> frozenset[TopicPartition]:
    return frozenset[TopicPartition]().union(*member.inputs.values())


class _ProcessAgain:
    """The members of a process. Each state is reported by one of them.

    Args:
        members: The members, as they joined and as they are.
        leaving: The ids of members that leave.
        state: The state of tasks.
    """

    def __init__(
        self,
        members: Sequence[tuple[LedMember, DecodedClassicMember]],
        leaving: Collection[str],
        state: KnownState,
    ) -> None:
        self._staying = [pair for pair in members if pair[0].member_id not in leaving]
        self._gone = [pair for pair in members if pair[0].member_id in leaving]
        self._state = state

    def sums(self) -> Iterator[tuple[str, dict[TaskId, int]]]:
        """Yield the sums that each member would report, by its id."""
        held = {task for _, now in self._staying for task in (*now.inputs, *now.standby_tasks)}
        left = {task: total for pair in self._gone for task, total in self._left(*pair)}
        for number, (before, now) in enumerate(self._staying):
            # Any thread may find the directories of one that has left, so the first one does.
            found = {**(left if number == 0 else {}), **_dormant(before)}
            rest = {task: total for task, total in found.items() if task not in held}
            yield before.member_id, {**rest, **dict(self._own(before, now))}

    def _own(self, before: LedMember, now: DecodedClassicMember) -> Iterator[tuple[TaskId, int]]:
        has_sums = now.info.version >= FIRST_WITH_OFFSET_SUMS
        for task in now.inputs:
            # Versions without sums tell all tasks that run, and the others only those with changelogs.
            if self._state.has_changelog(task) or not has_sums:
                yield task, RUNNING_TASK
        for task in now.standby_tasks:
            reported = before.task_offset_sums.get(task)
            yield task, self._state.of_copy(task, reported) if has_sums else UNKNOWN_OFFSET_SUM

    def _left(self, before: LedMember, now: DecodedClassicMember) -> Iterator[tuple[TaskId, int]]:
        """Yield the sums of the directories that a thread leaves."""
        yield from _dormant(before).items()
        for task in now.inputs:
            if task in self._state.ends:
                yield task, self._state.ends[task]
        for task in now.standby_tasks:
            yield task, self._state.of_copy(task, before.task_offset_sums.get(task))


def _dormant(member: LedMember) -> dict[TaskId, int]:
    # Of a task that ran then, and that the member has given up since, no number is known.
    return {task: total for task, total in member.task_offset_sums.items() if total != RUNNING_TASK}


# ----------------------------------------------------------------------------------------------- new processes


def with_processes(
    subscriptions: Subscriptions, processes: Iterable[PlannedProcess], topics: frozenset[str], taken: Collection[str]
) -> Subscriptions:
    """Return the members with those of processes that join, without state.

    Args:
        subscriptions: The members that stay.
        processes: The processes.
        topics: The topics that members read.
        taken: Ids of members and processes that the new ones must not have.
    """
    joining = {
        member_id: LedMember(
            member_id=member_id,
            process_id=ProcessId(name),
            topics=topics,
            owned_partitions=frozenset(),
            generation_id=_NO_GENERATION,
            rack_id=process.rack,
            client_tags=process.client_tags,
        )
        for member_id, name, process in names_of_joining(processes, taken)
    }
    return evolve(subscriptions, members={**subscriptions.members, **joining})
