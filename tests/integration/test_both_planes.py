"""The same programs on librdkafka's data plane and on our own engine write the same topics, record by record."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal

import pytest
from attrs import frozen

from kafka_groups.streams import KafkaStreams, SourceRecord, StreamsBuilder, TimeWindows, serdes
from kafka_groups.streams.workers.data_plane import DATA_PLANE
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster, ProducedRecord
from kafka_groups.types import Headers
from tests.support.conditions import wait_until

pytestmark = pytest.mark.slow

Guarantee = Literal["at_least_once", "exactly_once_v2"]
GUARANTEES: tuple[Guarantee, ...] = ("at_least_once", "exactly_once_v2")
TEXT = serdes.string
PLANES = ("librdkafka", "engine")
RECORDS = 400
BEGIN_MS = 1_700_000_000_000


@frozen
class Written:
    """A record of a topic."""

    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None
    headers: Headers


def at_offset(record: SourceRecord, _partition_time_ms: int) -> int:
    """A time that is the same in each run."""
    return BEGIN_MS + 100 * record.offset


def source(builder: StreamsBuilder) -> Any:
    return builder.stream("in", key=TEXT, value=TEXT, timestamp=at_offset)


def mapped(builder: StreamsBuilder) -> None:
    source(builder).map_values(lambda value: None if value.endswith("7") else value * 3, value=TEXT).to("out")


def repartitioned(builder: StreamsBuilder) -> None:
    words = source(builder).map(lambda key, value: (f"{key}-{value}", value), key=TEXT, value=TEXT)
    words.group_by_key().count(store="counts", caching=False).to_stream().to("out", key=TEXT, value=serdes.int64)


def counted_in_windows(builder: StreamsBuilder) -> None:
    windows = TimeWindows(timedelta(seconds=2), grace=timedelta(hours=1))
    counts = source(builder).group_by_key().windowed_by(windows).count(store="counts", caching=False)
    named = counts.to_stream().map(lambda key, count: (f"{key.key}@{key.window.start_ms}", count))
    named.to("out", key=TEXT, value=serdes.int64)


def joined_by_foreign_key(builder: StreamsBuilder) -> None:
    numbers = builder.table("in", key=TEXT, value=TEXT, timestamp=at_offset, caching=False)
    names = builder.table("names", key=TEXT, value=TEXT, timestamp=at_offset, caching=False)
    joined = numbers.join(names, lambda number, name: f"{number} {name}", on=lambda key, _: key[-1], value=TEXT)
    joined.to_stream().to("out")


def topics_of(
    plane: str,
    build: Callable[[StreamsBuilder], None],
    guarantee: Guarantee,
    is_complete: Callable[[list[ProducedRecord]], bool],
) -> list[Written]:
    """Run an application until its output is complete, and return that."""
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        # One partition has all names, as the cluster hashes keys as librdkafka does, and a join asks where Java would.
        for topic, partitions in (("in", 2), ("names", 1), ("out", 2)):
            cluster.create_topic(topic, partitions, configs={"retention.ms": "-1"})  # the records are old
        keys = [f"k{number % 37}" for number in range(RECORDS)]
        cluster.produce("in", [str(number) for number in range(RECORDS)], keys=keys, headers=[("h", b"1")])
        cluster.produce("names", [f"name{number}" for number in range(10)], keys=map(str, range(10)))
        builder = StreamsBuilder()
        build(builder)
        with KafkaStreams(
            builder.build(),
            {DATA_PLANE: plane, "producer.linger.ms": 3},
            application_id="app",
            bootstrap_servers=cluster.bootstrap_servers,
            commit_interval_ms=100,
            processing_guarantee=guarantee,
        ):
            wait_until(lambda: is_complete(cluster.records("out")), 60, lambda: cluster.records("out"))
        return [
            Written(each.partition, each.key, each.value, each.timestamp_ms, each.headers)
            for each in cluster.records("out")
        ]


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("build", [mapped, repartitioned, counted_in_windows])
def test_both_planes_write_the_same(build: Callable[[StreamsBuilder], None], guarantee: Guarantee) -> None:
    theirs, ours = (topics_of(plane, build, guarantee, lambda found: len(found) >= RECORDS) for plane in PLANES)
    assert len(ours) == RECORDS
    assert by_key(ours) == by_key(theirs)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_foreign_key_join_has_the_same_rows_in_the_end(guarantee: Guarantee) -> None:
    """Which rows come before depends on how its four topics interleave."""
    rows = {f"k{number % 37}".encode(): f"{number} name{number % 37 % 10}".encode() for number in range(RECORDS)}

    def is_complete(found: list[ProducedRecord]) -> bool:
        return {each.key: each.value for each in found} == rows

    assert topics_of("engine", joined_by_foreign_key, guarantee, is_complete)


def by_key(records: list[Written]) -> dict[tuple[int, bytes | None], list[Written]]:
    """Return the records of each key in their order. Records of two partitions may come in any order."""
    found: dict[tuple[int, bytes | None], list[Written]] = {}
    for each in records:
        found.setdefault((each.partition, each.key), []).append(each)
    return found
