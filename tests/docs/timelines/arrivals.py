"""Draws records in the order in which they arrive, and the results that each brings."""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from attrs import frozen

from kafka_groups import serdes
from kafka_groups.serdes import Serde
from kafka_groups.streams import KStream, StreamsBuilder, Topology
from kafka_groups.testing.topology_driver import TopologyTestDriver
from tests.docs.timelines.drawing import MINUTE_MS, Bar, Drawing, Row

__all__ = ["Arrival", "Brought", "Build", "brought_by", "drawn"]

K = TypeVar("K")

Arrival = tuple[str, str, str | None, float]
"""Topic, key, value and minute of a record."""

Build = Callable[[StreamsBuilder], KStream[str, str]]


@frozen
class Brought(Generic[K]):
    """The results that a record brings.

    Attributes:
        records: Keys and values.
        is_dropped: Whether a node dropped the record.
    """

    records: Sequence[tuple[K, str | None]]
    is_dropped: bool

    def shown(self, shown: Callable[[K, str], str]) -> str:
        """Return the results as text."""
        texts = [shown(key, "null" if value is None else value) for key, value in self.records]
        return ", ".join(texts) or ("dropped" if self.is_dropped else "-")


def drawn(
    minutes: int, arrivals: Sequence[Arrival], builds: Mapping[str, Build], bars: Mapping[int, Bar] | None = None
) -> str:
    """Draw records and their results.

    Args:
        minutes: The last minute of the axis.
        arrivals: The records.
        builds: The words above the results, and what makes them.
        bars: The spans of time of records, by their numbers.
    """
    columns = [_results(build, arrivals) for build in builds.values()]
    shows_keys = len({key for _, key, _, _ in arrivals}) > 1
    rows = []
    for number, (topic, key, value, minute) in enumerate(arrivals):
        name = f"{topic} {key}" if shows_keys else topic
        bar = None if bars is None else bars.get(number)
        found = [column[number].shown(_with_key if shows_keys else _alone) for column in columns]
        rows.append(Row(name, [(minute, "null" if value is None else value)], bar, found))
    return Drawing(minutes, rows, list(builds)).text()


def _with_key(key: str, value: str) -> str:
    return f"{key}: {value}"


def _alone(_key: str, value: str) -> str:
    return value


def _results(build: Build, arrivals: Sequence[Arrival]) -> list[Brought[str]]:
    builder = StreamsBuilder()
    build(builder).to("results", value=serdes.string)
    return brought_by(builder.build(), arrivals, serdes.string)


def brought_by(topology: Topology, arrivals: Sequence[Arrival], key_serde: Serde[K]) -> list[Brought[K]]:
    """Return what each record brings in the topic `results`."""
    brought = []
    with TopologyTestDriver(topology) as driver:
        output = driver.output_topic("results", key_serde, serdes.string)
        for topic, key, value, minute in arrivals:
            before = sum(driver.dropped_records.values())
            pipe = driver.input_topic(topic, serdes.string, serdes.string).pipe
            pipe(key, value, timestamp_ms=round(minute * MINUTE_MS))
            is_dropped = sum(driver.dropped_records.values()) > before
            brought.append(Brought([(record.key, record.value) for record in output.read_all()], is_dropped))
    return brought
