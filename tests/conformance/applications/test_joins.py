"""Joins of streams and tables in applications: their topics hold what is computed without a data plane."""

from datetime import timedelta

import pytest

from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.streams import JoinWindows, StreamsBuilder, serdes
from tests.support.application_programs import Guarantee, Names, Program, Step, also_on_older_kafkas, guarantees
from tests.support.compared_programs import START_MS, UNLIMITED, assert_right, lines
from tests.support.targets import Target

pytestmark = pytest.mark.slow


def joined_streams(builder: StreamsBuilder, names: Names) -> None:
    left, right = (
        builder.stream(names.input(name), key=serdes.string, value=serdes.string) for name in ("left", "right")
    )
    windows = JoinWindows(before=timedelta(minutes=3), after=timedelta(minutes=3), grace=timedelta(hours=1))
    pairs = left.join(right, lambda one, other: f"{one}+{other}", windows=windows, store="pairs", changelog=UNLIMITED)
    pairs.to(names.output("out"), value=serdes.string)


@also_on_older_kafkas
@guarantees
async def test_joined_streams(target: Target, guarantee: Guarantee) -> None:
    """Records of the same key are 2 minutes apart, and joined if they are at most 3 minutes apart."""
    given = {"left": lines(100, 2), "right": lines(100, 2)}
    program = Program(joined_streams, [Step(given, {"out": 100 + 2 * 98})], {"left": 1, "right": 1}, {"out": 2})
    await assert_right(target, program, guarantee)


def enriched(builder: StreamsBuilder, names: Names) -> None:
    rows = builder.table(names.input("rows"), key=serdes.string, value=serdes.string, store="rows")
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    read.left_join(rows, lambda text, row: f"{text}+{row}").to(names.output("out"), value=serdes.string)


@also_on_older_kafkas
@guarantees
async def test_a_stream_joined_with_a_table(target: Target, guarantee: Guarantee) -> None:
    rows = [
        NewRecord(b"row%d" % at if at % 3 else None, b"key%d" % (at % 7), START_MS + at * 120_000 + 30_000)
        for at in range(60)
    ]
    program = Program(
        enriched, [Step({"rows": rows, "in": lines(120, 7)}, {"out": 120})], {"in": 1, "rows": 1}, {"out": 2}
    )
    written = await assert_right(target, program, guarantee)
    assert len({row[1] for rows in written["out"] for row in rows}) == 120


def globally_enriched(builder: StreamsBuilder, names: Names) -> None:
    rows = builder.global_table(names.input("rows"), key=serdes.string, value=serdes.string)
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    joined = read.left_join(rows, lambda text, row: f"{text}+{row}", on=lambda key, _: key)
    joined.to(names.output("out"), value=serdes.string)


@also_on_older_kafkas
@guarantees
async def test_a_stream_joined_with_a_global_table(target: Target, guarantee: Guarantee) -> None:
    """The table is read whole before the first record of the stream."""
    rows = [NewRecord(b"row%d" % at if at % 7 else None, b"key%d" % (at % 9), START_MS + at) for at in range(60)]
    program = Program(
        globally_enriched,
        [Step({"rows": rows, "in": lines(120, 12)}, {"out": 120})],
        {"in": 1, "rows": 3},
        {"out": 2},
        frozenset({"rows"}),
    )
    written = await assert_right(target, program, guarantee)
    assert {row[1].endswith(b"+None") for rows in written["out"] for row in rows if row[1]} == {True, False}


def joined_by_foreign_key(builder: StreamsBuilder, names: Names) -> None:
    left, right = (
        builder.table(names.input(name), key=serdes.string, value=serdes.string, store=name)
        for name in ("left", "right")
    )
    joined = left.join(right, lambda one, other: f"{one}+{other}", on=lambda _, text: text.split()[0], name="fk")
    joined.to_stream().to(names.output("out"), key=serdes.string, value=serdes.string)


@also_on_older_kafkas
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
    await assert_right(target, program, guarantee)
