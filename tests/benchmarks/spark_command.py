"""The command `spark`: workers, source and drain against Spark's own, on a real Kafka."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from tests.benchmarks import spark_measures as measures
from tests.benchmarks import spark_report as report
from tests.benchmarks.brokers import running
from tests.benchmarks.output import console, finish, say
from tests.benchmarks.processes import produce
from tests.benchmarks.spark_environment import SPARK_VERSION, kafka_source_jars
from tests.benchmarks.spark_processes import spark_process
from tests.benchmarks.topics import TINY, new_topic

Measured = tuple[Any, Table]
"""For the file, and for people."""


def _throughput(bench: measures.Bench, rounds: int) -> Measured:
    pair = measures.throughput(bench, rounds)
    return report.throughput_as_json(pair), report.throughput_table(pair)


def _overhead(bench: measures.Bench, rounds: int) -> Measured:
    pairs = measures.overhead(bench, min(2, rounds))
    return report.overhead_as_json(pairs), report.overhead_table(pairs)


def _workers(bench: measures.Bench, _rounds: int) -> Measured:
    outcomes = measures.workers_by_batch(bench)
    return report.workers_as_json(outcomes), report.workers_table(outcomes)


def _source(bench: measures.Bench, _rounds: int) -> Measured:
    ceilings = measures.source_by_batch(bench)
    return report.source_as_json(ceilings), report.source_table(ceilings)


def _drain(bench: measures.Bench, rounds: int) -> Measured:
    topics = {}
    for records, partitions in measures.DRAINED.items():
        topics[records] = new_topic(bench.bootstrap_servers, partitions)
        produce(bench.bootstrap_servers, topics[records], measures.drained_records(records), "large", partitions)
    pairs = measures.drained(bench, topics, rounds)
    return report.drained_as_json(pairs), report.drained_table(pairs)


PARTS: Mapping[str, Callable[[measures.Bench, int], Measured]] = {
    "throughput": _throughput,
    "overhead": _overhead,
    "workers": _workers,
    "source": _source,
    "drain": _drain,
}


@click.command()
@click.option("--part", "parts", type=click.Choice(tuple(PARTS)), multiple=True, default=tuple(PARTS),
              show_default=True, help="May be given more than once.")  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(1), default=5, show_default=True, help="Of the two sides of throughput and drain."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures here.")
def spark(*, parts: Sequence[str], rounds: int, json_file: Path | None) -> None:
    """Share groups in PySpark against Spark's own Kafka source: some ten minutes on two cores.

    Needs Java 17 and Maven. The first run makes a virtual environment for PySpark (half a gigabyte).
    """
    began = time.monotonic()
    kafka_source_jars()
    measured: dict[str, Any] = {"pyspark": SPARK_VERSION}
    with running("kafka", measures.BROKER_PROPERTIES) as bootstrap_servers, spark_process() as process:
        topic, tiny_topic = new_topic(bootstrap_servers), new_topic(bootstrap_servers)
        produce(bootstrap_servers, topic, measures.RECORDS_NEEDED, "large")
        produce(bootstrap_servers, tiny_topic, measures.TINY_RECORDS_NEEDED, TINY)
        bench = measures.Bench(bootstrap_servers, topic, tiny_topic, process.outcome_of, say)
        for part in parts:
            measured[part], table = PARTS[part](bench, rounds)
            console().print(table)
    say(f"{time.monotonic() - began:.0f} s")
    finish({"spark": measured}, json_file)
