"""Groups of streams applications whose rounds and plans are measured, without brokers."""

import asyncio
import gc
import random
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar
from uuid import UUID

from attrs import define, evolve, frozen

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, GroupTopology, Subtopology
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LeaderSettings, LedRound
from kafka_groups.admin.rules.streams_leader.leader_input import leader_input
from kafka_groups.admin.rules.streams_leader.leading import AskedRound, ask_for_round, led_round
from kafka_groups.assignment import AssignmentConfigs, HighAvailabilityTaskAssignor, RackAwareStrategy, Registered
from kafka_groups.assignment.application.assignor_run import computed
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponseGroup
from kafka_groups.protocol.streams_user_data.assignment_info import decode_assignment
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.support.assignors.leader_cases import ToldMember
from tests.support.members.shown_classic_groups import shown_group, shown_member

__all__ = [
    "NOW_MS",
    "SUBTOPOLOGIES",
    "THREADS",
    "LeadingCase",
    "TimedTopics",
    "assign",
    "processor_seconds",
    "settled_group",
    "shown_settled_group",
]

K = TypeVar("K")
V = TypeVar("V")

THREADS: Final = 2
SUBTOPOLOGIES: Final = 10
_RACKS: Final = 3
_END: Final = 1_000_000
NOW_MS: Final = 1_800_000_000_000


@frozen
class LeadingCase:
    """A group whose round is measured.

    Attributes:
        members: The members, in processes of two threads.
        tasks: The tasks, all with state.
        standbys: The copies of each task.
        has_hosts: Whether each process has an endpoint.
        strategy: What racks count for. Members and replicas are in three racks.
    """

    members: int
    tasks: int
    standbys: int
    has_hosts: bool
    strategy: RackAwareStrategy = RackAwareStrategy.NONE

    @property
    def name(self) -> str:
        """The case, in words."""
        hosts = f"{self.members // THREADS} endpoints" if self.has_hosts else "no endpoints"
        more = "" if self.strategy is RackAwareStrategy.NONE else f", {self.strategy.value}"
        return f"{self.members} members, {self.tasks:,} tasks, {self.standbys} standby tasks of each, {hosts}{more}"


@define
class TimedTopics(AnsweringTopics):
    """Topics that know how long they took to answer."""

    answering_s: float = 0.0

    async def __call__(self, question: Question[K, V]) -> Results[K, V]:
        """Answer a question."""
        began = time.process_time()
        # The class by name, as `super()` does not find it in a class that attrs has made anew.
        found = await AnsweringTopics.__call__(self, question)
        self.answering_s += time.process_time() - began
        return found


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the seconds of processor time that some work takes."""
    gc.collect()
    gc.freeze()  # so that the collector looks at what the leader makes, and not at everything that was there before
    began = time.process_time()
    work()
    took = time.process_time() - began
    gc.unfreeze()
    return took


def assign(asked: AskedRound) -> None:
    """Have the default assignor alone assign the tasks of a round."""
    given = leader_input(asked.given, asked.subscriptions, asked.tasks, asked.ends, NOW_MS)
    computed(Registered(HighAvailabilityTaskAssignor), given)


# ----------------------------------------------------------------------------------------------- the group


def settled_group(case: LeadingCase) -> tuple[GroupRound, AnsweringTopics]:
    """Return a group that runs its tasks, but for a tenth of its processes, which have just started."""
    topology, topics = _topology(), _topics(case)
    members = list(_members(case))
    old = members[: case.members - case.members // 10]
    first = _led(_round(case, topology, old), topics)
    running = [_running(member, first.assignments[member.member_id]) for member in old]
    return _round(case, topology, [*running, *members[len(old) :]]), topics


def shown_settled_group(case: LeadingCase) -> tuple[DescribeGroupsResponseGroup, AnsweringTopics]:
    """Return the group as brokers describe it before that tenth of its processes has started."""
    topology, topics = _topology(), _topics(case)
    old = list(_members(case))[: case.members - case.members // 10]
    first = _led(_round(case, topology, old), topics)
    running = _round(case, topology, [_running(member, first.assignments[member.member_id]) for member in old])
    second = _led(running, topics)
    members = [
        shown_member(member_id=id_, member_metadata=metadata, member_assignment=second.assignments[id_])
        for id_, metadata in running.members.items()
    ]
    return shown_group(*members), topics


def _led(given: GroupRound, topics: AnsweringTopics) -> LedRound:
    return led_round(asyncio.run(ask_for_round(topics, topics, given)), NOW_MS)


def _topics(case: LeadingCase) -> AnsweringTopics:
    partitions = case.tasks // SUBTOPOLOGIES
    counts = {name: partitions for number in range(SUBTOPOLOGIES) for name in (_source(number), _changelog(number))}
    ends = {_changelog(number): (_END,) * partitions for number in range(SUBTOPOLOGIES)}
    places = (TopicPartition(name, number) for name in counts for number in range(partitions))
    replicas = {place: (at % _RACKS,) for at, place in enumerate(places)}
    return AnsweringTopics(counts, ends, {}, {node: f"rack-{node}" for node in range(_RACKS)}, replicas)


def _topology() -> GroupTopology:
    return GroupTopology(
        tuple(
            Subtopology(
                subtopology_id=str(number),
                source_topics=(_source(number),),
                changelogs=(ChangelogTopic(_changelog(number)),),
            )
            for number in range(SUBTOPOLOGIES)
        )
    )


def _source(number: int) -> str:
    return f"source-{number}"


def _changelog(number: int) -> str:
    return f"app-store-{number}-changelog"


def _members(case: LeadingCase) -> Iterator[ToldMember]:
    rng = random.Random(case.members)
    for process in range(case.members // THREADS):
        process_id = UUID(int=rng.getrandbits(128))
        for thread in range(1, THREADS + 1):
            yield ToldMember(
                member_id=f"app-{process_id}-StreamThread-{thread}-consumer",
                process_id=process_id,
                rack=f"rack-{process % _RACKS}",
                endpoint=f"host-{process}.example.com:8080" if case.has_hosts else None,
            )


def _round(case: LeadingCase, topology: GroupTopology, members: list[ToldMember]) -> GroupRound:
    configs = AssignmentConfigs(num_standby_replicas=case.standbys, rack_aware_assignment_strategy=case.strategy)
    return GroupRound(
        generation=1,
        member_id=members[0].member_id,
        members={each.member_id: each.subscription(topology.source_topics) for each in members},
        topology=topology,
        settings=LeaderSettings(application_id="app", assignment=configs),
    )


def _running(member: ToldMember, data: bytes) -> ToldMember:
    assignment = ConsumerProtocolAssignment.decode(data)
    info = decode_assignment(assignment.user_data)
    owned = {
        TopicPartition(topic, each) for topic, numbers in assignment.assigned_partitions.items() for each in numbers
    }
    sums: dict[TaskId, int] = dict.fromkeys(info.active_tasks, RUNNING_TASK)
    sums |= {task: _END for task, _ in info.standby_tasks}
    return evolve(member, owned=frozenset(owned), sums=tuple(sums.items()))
