"""Runs records of files through a topology, and prints its results as lines of JSON."""

import sys
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import chain, islice

import click

from kafka_groups.cli.imports import place_of, told
from kafka_groups.cli.topologies.input_options import InputOptions, source_topics
from kafka_groups.cli.topologies.input_records import InputRecord
from kafka_groups.cli.topologies.loading import load_topology
from kafka_groups.cli.topologies.ordering import InputFile, merged
from kafka_groups.cli.topologies.output_lines import OutputLines
from kafka_groups.errors.texts import text_of
from kafka_groups.serdes import bytes_
from kafka_groups.streams import Topology
from kafka_groups.streams.topology.nodes import SinkNode
from kafka_groups.testing.topology_driver import CapturedRecord, TestInputTopic, TopologyTestDriver

__all__ = ["run_trial"]

_APPLICATION_ID = "try"


def run_trial(build: str, given: InputOptions, *, keep_order: bool) -> None:
    """Print what a topology writes, given its name and the records of files.

    Raises:
        click.ClickException: A line is refused, or the topology fails.
    """
    topology = load_topology(build)
    files = given.open(topology.graph)
    _tell_of_silent_topics(topology, {file.topic for file in files})
    try:
        for line in _lines(topology, merged(files, keep_order=keep_order)):
            sys.stdout.write(f"{line}\n")
    finally:
        sys.stdout.flush()


def _tell_of_silent_topics(topology: Topology, given: set[str]) -> None:
    """Say which topics stay empty, as joins with them find nothing."""
    written = {node.topic for node in topology.graph.nodes.values() if isinstance(node, SinkNode)}
    if silent := sorted(source_topics(topology.graph).keys() - given - written):
        click.echo(f"No --input for: {', '.join(silent)}", err=True)


def _lines(topology: Topology, records: Iterator[tuple[InputFile, InputRecord]]) -> Iterator[str]:
    output, written = OutputLines(topology.graph, _APPLICATION_ID), list[CapturedRecord]()
    first = list(islice(records, 1))
    wall_ms = max([0, *(record.timestamp_ms for _, record in first)])
    with _driver(topology, wall_ms, written) as driver:
        for _ in _piped(driver, wall_ms, chain(first, records)):
            yield from (line for line in map(output.line, written) if line is not None)
            written.clear()
        for node, count in driver.dropped_records.items():
            click.echo(f"Records dropped by {node}: {count}", err=True)


def _driver(topology: Topology, wall_ms: int, written: list[CapturedRecord]) -> TopologyTestDriver:
    try:
        return TopologyTestDriver(topology, application_id=_APPLICATION_ID, wall_ms=wall_ms, on_record=written.append)
    except Exception as error:  # the user's stores and processors may raise anything when they are made
        raise click.ClickException(f"The topology cannot start: {told(error)}") from error


def _piped(
    driver: TopologyTestDriver, wall_ms: int, records: Iterable[tuple[InputFile, InputRecord]]
) -> Iterator[None]:
    """Pipe the records one by one. The wall clock shows the highest time so far."""
    topics: dict[str, TestInputTopic[bytes, bytes]] = {}
    for file, record in records:
        topic = topics.get(file.topic) or topics.setdefault(file.topic, driver.input_topic(file.topic, bytes_, bytes_))
        try:
            if record.timestamp_ms > wall_ms:
                driver.advance_wall_clock(timedelta(milliseconds=record.timestamp_ms - wall_ms))
                wall_ms = record.timestamp_ms
            topic.pipe(record.key, record.value, timestamp_ms=record.timestamp_ms, headers=record.headers)
        except Exception as error:  # the topology is the user's, and may raise anything
            raise click.ClickException(f"{file.path}:{record.line}: {text_of(error)}{place_of(error)}") from error
        yield
