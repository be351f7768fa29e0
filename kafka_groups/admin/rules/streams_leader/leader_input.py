"""The input of an assignment, from what the members of a classic group have sent."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from kafka_groups.admin.rules.endpoints import parsed_endpoint
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LeadingError
from kafka_groups.admin.rules.streams_leader.hand_over import inputs_of_tasks, readers_of
from kafka_groups.admin.rules.streams_leader.lags import ChangelogEnds, lags_of_processes
from kafka_groups.admin.rules.streams_leader.subscriptions import LedMember, Subscriptions
from kafka_groups.assignment import TaskInfo
from kafka_groups.assignment.application.neutral import ApplicationInput, MemberInput
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["EPOCH", "host_of", "leader_input", "rack_of"]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def leader_input(
    given: GroupRound,
    subscriptions: Subscriptions,
    tasks: Mapping[TaskId, TaskInfo],
    ends: ChangelogEnds,
    now_ms: int,
) -> ApplicationInput:
    """Return the input of an assignment.

    Args:
        given: The round.
        subscriptions: The members.
        tasks: The tasks.
        ends: The ends of their changelogs.
        now_ms: The time, in milliseconds since the epoch.

    Raises:
        LeadingError: A member's endpoint is not `host:port`.
    """
    processes = subscriptions.processes
    reports = {process_id: _reports(members) for process_id, members in processes.items()}
    stateful = [task for task, info in tasks.items() if info.is_stateful]
    readers = readers_of(inputs_of_tasks(tasks))
    return ApplicationInput(
        members={
            member.member_id: _member(member, members, readers, given.instance_ids.get(member.member_id))
            for members in processes.values()
            for member in members
        },
        tasks=tasks,
        configs=given.settings.assignment,
        now=EPOCH + timedelta(milliseconds=now_ms),
        lags=lambda: lags_of_processes(ends, reports, stateful),
    )


def _reports(members: Iterable[LedMember]) -> dict[TaskId, int]:
    # If two members of a process report the same task, the last one counts (ClientState.addPreviousTasksAndOffsetSums).
    return {task: offset for member in members for task, offset in member.task_offset_sums.items()}


def _member(
    member: LedMember,
    of_process: Sequence[LedMember],
    readers: Mapping[TopicPartition, TaskId],
    instance_id: str | None,
) -> MemberInput:
    # The endpoint and the tags are those of the member of its process that a leader in Java meets first.
    first = of_process[0]
    running = {task for task, offset in member.task_offset_sums.items() if offset == RUNNING_TASK}
    return MemberInput(
        process_id=member.process_id,
        active_tasks=frozenset(running.union(readers[each] for each in member.owned_partitions if each in readers)),
        task_offsets=member.task_offset_sums,
        # Only tasks that it reports count when tasks are spread over threads, and not those of its partitions
        # (ClientState.prevTasksByLag).
        previous_tasks=frozenset(member.task_offset_sums),
        topics=member.topics,
        owned_partitions=member.owned_partitions,
        instance_id=instance_id,
        generation_id=member.generation_id,
        user_data=member.user_data,
        rack_id=rack_of(of_process),
        host_info=host_of(first),
        client_tags=first.client_tags,
    )


def rack_of(of_process: Iterable[LedMember]) -> str | None:
    """Return the rack of a process. None if its members do not agree, or one of them has none."""
    # RackAwareTaskAssignor.validateClientRack wants all of them to have the same one.
    racks = {member.rack_id or None for member in of_process}
    return racks.pop() if len(racks) == 1 else None


def host_of(member: LedMember) -> tuple[str, int] | None:
    """Return the endpoint of a member.

    Raises:
        LeadingError: It is not `host:port`.
    """
    if member.user_endpoint is None:
        return None
    found = parsed_endpoint(member.user_endpoint)
    if found is None:
        raise LeadingError(
            f"The application.server of the group's member {member.member_id} is {member.user_endpoint!r}. It must be "
            "host:port."
        )
    return found
