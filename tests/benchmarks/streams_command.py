"""The command `streams`: how fast streams groups rebalance, against Kafka Streams; and their heartbeats a second."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

import click

from kafka_groups.cli.output import table
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.benchmarks.brokers import embedded
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.rebalance_contenders import JavaInstances, PythonInstances
from tests.benchmarks.rebalances import MEASURES, TASKS, Rhythm, RunTimes, measured
from tests.benchmarks.streams_heartbeats import heartbeats
from tests.benchmarks.topics import new_topic
from tests.support.kafka_classpath import streams_classpath

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


@click.command()
@click.option("--part", "parts", type=click.Choice(_NAMES), multiple=True, default=_NAMES, show_default=True,
              help="May be given more than once.")  # fmt: skip
@click.option("--runs", type=click.IntRange(1), default=40, show_default=True, help="Medians are of these.")
@click.option("--lanes", type=click.IntRange(1), default=4, show_default=True, help="Groups that are measured at once.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the times at which members join and leave.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def streams(*, parts: Sequence[str], runs: int, lanes: int, seed: int, json_file: Path | None) -> None:
    """Streams groups: a member joins or leaves, with Kafka Streams and with ours; and the rate of heartbeats."""
    figures = {part: _PARTS[part](runs, lanes, seed) for part in parts}
    finish({"streams": figures}, json_file)


def _on_kafka(runs: int, lanes: int, seed: int) -> Any:
    with KafkaProcess(properties=dict.fromkeys(_OF_TESTS)) as kafka, tempfile.TemporaryDirectory() as directory:
        servers, topic = kafka.bootstrap_servers, new_topic(kafka.bootstrap_servers, TASKS)
        java = JavaInstances(servers, topic, Path(directory), streams_classpath())
        compared = _compare([java, PythonInstances(servers, topic)], runs, lanes, _DEFAULT_RHYTHM, seed)
        return _shown(f"Kafka {kafka.version} with its defaults, seconds", asyncio.run(compared))


def _on_embedded(runs: int, lanes: int, seed: int) -> Any:
    with embedded(settings=_QUICK) as broker:
        servers, topic = broker.bootstrap_servers, new_topic(broker.bootstrap_servers, TASKS)
        compared = _compare([PythonInstances(servers, topic)], runs, lanes, _QUICK_RHYTHM, seed)
        return _shown("embedded broker without delays, heartbeats of 200 ms, seconds", asyncio.run(compared))


def _heartbeats(runs: int, _lanes: int, _seed: int) -> Any:
    figures = asyncio.run(heartbeats(_MEMBERS, _CONNECTIONS, runs * _PER_RUN, say))
    rows = [(name, *(f"{figure:,.1f}" for figure in of.values())) for name, of in figures.items()]
    title = f"{_MEMBERS} members of a streams group over {_CONNECTIONS} connections"
    console().print(table(title, ("heartbeats", *next(iter(figures.values()))), rows))
    return figures


_PARTS: Final[Mapping[str, Callable[[int, int, int], Any]]] = dict(
    zip(_NAMES, (_on_kafka, _on_embedded, _heartbeats), strict=True)
)


async def _compare(
    contenders: Sequence[JavaInstances | PythonInstances], runs: int, lanes: int, rhythm: Rhythm, seed: int
) -> dict[str, RunTimes]:
    async with AsyncExitStack() as stack:
        for each in contenders:
            await stack.enter_async_context(each)
        return await measured(contenders, runs, lanes, rhythm, seed, say)


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
    if JavaInstances.name not in figures:
        return {}
    ours, theirs = figures[PythonInstances.name], figures[JavaInstances.name]
    return {measure: median(ours.seconds[measure]) / median(theirs.seconds[measure]) for measure in MEASURES}
