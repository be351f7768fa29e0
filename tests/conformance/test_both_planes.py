"""One program on both data planes of applications: what they write is equal, record by record.

librdkafka cannot write the time 0, so its plane writes 1 ms. Records without a key may go to any partition. All else
must be equal: keys, values, times, headers and the order in each partition, in sinks and in internal topics.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta

import pytest

from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.streams import StreamsBuilder, TimeWindows, serdes
from kafka_groups.streams.topology.records import Record
from tests.support.targets import Target, over_tcp_with
from tests.support.two_planes import (
    ENGINE,
    GUARANTEES,
    LIBRDKAFKA,
    Guarantee,
    Log,
    Names,
    Program,
    Row,
    Step,
    on_both_planes,
)

pytestmark = pytest.mark.slow

at_once = over_tcp_with({
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.heartbeat.interval.ms": "200",
})  # fmt: skip
guarantees = pytest.mark.parametrize("guarantee", GUARANTEES)
HOUR_MS = 3_600_000
KEPT = {"retention.ms": "-1"}
"""For changelogs of windows: a real Kafka deletes records that are older than the windows' retention."""

START_MS = 1_700_000_000_000 // HOUR_MS * HOUR_MS


def lines(count: int, keys: int) -> list[NewRecord]:
    """Records of some keys in turn, a minute from each to the next; each has a time of its own."""
    return [
        NewRecord(b"text %d" % at, b"key%d" % (at % keys), START_MS + at * 60_000, [("at", b"%d" % at)])
        for at in range(count)
    ]


def as_librdkafka_writes(log: Log) -> Log:
    """Return a log with the times that librdkafka can write."""
    return [[(key, value, time_ms or 1, headers) for key, value, time_ms, headers in rows] for rows in log]


async def assert_equal(
    target: Target, program: Program, guarantee: Guarantee, names: Mapping[str, Names] | None = None
) -> dict[str, Log]:
    """Run a program on both planes, and compare all topics. Return those of our own engine."""
    found = await on_both_planes(target, program, guarantee, names)
    for name, count in program.totals.items():
        assert sum(map(len, found[ENGINE][name])) == count, name
        assert found[LIBRDKAFKA][name] == as_librdkafka_writes(found[ENGINE][name]), name
    return found[ENGINE]


def copying(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.bytes_, value=serdes.bytes_)
    read.to(names.output("out"))


def changing(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    read.map(lambda key, text: (f"{key}!", text.upper())).to(
        names.output("out"), key=serdes.string, value=serdes.string
    )


@at_once
@guarantees
async def test_mapped_records(target: Target, guarantee: Guarantee) -> None:
    given = lines(200, 17)
    program = Program(changing, [Step({"in": given}, {"out": 200})], {"in": 1}, {"out": 3})
    written = await assert_equal(target, program, guarantee)
    keys = {row[0] for rows in written["out"] for row in rows}
    assert keys == {f"key{at}!".encode() for at in range(17)}


@at_once
@guarantees
async def test_unique_keys(target: Target, guarantee: Guarantee) -> None:
    program = Program(changing, [Step({"in": lines(5_000, 5_000)}, {"out": 5_000})], {"in": 1}, {"out": 4})
    await assert_equal(target, program, guarantee)


def counting(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    windows = TimeWindows(timedelta(minutes=30), grace=timedelta(hours=1))
    counts = read.group_by_key().windowed_by(windows).count(store="counts", changelog=KEPT)
    counts.to_stream().to(
        names.output("out"), key=serdes.time_windowed(serdes.string, timedelta(minutes=30)), value=serdes.int64
    )


@at_once
@guarantees
async def test_windowed_counts(target: Target, guarantee: Guarantee) -> None:
    program = Program(
        counting,
        [Step({"in": lines(300, 7)}, {"out": 300})],
        {"in": 1},
        {"out": 2},
        changelogs={"counts-changelog": 70},
    )
    await assert_equal(target, program, guarantee)


def regrouping(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    counts = read.group_by(lambda _, text: text[-1], key=serdes.string, value=serdes.string, name="last").count(
        store="counts"
    )
    counts.to_stream().to(names.output("out"), key=serdes.string, value=serdes.int64)


@at_once
@guarantees
async def test_repartitioned_records(target: Target, guarantee: Guarantee) -> None:
    awaited = {"out": 300, "last-repartition": 300}
    logs = {"counts-changelog": 10}
    program = Program(regrouping, [Step({"in": lines(300, 7)}, awaited)], {"in": 1}, {"out": 2}, changelogs=logs)
    await assert_equal(target, program, guarantee)


HEADERS: list[tuple[tuple[str, bytes | None], ...]] = [
    (),
    (("", b""),),
    (("name", None),),
    (("twice", b"1"), ("twice", b"2"), ("other", b"\0\xff")),
    (("grün", "schön".encode()),),
    tuple((f"h{at}", b"x" * at) for at in range(100)),
]


def with_more_headers(record: Record[bytes, bytes]) -> Iterable[Record[bytes, bytes]]:
    yield record.with_headers(*record.headers, ("more", b"m"))


def adding_headers(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.bytes_, value=serdes.bytes_)
    read.process(with_more_headers).to(names.output("out"), key=serdes.bytes_, value=serdes.bytes_)


@at_once
@guarantees
async def test_headers(target: Target, guarantee: Guarantee) -> None:
    given = [NewRecord(b"v", b"k", START_MS + at, headers) for at, headers in enumerate(HEADERS)]
    program = Program(adding_headers, [Step({"in": given}, {"out": len(given)})])
    written = await assert_equal(target, program, guarantee)
    assert [row[3] for row in written["out"][0]] == [(*headers, ("more", b"m")) for headers in HEADERS]


def as_table(builder: StreamsBuilder, names: Names) -> None:
    builder.stream(names.input("in"), key=serdes.string, value=serdes.string).to_table(store="rows").to_stream().to(
        names.output("out"), key=serdes.string, value=serdes.string
    )


@at_once
@guarantees
async def test_tombstones(target: Target, guarantee: Guarantee) -> None:
    given = [
        NewRecord(value, b"key%d" % (at % 3), START_MS + at) for at, value in enumerate([b"a", None, b"b", b""] * 6)
    ]
    program = Program(as_table, [Step({"in": given}, {"out": 24})], changelogs={"rows-changelog": 3})
    written = await assert_equal(target, program, guarantee)
    assert {row[1] is None for row in written["out"][0]} == {True, False}


@at_once
@guarantees
async def test_records_without_keys(target: Target, guarantee: Guarantee) -> None:
    """Into one partition in order; of several, each record goes to any."""
    given = [NewRecord(b"%d" % at, None if at % 2 else b"", START_MS + at) for at in range(40)]
    one = Program(copying, [Step({"in": given}, {"out": 40})])
    await assert_equal(target, one, guarantee)
    several = Program(copying, [Step({"in": given}, {"out": 40})], {"in": 1}, {"out": 3})
    found = await on_both_planes(target, several, guarantee)
    assert keyed(found[ENGINE]["out"]) == keyed(found[LIBRDKAFKA]["out"])
    assert unkeyed(found[ENGINE]["out"]) == unkeyed(found[LIBRDKAFKA]["out"])
    assert [row[1] for row in unkeyed(found[ENGINE]["out"])] == [b"%d" % at for at in range(1, 40, 2)]


def keyed(log: Log) -> Log:
    """Return the records that have a key, by partition."""
    return [[row for row in rows if row[0] is not None] for rows in log]


def unkeyed(log: Log) -> list[Row]:
    """Return the records without a key, by time."""
    return sorted((row for rows in log for row in rows if row[0] is None), key=lambda row: row[2])


def copying_and_counting(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string).repartition(name="again")
    read.to(names.output("copies"))
    windows = TimeWindows(timedelta(minutes=30), grace=timedelta(hours=1))
    counts = read.group_by_key().windowed_by(windows).count(store="counts", changelog=KEPT).to_stream()
    counts.to(names.output("out"), key=serdes.time_windowed(serdes.string, timedelta(minutes=30)), value=serdes.int64)


@at_once
@guarantees
async def test_the_time_0(target: Target, guarantee: Guarantee) -> None:
    """librdkafka's plane writes 1 ms, into repartition topics and changelogs, too. Windows begin at 0 with both."""
    times = [0, 5] * 5 + [0] * 5
    given = [NewRecord(b"text %d" % at, b"k%d" % (at // 10), time_ms) for at, time_ms in enumerate(times)]
    awaited = {"out": 15, "copies": 15, "again-repartition": 15}
    sinks = {"out": 1, "copies": 1}
    logs = {"counts-changelog": 2}
    program = Program(copying_and_counting, [Step({"in": given}, awaited)], {"in": 1}, sinks, changelogs=logs)
    ours = await assert_equal(target, program, guarantee)
    assert [row[2] for row in ours["copies"][0]] == times
    assert [row[2] for row in ours["again-repartition"][0]] == times
    assert [row[2] for row in ours["counts-changelog"][0]] == [5, 0]
