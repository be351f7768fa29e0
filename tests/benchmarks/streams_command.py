"""The command `streams`: how fast streams groups rebalance, against Kafka Streams; and their heartbeats a second."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
from attrs import frozen

from kafka_groups.cli.output import table
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.benchmarks.brokers import FULL_SPEED, embedded
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.rebalance_instances import (
    JAVA,
    OURS,
    ProcessInstances,
    RebalanceProgram,
    java_program,
    our_program,
)
from tests.benchmarks.rebalances import MEASURES, TASKS, Rhythm, RunTimes, measured
from tests.benchmarks.streams_heartbeats import heartbeats
from tests.benchmarks.topics import new_topic

_OF_TESTS: Final = (
    "group.streams.initial.rebalance.delay.ms",
    "group.streams.min.session.timeout.ms",
    "group.streams.min.heartbeat.interval.ms",
)
"""What a Kafka for tests has other values for. Here it has its own defaults."""
_QUICK: Final = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.min.heartbeat.interval.ms": "200",
    "group.streams.heartbeat.interval.ms": "200",
}
_DEFAULT_RHYTHM: Final = Rhythm(rest_s=3, interval_s=5)
_QUICK_RHYTHM: Final = Rhythm(rest_s=2.5, interval_s=0.2)
_MEMBERS, _CONNECTIONS, _PER_RUN = 100, 10, 500
_NAMES: Final = ("kafka", "embedded", "heartbeats")


@frozen
class Extent:
    """How much is measured, and how."""

    runs: int
    lanes: int
    seed: int
    warm: bool


@click.command()
@click.option("--part", "parts", type=click.Choice(_NAMES), multiple=True, default=_NAMES, show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--runs", type=click.IntRange(1), default=40, show_default=True, help="Medians are of these.")
@click.option("--lanes", type=click.IntRange(1), default=4, show_default=True, help="Groups that are measured at once.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the times at which members join and leave.")
@click.option("--warm", is_flag=True, help="All instances of one client share a process that has warmed up.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def streams(*, parts: Sequence[str], runs: int, lanes: int, seed: int, warm: bool, json_file: Path | None) -> None:
    """Streams groups: a member joins or leaves, with Kafka Streams and with ours; and the rate of heartbeats."""
    extent = Extent(runs, lanes, seed, warm)
    figures = {part: _PARTS[part](extent) for part in parts}
    finish({"streams": figures}, json_file)


def _on_kafka(extent: Extent) -> Any:
    with (
        KafkaProcess(properties=dict.fromkeys(_OF_TESTS), java_options=FULL_SPEED) as kafka,
        tempfile.TemporaryDirectory() as directory,
    ):
        programs = [java_program(Path(directory)), our_program()]
        compared = _compare(programs, kafka.bootstrap_servers, _DEFAULT_RHYTHM, Path(directory), extent)
        return _shown(f"Kafka {kafka.version} with its defaults, seconds", asyncio.run(compared))


def _on_embedded(extent: Extent) -> Any:
    with embedded(settings=_QUICK) as broker, tempfile.TemporaryDirectory() as directory:
        compared = _compare([our_program()], broker.bootstrap_servers, _QUICK_RHYTHM, Path(directory), extent)
        return _shown("embedded broker without delays, heartbeats of 200 ms, seconds", asyncio.run(compared))


def _heartbeats(extent: Extent) -> Any:
    figures = asyncio.run(heartbeats(_MEMBERS, _CONNECTIONS, extent.runs * _PER_RUN, say))
    rows = [(name, *(f"{figure:,.1f}" for figure in of.values())) for name, of in figures.items()]
    title = f"{_MEMBERS} members of a streams group over {_CONNECTIONS} connections"
    console().print(table(title, ("heartbeats", *next(iter(figures.values()))), rows))
    return figures


_PARTS: Final[Mapping[str, Callable[[Extent], Any]]] = dict(
    zip(_NAMES, (_on_kafka, _on_embedded, _heartbeats), strict=True)
)


async def _compare(
    programs: Sequence[RebalanceProgram], servers: str, rhythm: Rhythm, directory: Path, extent: Extent
) -> dict[str, RunTimes]:
    topic = new_topic(servers, TASKS)
    async with AsyncExitStack() as stack:
        contenders = [ProcessInstances(each, servers, topic, directory, warm=extent.warm) for each in programs]
        for each in contenders:
            await stack.enter_async_context(each)
        return await measured(contenders, extent.runs, extent.lanes, rhythm, extent.seed, say)


def _shown(title: str, figures: Mapping[str, RunTimes]) -> dict[str, Any]:
    rows = [_row(measure, name, of) for measure in MEASURES for name, of in figures.items()]
    console().print(table(title, ("measure, contender", "runs", "lower quartile", "median", "upper quartile"), rows))
    ratios = _ratios(figures)
    for measure, ratio in ratios.items():
        console().print(f"{measure}, medians: {ratio:.2f} of Kafka Streams")
    return {"seconds": {name: of.seconds for name, of in figures.items()}, "ratios": ratios}


def _row(measure: str, name: str, figures: RunTimes) -> tuple[str, ...]:
    quartiles = (f"{each:.2f}" for each in figures.quartiles(measure))
    return f"{measure}, {name}", str(len(figures.seconds[measure])), *quartiles


def _ratios(figures: Mapping[str, RunTimes]) -> dict[str, float]:
    """Our medians in parts of those of Kafka Streams, if that was measured, too."""
    if JAVA not in figures:
        return {}
    ours, theirs = figures[OURS], figures[JAVA]
    return {measure: median(ours.seconds[measure]) / median(theirs.seconds[measure]) for measure in MEASURES}
