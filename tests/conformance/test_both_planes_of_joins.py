"""Joins, sessions, compressions and large changelogs on both data planes of applications, compared record by record."""

from datetime import timedelta

import pytest

from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.streams import JoinWindows, SessionWindows, StreamsBuilder, serdes
from tests.conformance.test_both_planes import KEPT, START_MS, assert_equal, at_once, guarantees, lines
from tests.support.targets import Target
from tests.support.two_planes import Guarantee, Names, Program, Step, batches_of, names_of_both

pytestmark = pytest.mark.slow

HALF_HOUR = timedelta(minutes=30)


def sessions(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    windows = SessionWindows(timedelta(minutes=8), grace=timedelta(hours=1))
    counts = read.group_by_key().windowed_by(windows).count(store="counts", changelog=KEPT)
    counts.to_stream().to(names.output("out"), key=serdes.session_windowed(serdes.string), value=serdes.int64)


@at_once
@guarantees
async def test_counts_of_sessions(target: Target, guarantee: Guarantee) -> None:
    """With 7 keys, sessions grow: each record is one deleted session and a longer one."""
    given = [record for record in lines(300, 7) if record.timestamp_ms % 3_600_000 < 2_400_000]
    step = Step({"in": given}, {"out": 2 * len(given) - 7 * 5})
    written = await assert_equal(target, Program(sessions, [step], {"in": 1}, {"out": 2}), guarantee)
    assert any(row[1] is None for row in written["out"][0])


def joined_streams(builder: StreamsBuilder, names: Names) -> None:
    left, right = (
        builder.stream(names.input(name), key=serdes.string, value=serdes.string) for name in ("left", "right")
    )
    windows = JoinWindows(before=timedelta(minutes=3), after=timedelta(minutes=3), grace=timedelta(hours=1))
    pairs = left.join(right, lambda one, other: f"{one}+{other}", windows=windows, store="pairs", changelog=KEPT)
    pairs.to(names.output("out"), value=serdes.string)


@at_once
@guarantees
async def test_joined_streams(target: Target, guarantee: Guarantee) -> None:
    """Records of the same key are 2 minutes apart, and joined if they are at most 3 minutes apart."""
    given = {"left": lines(100, 2), "right": lines(100, 2)}
    program = Program(joined_streams, [Step(given, {"out": 100 + 2 * 98})], {"left": 1, "right": 1}, {"out": 2})
    await assert_equal(target, program, guarantee)


def enriched(builder: StreamsBuilder, names: Names) -> None:
    rows = builder.table(names.input("rows"), key=serdes.string, value=serdes.string, store="rows")
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    read.left_join(rows, lambda text, row: f"{text}+{row}").to(names.output("out"), value=serdes.string)


@at_once
@guarantees
async def test_a_stream_joined_with_a_table(target: Target, guarantee: Guarantee) -> None:
    rows = [
        NewRecord(b"row%d" % at if at % 3 else None, b"key%d" % (at % 7), START_MS + at * 120_000 + 30_000)
        for at in range(60)
    ]
    program = Program(
        enriched, [Step({"rows": rows, "in": lines(120, 7)}, {"out": 120})], {"in": 1, "rows": 1}, {"out": 2}
    )
    written = await assert_equal(target, program, guarantee)
    assert len({row[1] for rows in written["out"] for row in rows}) == 120


def globally_enriched(builder: StreamsBuilder, names: Names) -> None:
    rows = builder.global_table(names.input("rows"), key=serdes.string, value=serdes.string)
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    joined = read.left_join(rows, lambda text, row: f"{text}+{row}", on=lambda key, _: key)
    joined.to(names.output("out"), value=serdes.string)


@at_once
@guarantees
async def test_a_stream_joined_with_a_global_table(target: Target, guarantee: Guarantee) -> None:
    """The table is read whole before the first record of the stream."""
    rows = [NewRecord(b"row%d" % at if at % 7 else None, b"key%d" % (at % 9), START_MS + at) for at in range(60)]
    program = Program(
        globally_enriched, [Step({"rows": rows, "in": lines(120, 12)}, {"out": 120})], {"in": 1, "rows": 3}, {"out": 2}
    )
    written = await assert_equal(target, program, guarantee)
    assert {row[1].endswith(b"+None") for rows in written["out"] for row in rows if row[1]} == {True, False}


def joined_by_foreign_key(builder: StreamsBuilder, names: Names) -> None:
    left, right = (
        builder.table(names.input(name), key=serdes.string, value=serdes.string, store=name)
        for name in ("left", "right")
    )
    joined = left.join(right, lambda one, other: f"{one}+{other}", on=lambda _, text: text.split()[0], name="fk")
    joined.to_stream().to(names.output("out"), key=serdes.string, value=serdes.string)


@at_once
@guarantees
async def test_tables_joined_by_a_foreign_key(target: Target, guarantee: Guarantee) -> None:
    """The sides come one after the other, as nothing orders subscriptions and rows that arrive at the same time."""
    left = [NewRecord(b"r%d left%d" % (at % 5, at), b"l%d" % at, START_MS + at) for at in range(40)]
    right = [NewRecord(b"right%d" % at, b"r%d" % at, START_MS + 100 + at) for at in range(4)]
    changed = [NewRecord(b"changed", b"r1", START_MS + 200), NewRecord(None, b"r2", START_MS + 201)]
    registrations, responses, stored = (
        f"fk-subscription-{name}" for name in ("registration-topic", "response-topic", "store-changelog")
    )
    steps = [
        Step({"left": left}, {registrations: 40, stored: 40}),
        Step({"right": right}, {"out": 32, responses: 32}),
        Step({"right": changed}, {"out": 48, responses: 48}),
    ]
    program = Program(
        joined_by_foreign_key, steps, {"left": 1, "right": 1}, {"out": 2}, changelogs={stored: 40, "left-changelog": 40}
    )
    await assert_equal(target, program, guarantee)


def regrouped(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    rows = read.repartition(name="again").to_table(store="rows")
    rows.to_stream().to(names.output("out"), key=serdes.string, value=serdes.string)


@at_once
@guarantees
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_compressed_records(target: Target, guarantee: Guarantee, compression: str) -> None:
    given = [NewRecord(b"%d" % at * 50, b"key%d" % at, START_MS + at) for at in range(1_000)]
    program = Program(
        regrouped,
        [Step({"in": given}, {"out": 1_000, "again-repartition": 1_000})],
        config={"producer.compression.type": compression},
        changelogs={"rows-changelog": 1_000},
    )
    names = names_of_both()
    await assert_equal(target, program, guarantee, names)
    for its in names.values():
        for name in ("out", "again-repartition", "rows-changelog"):
            (headers,) = await batches_of(target, its.output(name))
            codecs = {each.compression.name.lower() for each in headers if not each.is_control}
            assert codecs == {compression}, (its.plane, name)


def kept_in_small_batches(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    rows = read.to_table(store="rows", changelog={"max.message.bytes": "20000"})
    rows.to_stream().to(names.output("out"), key=serdes.string, value=serdes.string)


SMALL_ROWS = Program(
    kept_in_small_batches,
    [Step({"in": [NewRecord(b"%d" % at * 200, b"key%d" % at, START_MS + at) for at in range(500)]}, {"out": 500})],
    of_librdkafka={"producer.batch.size": 10_000},
    changelogs={"rows-changelog": 500},
)
"""Our own engine splits batches of up to 128 KiB. librdkafka does not: its batches must be small to begin with."""


@at_once
@guarantees
async def test_changelog_batches_larger_than_the_topic_takes(target: Target, guarantee: Guarantee) -> None:
    await assert_equal(target, SMALL_ROWS, guarantee)


def copied_and_kept(builder: StreamsBuilder, names: Names) -> None:
    rows = builder.stream(names.input("in"), key=serdes.string, value=serdes.string).to_table(store="rows").to_stream()
    rows.to(names.output("out"), key=serdes.string, value=serdes.string)
    rows.to(names.output("copies"), key=serdes.string, value=serdes.string)


@at_once
async def test_what_a_transaction_holds(target: Target) -> None:
    """One transaction holds the records of all sinks and of the changelog; it ends when the application closes."""
    program = Program(
        copied_and_kept,
        [
            Step({"in": lines(500, 100)}, {"out": 500, "copies": 500}),
            Step({"in": lines(100, 100)}, {"out": 600, "copies": 600}),
        ],
        sinks={"out": 2, "copies": 1},
        config={"commit.interval.ms": 50_000, "producer.transaction.timeout.ms": 60_000},
        isolation_level=0,
        changelogs={"rows-changelog": 100},
    )
    names = names_of_both()
    await assert_equal(target, program, "exactly_once_v2", names)
    for its in names.values():
        logs = [log for name in program.totals for log in await batches_of(target, its.output(name))]
        assert len(logs) == 4
        assert all(each.is_transactional for log in logs for each in log)
        assert len({each.producer_id for log in logs for each in log}) == 1, its.plane
        assert [[each.is_control for each in log].index(True) for log in logs] == [len(log) - 1 for log in logs]
