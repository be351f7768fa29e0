"""The command `leading`: how long the leader of a classic group takes for a round, beside its task assignor alone."""

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import click
from attrs import define, evolve, frozen

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, GroupTopology, Subtopology
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LeaderSettings, LedRound
from kafka_groups.admin.rules.streams_leader.leader_input import leader_input
from kafka_groups.admin.rules.streams_leader.leading import AskedRound, ask_for_round, led_round
from kafka_groups.assignment import AssignmentConfigs, HighAvailabilityTaskAssignor, Registered
from kafka_groups.assignment.application.assignor_run import computed
from kafka_groups.cli.output import table
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.streams_user_data.assignment_info import decode_assignment
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TaskId, TopicPartition
from tests.benchmarks.aims import Aim
from tests.benchmarks.output import console, finish, say
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.support.assignors.leader_cases import ToldMember

K = TypeVar("K")
V = TypeVar("V")

_THREADS: Final = 2
_SUBTOPOLOGIES: Final = 10
_END: Final = 1_000_000
_NOW_MS: Final = 1_800_000_000_000
_MOST_WITHOUT_HOSTS, _MOST_WITH_HOSTS = 1.5, 1.6


@frozen
class LeadingCase:
    """A group whose round is measured.

    Attributes:
        members: The members, in processes of two threads.
        tasks: The tasks, all with state.
        standbys: The copies of each task.
        has_hosts: Whether each process has an endpoint.
    """

    members: int
    tasks: int
    standbys: int
    has_hosts: bool

    @property
    def name(self) -> str:
        """The case, in words."""
        hosts = f"{self.members // _THREADS} endpoints" if self.has_hosts else "no endpoints"
        return f"{self.members} members, {self.tasks:,} tasks, {self.standbys} standby tasks of each, {hosts}"


@frozen
class TimedRound:
    """The seconds of processor time of one round.

    Attributes:
        assignor_s: Those of the assignor alone, with the same input.
        round_s: Those of the whole round, without the answers to questions.
        assignment_bytes: The size of an assignment, on average.
    """

    assignor_s: float
    round_s: float
    assignment_bytes: int

    @property
    def ratio(self) -> float:
        """The time of the round, as a multiple of the assignor's."""
        return self.round_s / self.assignor_s


@define
class _TimedTopics(AnsweringTopics):
    """Topics that know how long they took to answer."""

    answering_s: float = 0.0

    async def __call__(self, question: Question[K, V]) -> Results[K, V]:
        """Answer a question."""
        began = time.process_time()
        # The class by name, as `super()` does not find it in a class that attrs has made anew.
        found = await AnsweringTopics.__call__(self, question)
        self.answering_s += time.process_time() - began
        return found


@click.command()
@click.option("--members", type=click.IntRange(4), default=200, show_default=True)
@click.option("--tasks", type=click.IntRange(_SUBTOPOLOGIES), default=2_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Medians are of these.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def leading(*, members: int, tasks: int, rounds: int, json_file: Path | None) -> None:
    """A round of a classic group of which a tenth of the processes has just started, without the answers of brokers."""
    cases = [LeadingCase(members, tasks, standbys, has_hosts) for has_hosts in (False, True) for standbys in (0, 1)]
    measured = {case: [_timed(case, is_reversed=bool(number % 2)) for number in range(rounds)] for case in cases}
    console().print(_table(measured))
    finish({"leading": [_figures(case, taken) for case, taken in measured.items()]}, json_file)


def _timed(case: LeadingCase, *, is_reversed: bool) -> TimedRound:
    given, topics = _settled(case)
    asked = asyncio.run(ask_for_round(topics, topics, given))
    timed = _TimedTopics(topics.counts, topics.ends)
    done: list[LedRound] = []
    works: dict[str, Callable[[], None]] = {
        "assignor": lambda: _assign(asked),
        "round": lambda: done.append(_lead(given, timed)),
    }
    # Both take turns, as what comes first may find colder caches.
    took = {name: _seconds(works[name]) for name in sorted(works, reverse=is_reversed)}
    found = TimedRound(took["assignor"], took["round"] - timed.answering_s, done[0].size_bytes // case.members)
    say(f"{case.name}: {found.assignor_s:.2f} s, {found.round_s:.2f} s, {found.ratio:.2f}")
    return found


def _seconds(work: Callable[[], None]) -> float:
    gc.collect()
    gc.freeze()  # so that the collector looks at what the leader makes, and not at everything that was there before
    began = time.process_time()
    work()
    took = time.process_time() - began
    gc.unfreeze()
    return took


def _assign(asked: AskedRound) -> None:
    given = leader_input(asked.given, asked.subscriptions, asked.tasks, asked.ends, _NOW_MS)
    computed(Registered(HighAvailabilityTaskAssignor), given)


def _lead(given: GroupRound, topics: AnsweringTopics) -> LedRound:
    return led_round(asyncio.run(ask_for_round(topics, topics, given)), _NOW_MS)


# ----------------------------------------------------------------------------------------------- the group


def _settled(case: LeadingCase) -> tuple[GroupRound, AnsweringTopics]:
    """Return a group that runs its tasks, but for a tenth of its processes, which have just started."""
    topology = _topology()
    partitions = case.tasks // _SUBTOPOLOGIES
    counts = {name: partitions for number in range(_SUBTOPOLOGIES) for name in (_source(number), _changelog(number))}
    ends = {_changelog(number): (_END,) * partitions for number in range(_SUBTOPOLOGIES)}
    topics = AnsweringTopics(counts, ends)
    members = list(_members(case))
    old = members[: case.members - case.members // 10]
    first = led_round(asyncio.run(ask_for_round(topics, topics, _round(case, topology, old))), _NOW_MS)
    running = [_running(member, first.assignments[member.member_id]) for member in old]
    return _round(case, topology, [*running, *members[len(old) :]]), topics


def _topology() -> GroupTopology:
    return GroupTopology(
        tuple(
            Subtopology(
                subtopology_id=str(number),
                source_topics=(_source(number),),
                changelogs=(ChangelogTopic(_changelog(number)),),
            )
            for number in range(_SUBTOPOLOGIES)
        )
    )


def _source(number: int) -> str:
    return f"source-{number}"


def _changelog(number: int) -> str:
    return f"app-store-{number}-changelog"


def _members(case: LeadingCase) -> Iterator[ToldMember]:
    rng = random.Random(case.members)
    for process in range(case.members // _THREADS):
        process_id = UUID(int=rng.getrandbits(128))
        for thread in range(1, _THREADS + 1):
            yield ToldMember(
                member_id=f"app-{process_id}-StreamThread-{thread}-consumer",
                process_id=process_id,
                endpoint=f"host-{process}.example.com:8080" if case.has_hosts else None,
            )


def _round(case: LeadingCase, topology: GroupTopology, members: list[ToldMember]) -> GroupRound:
    configs = AssignmentConfigs(num_standby_replicas=case.standbys)
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


# ---------------------------------------------------------------------------------------------- the figures


def _aim(case: LeadingCase, taken: list[TimedRound]) -> Aim:
    limit = _MOST_WITH_HOSTS if case.has_hosts else _MOST_WITHOUT_HOSTS
    return Aim(case.name, statistics.median(each.ratio for each in taken), limit)


def _figures(case: LeadingCase, taken: list[TimedRound]) -> dict[str, Any]:
    return {
        "members": case.members,
        "tasks": case.tasks,
        "standbys": case.standbys,
        "has_hosts": case.has_hosts,
        "ratio": _aim(case, taken).figure,
        "assignor_s": [each.assignor_s for each in taken],
        "round_s": [each.round_s for each in taken],
        "assignment_bytes": taken[0].assignment_bytes,
    }


def _table(measured: Mapping[LeadingCase, list[TimedRound]]) -> Any:
    rows = []
    for case, taken in measured.items():
        assignor, whole = (
            statistics.median(times) for times in zip(*((t.assignor_s, t.round_s) for t in taken), strict=True)
        )
        name, *aim = _aim(case, taken).row()
        rows.append((name, f"{assignor:.2f}", f"{whole:.2f}", *aim, f"{taken[0].assignment_bytes:,}"))
    headings = ("group", "assignor, s", "round, s", "ratio", "aim", "met", "bytes of an assignment")
    return table("Leading a round, seconds of one core", headings, rows)
