"""The command `planning`: how long a plan of a classic group takes, beside its task assignor alone."""

import asyncio
import statistics
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from attrs import define, frozen

from kafka_groups.admin import PlannedProcess, StreamsPlan
from kafka_groups.admin.rules.plans.classic_plan import plan_of_classic_group
from kafka_groups.admin.rules.plans.classic_topology import topology_of
from kafka_groups.admin.rules.plans.what_if import checked_classic_what_if
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound
from kafka_groups.admin.rules.streams_leader.leading import ask_for_round
from kafka_groups.cli.output import table
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from tests.benchmarks.aims import Aim
from tests.benchmarks.led_groups import (
    NOW_MS,
    SUBTOPOLOGIES,
    THREADS,
    LeadingCase,
    assign,
    processor_seconds,
    settled_group,
    shown_settled_group,
)
from tests.benchmarks.output import console, finish, say
from tests.support.assignors.planned_groups import AnsweringGroup

K = TypeVar("K")
V = TypeVar("V")

_MOST: Final = 1.5


@frozen
class TimedPlan:
    """The seconds of processor time of one plan.

    Attributes:
        assignor_s: Those of the assignor alone, with as many members and tasks.
        plan_s: Those of the whole plan, without the answers to questions.
        moves: The tasks that move.
    """

    assignor_s: float
    plan_s: float
    moves: int

    @property
    def ratio(self) -> float:
        """The time of the plan, as a multiple of the assignor's."""
        return self.plan_s / self.assignor_s


@define
class _TimedAnswers:
    """A group that knows how long its answers took. What members have sent is read by the plan itself."""

    group: AnsweringGroup
    answering_s: float = 0.0

    async def __call__(self, question: Question[K, V]) -> Results[K, V]:
        """Answer a question."""
        if question.api is ApiKey.DESCRIBE_GROUPS:
            return await self.group(question)
        began = time.process_time()
        found = await self.group(question)
        self.answering_s += time.process_time() - began
        return found


@click.command()
@click.option("--members", type=click.IntRange(20), default=200, show_default=True)
@click.option("--tasks", type=click.IntRange(SUBTOPOLOGIES), default=2_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Medians are of these.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def planning(*, members: int, tasks: int, rounds: int, json_file: Path | None) -> None:
    """A plan that a tenth of the processes of a classic group joins, without the answers of brokers."""
    cases = [LeadingCase(members, tasks, standbys, has_hosts=False) for standbys in (0, 1)]
    measured = {case: [_timed(case, is_reversed=bool(number % 2)) for number in range(rounds)] for case in cases}
    console().print(_table(measured))
    finish({"planning": [_figures(case, taken) for case, taken in measured.items()]}, json_file)


def _timed(case: LeadingCase, *, is_reversed: bool) -> TimedPlan:
    given, topics = settled_group(case)
    asked = asyncio.run(ask_for_round(topics, topics, given))
    shown, answers = shown_settled_group(case)
    brokers = _TimedAnswers(AnsweringGroup(answers, shown))
    made: list[StreamsPlan] = []
    works: dict[str, Callable[[], None]] = {
        "assignor": lambda: assign(asked),
        "plan": lambda: made.append(_plan(case, given, brokers)),
    }
    # Both take turns, as what comes first may find colder caches.
    took = {name: processor_seconds(works[name]) for name in sorted(works, reverse=is_reversed)}
    found = TimedPlan(took["assignor"], took["plan"] - brokers.answering_s, len(made[0].moves))
    say(f"{case.name}: {found.assignor_s:.2f} s, {found.plan_s:.2f} s, {found.ratio:.2f}, {found.moves} moves")
    return found


def _plan(case: LeadingCase, given: GroupRound, brokers: _TimedAnswers) -> StreamsPlan:
    joining = [PlannedProcess(threads=THREADS)] * (case.members // 10 // THREADS)
    change = checked_classic_what_if(None, {"num.standby.replicas": case.standbys}, None, (), joining)
    now = datetime.fromtimestamp(NOW_MS / 1_000, UTC)
    group_id = given.settings.application_id
    return asyncio.run(plan_of_classic_group(brokers, group_id, topology_of(given.topology, group_id), change, now))


# ---------------------------------------------------------------------------------------------- the figures


def _aim(case: LeadingCase, taken: list[TimedPlan]) -> Aim:
    return Aim(case.name, statistics.median(each.ratio for each in taken), _MOST)


def _figures(case: LeadingCase, taken: list[TimedPlan]) -> dict[str, Any]:
    return {
        "members": case.members,
        "tasks": case.tasks,
        "standbys": case.standbys,
        "ratio": _aim(case, taken).figure,
        "assignor_s": [each.assignor_s for each in taken],
        "plan_s": [each.plan_s for each in taken],
        "moves": taken[0].moves,
    }


def _table(measured: Mapping[LeadingCase, list[TimedPlan]]) -> Any:
    rows = []
    for case, taken in measured.items():
        assignor, whole = (
            statistics.median(times) for times in zip(*((t.assignor_s, t.plan_s) for t in taken), strict=True)
        )
        name, *aim = _aim(case, taken).row()
        rows.append((name, f"{assignor:.2f}", f"{whole:.2f}", *aim, f"{taken[0].moves:,}"))
    headings = ("group", "assignor, s", "plan, s", "ratio", "aim", "met", "moves")
    return table("A plan of a classic group, seconds of one core", headings, rows)
