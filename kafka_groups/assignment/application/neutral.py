"""The input of an assignment, in one form for the coordinator of a streams group and for a plan."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache

from attrs import field, frozen

from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState, KafkaStreamsState
from kafka_groups.assignment.application.task_assignor import GroupSubscription, MemberSubscription
from kafka_groups.assignment.application.tasks import TaskInfo
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["ApplicationInput", "MemberInput", "application_state", "members_by_process", "subscription_of"]

Lags = Mapping[ProcessId, Mapping[TaskId, int]]


@frozen(kw_only=True)
class MemberInput:
    """A member of the group.

    Attributes:
        process_id: Its process.
        active_tasks: The active tasks that it has.
        standby_tasks: The tasks of which it has a copy.
        task_offsets: How far its state of each task is that it has reported, dormant tasks included: sums over the
            partitions of the changelogs.
        task_end_offsets: The ends of the changelogs that it has reported, as such sums.
        previous_tasks: The tasks of which it gets its share first when those of its process are spread over threads;
            None for all that it has.
        topics: The topics that it reads.
        owned_partitions: The source partitions that it has.
        instance_id: The id of a static member, or None.
        generation_id: The generation or epoch in which it is.
        rack_id: Its rack, or None.
        host_info: Its `application.server`, or None.
        client_tags: Its client tags.
        user_data: Bytes of a classic group.
    """

    process_id: ProcessId
    active_tasks: frozenset[TaskId] = frozenset()
    standby_tasks: frozenset[TaskId] = frozenset()
    task_offsets: Mapping[TaskId, int] = field(factory=dict)
    task_end_offsets: Mapping[TaskId, int] = field(factory=dict)
    previous_tasks: frozenset[TaskId] | None = None
    topics: frozenset[str] = frozenset()
    owned_partitions: frozenset[TopicPartition] = frozenset()
    instance_id: str | None = None
    generation_id: int = -1
    rack_id: str | None = None
    host_info: tuple[str, int] | None = None
    client_tags: Mapping[str, str] = field(factory=dict)
    user_data: bytes | None = None


@frozen(kw_only=True)
class ApplicationInput:
    """An application whose tasks need an assignment.

    Attributes:
        members: The members of its group, by id.
        tasks: The tasks, by id.
        configs: Its configuration.
        now: The time.
        lags: Returns how many changelog records each process lacks, for each task with a changelog.
    """

    members: Mapping[str, MemberInput]
    tasks: Mapping[TaskId, TaskInfo]
    configs: AssignmentConfigs
    now: datetime
    lags: Callable[[], Lags] = field(eq=False)


def application_state(given: ApplicationInput) -> ApplicationState:
    """Return what an assignor sees."""
    by_process = members_by_process(given)

    @cache  # asked for by the assignor, by the checks and for the threads
    def states(compute_task_lags: bool) -> Mapping[ProcessId, KafkaStreamsState]:  # noqa: FBT001 - called here only
        lags = given.lags() if compute_task_lags else None
        return {
            process_id: _process(given, process_id, members, None if lags is None else lags.get(process_id, {}))
            for process_id, members in by_process.items()
        }

    return ApplicationState(given.tasks, given.configs, given.now, states)


def members_by_process(given: ApplicationInput) -> dict[ProcessId, list[str]]:
    """Return the ids of the members of each process, sorted."""
    found: dict[ProcessId, list[str]] = {}
    for member_id in sorted(given.members):
        found.setdefault(given.members[member_id].process_id, []).append(member_id)
    return {process_id: found[process_id] for process_id in sorted(found)}


def subscription_of(given: ApplicationInput) -> GroupSubscription:
    """Return what the members have told, for the assignor's callback."""
    return GroupSubscription(
        {
            member_id: MemberSubscription(
                topics=member.topics,
                owned_partitions=member.owned_partitions,
                group_instance_id=member.instance_id,
                generation_id=member.generation_id,
                rack_id=member.rack_id,
                user_data=member.user_data,
            )
            for member_id, member in given.members.items()
        }
    )


def _process(
    given: ApplicationInput, process_id: ProcessId, member_ids: list[str], lags: Mapping[TaskId, int] | None
) -> KafkaStreamsState:
    members = [given.members[member_id] for member_id in member_ids]
    # All members of a process share these values by their configuration. If they do not, Kafka takes those of the
    # member that it meets first, which depends on a hash table; here it is the first by id.
    first = members[0]
    had = {id_: _previous(each, given) for id_, each in zip(member_ids, members, strict=True)}
    active = frozenset().union(*(each.active_tasks for each in members))
    return KafkaStreamsState(
        process_id=process_id,
        consumer_client_ids=member_ids,
        previous_active_tasks=active,
        # A member may have a copy of a task that another one runs, while the task moves between them. The process runs
        # it then.
        previous_standby_tasks=frozenset().union(*(_copies(each, given) for each in members)) - active,
        host_info=first.host_info,
        client_tags=first.client_tags,
        rack_id=first.rack_id,
        previous_by_consumer=had,
        lags=lags,
    )


def _previous(member: MemberInput, given: ApplicationInput) -> frozenset[TaskId]:
    if member.previous_tasks is not None:
        return member.previous_tasks
    return member.active_tasks | _copies(member, given)


def _copies(member: MemberInput, given: ApplicationInput) -> frozenset[TaskId]:
    """Return the tasks of which a member has state without running them: standby tasks, and dormant ones."""
    # StreamsPartitionAssignor does the same with the offset sums of classic members: what a process does not run and
    # has offsets of counts as a previous standby task (ClientState.initializeRemainingPrevTasksFromTaskOffsetSums).
    return member.standby_tasks | (member.task_offsets.keys() & given.tasks.keys())
