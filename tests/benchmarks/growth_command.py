"""The command `growth`: how a round of a classic group grows with the group, and what it holds and encodes."""

import asyncio
import gc
import statistics
import tracemalloc
from collections import deque
from pathlib import Path
from typing import Any, Final

import click
from attrs import evolve

from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LedRound
from kafka_groups.admin.rules.streams_leader.leading import AskedRound, ask_for_round, led_round
from kafka_groups.assignment import Registered, StickyTaskAssignor
from kafka_groups.cli.output import table
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from tests.benchmarks.aims import Aim
from tests.benchmarks.led_groups import NOW_MS, SUBTOPOLOGIES, LeadingCase, assign, processor_seconds, settled_group
from tests.benchmarks.output import console, finish, say
from tests.support.assignors.answered_questions import AnsweringTopics

_TIMES: Final = 5
"""A large group has so many times more members and tasks."""
_MOST_TIMES_LONGER: Final = 40.0
_MOST_BYTES_HELD: Final = 3.0
_MOST_TO_ENCODE: Final = 2.0


@click.command()
@click.option("--members", type=click.IntRange(4), default=200, show_default=True)
@click.option("--tasks", type=click.IntRange(SUBTOPOLOGIES), default=2_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Medians are of these.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def growth(*, members: int, tasks: int, rounds: int, json_file: Path | None) -> None:
    """A round of a classic group five times as large, the memory of a round, and what all its endpoints cost."""
    case = LeadingCase(members, tasks, standbys=0, has_hosts=False)
    with_hosts = evolve(case, has_hosts=True)
    found = [_longer(case, rounds), _held(with_hosts), _to_encode(with_hosts, rounds)]
    console().print(
        table("A round of a classic group", ("what", "figure", "aim", "met"), [each.row() for each in found])
    )
    finish({"growth": [_figures(each) for each in found]}, json_file)
    if not all(each.is_met for each in found):
        raise click.ClickException("a figure is not what it should be")


def _figures(aim: Aim) -> dict[str, Any]:
    return {"name": aim.name, "figure": aim.figure, "limit": aim.limit}


# ---------------------------------------------------------------------------------------- how a round grows


def _longer(case: LeadingCase, rounds: int) -> Aim:
    large = evolve(case, members=_TIMES * case.members, tasks=_TIMES * case.tasks)
    ratios = []
    for _ in range(rounds):
        small_s, large_s = (_seconds_of(each) for each in (case, large))
        say(f"sticky: {small_s:.2f} s and {large_s:.2f} s")
        ratios.append(large_s / small_s)
    name = (
        f"sticky, {large.members:,} members, {large.tasks:,} tasks, as a multiple of {case.members:,}, {case.tasks:,}"
    )
    return Aim(name, statistics.median(ratios), _MOST_TIMES_LONGER)


def _seconds_of(case: LeadingCase) -> float:
    given, topics = settled_group(case)
    sticky = Registered.of_application(StickyTaskAssignor, StickyTaskAssignor.__name__, {})
    asked = _asked(evolve(given, settings=evolve(given.settings, assignor=sticky)), topics)
    return processor_seconds(lambda: _drop(led_round(asked, NOW_MS)))


def _asked(given: GroupRound, topics: AnsweringTopics) -> AskedRound:
    return asyncio.run(ask_for_round(topics, topics, given))


def _drop(_done: LedRound) -> None:
    """Forget a round."""


# ------------------------------------------------------------------------------------ what it holds and encodes


def _held(case: LeadingCase) -> Aim:
    """Measure the most memory that a round holds beside its assignor alone, as a multiple of the bytes sent."""
    given, topics = settled_group(case)
    asked, done = _asked(given, topics), []
    alone = _most_bytes(lambda: assign(asked))
    whole = _most_bytes(lambda: done.append(led_round(asked, NOW_MS)))
    name = f"memory of a round beside its assignor, {case.members // 2} endpoints, as a multiple of the bytes sent"
    return Aim(name, max(0, whole - alone) / done[0].size_bytes, _MOST_BYTES_HELD)


def _most_bytes(work: Any) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _to_encode(case: LeadingCase, rounds: int) -> Aim:
    """Measure how long it takes to encode the assignments of all members, which share their endpoints."""
    done = led_round(_asked(*settled_group(case)), NOW_MS)
    read = [ConsumerProtocolAssignment.decode(data) for data in done.assignments.values()]
    infos = [decode_assignment(each.user_data) for each in read]
    ratios = []
    for _ in range(rounds):
        one_s, all_s = _encoding_seconds(infos[:1]), _encoding_seconds(infos)
        say(f"encoding: {one_s * 1_000:.2f} ms and {all_s * 1_000:.2f} ms")
        ratios.append(all_s / one_s)
    name = f"encoding {len(infos):,} assignments with {case.members // 2} endpoints, as a multiple of one"
    return Aim(name, statistics.median(ratios), _MOST_TO_ENCODE)


def _encoding_seconds(infos: list[AssignmentInfo]) -> float:
    # What is encoded once is kept with the maps, so these are new ones.
    maps = evolve(infos[0].host_maps)
    new = [evolve(each, host_maps=maps) for each in infos]
    return processor_seconds(lambda: deque((each.encode() for each in new), maxlen=0).clear())
