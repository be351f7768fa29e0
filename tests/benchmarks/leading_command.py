"""The command `leading`: how long the leader of a classic group takes for a round, beside its task assignor alone."""

import asyncio
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click
from attrs import frozen

from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LedRound
from kafka_groups.admin.rules.streams_leader.leading import ask_for_round, led_round
from kafka_groups.assignment import RackAwareStrategy
from kafka_groups.cli.output import table
from tests.benchmarks.aims import Aim
from tests.benchmarks.leading_limits import leading_limits
from tests.benchmarks.led_groups import (
    NOW_MS,
    SUBTOPOLOGIES,
    LeadingCase,
    TimedTopics,
    assign,
    processor_seconds,
    settled_group,
)
from tests.benchmarks.output import console, finish, say
from tests.support.assignors.answered_questions import AnsweringTopics

_MOST_WITHOUT_HOSTS, _MOST_WITH_HOSTS, _MOST_WITH_RACKS = 1.5, 1.6, 1.2
_LIMITS: Final = ("ratio", "figure", "aim", "met")
_FEWER: Final = 4
"""Groups for whose tasks racks count have so many times fewer members and tasks, as they take longer."""


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


@click.command()
@click.option("--members", type=click.IntRange(4), default=200, show_default=True)
@click.option("--tasks", type=click.IntRange(SUBTOPOLOGIES), default=2_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Medians are of these.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def leading(*, members: int, tasks: int, rounds: int, json_file: Path | None) -> None:
    """A round of a classic group of which a tenth of the processes has just started, without the answers of brokers."""
    cases = [LeadingCase(members, tasks, standbys, has_hosts) for has_hosts in (False, True) for standbys in (0, 1)]
    fewer = members // _FEWER, tasks // _FEWER
    cases += [LeadingCase(*fewer, each, has_hosts=False, strategy=RackAwareStrategy.MIN_TRAFFIC) for each in (0, 1)]
    measured = {case: [_timed(case, is_reversed=bool(number % 2)) for number in range(rounds)] for case in cases}
    console().print(_table(measured))
    limits = list(leading_limits(members, tasks, rounds))
    console().print(table("Rounds of larger groups, and with endpoints", _LIMITS, [each.row() for each in limits]))
    figures = {
        "leading": [_figures(case, taken) for case, taken in measured.items()],
        "limits": {each.name: each.figure for each in limits},
    }
    finish(figures, json_file)


def _timed(case: LeadingCase, *, is_reversed: bool) -> TimedRound:
    given, topics = settled_group(case)
    asked = asyncio.run(ask_for_round(topics, topics, given))
    timed = TimedTopics(topics.counts, topics.ends, {}, topics.racks, topics.replicas)
    done: list[LedRound] = []
    works: dict[str, Callable[[], None]] = {
        "assignor": lambda: assign(asked),
        "round": lambda: done.append(_lead(given, timed)),
    }
    # Both take turns, as what comes first may find colder caches.
    took = {name: processor_seconds(works[name]) for name in sorted(works, reverse=is_reversed)}
    found = TimedRound(took["assignor"], took["round"] - timed.answering_s, done[0].size_bytes // case.members)
    say(f"{case.name}: {found.assignor_s:.2f} s, {found.round_s:.2f} s, {found.ratio:.2f}")
    return found


def _lead(given: GroupRound, topics: AnsweringTopics) -> LedRound:
    return led_round(asyncio.run(ask_for_round(topics, topics, given)), NOW_MS)


# ---------------------------------------------------------------------------------------------- the figures


def _aim(case: LeadingCase, taken: list[TimedRound]) -> Aim:
    limit = _MOST_WITH_HOSTS if case.has_hosts else _MOST_WITHOUT_HOSTS
    if case.strategy is not RackAwareStrategy.NONE:
        limit = _MOST_WITH_RACKS
    return Aim(case.name, statistics.median(each.ratio for each in taken), limit)


def _figures(case: LeadingCase, taken: list[TimedRound]) -> dict[str, Any]:
    return {
        "members": case.members,
        "tasks": case.tasks,
        "standbys": case.standbys,
        "has_hosts": case.has_hosts,
        "strategy": case.strategy.value,
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
