"""Counts, tables and repartition topics of applications: they hold what is computed without a data plane."""

from datetime import timedelta

import pytest

from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.streams import SessionWindows, StreamsBuilder, TimeWindows, serdes
from tests.support.application_programs import Guarantee, Names, Program, Step, also_on_older_kafkas, guarantees
from tests.support.compared_programs import START_MS, UNLIMITED, assert_right, lines
from tests.support.targets import Target

pytestmark = pytest.mark.slow


def counting(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    windows = TimeWindows(timedelta(minutes=30), grace=timedelta(hours=1))
    counts = read.group_by_key().windowed_by(windows).count(store="counts", changelog=UNLIMITED)
    counts.to_stream().to(
        names.output("out"), key=serdes.time_windowed(serdes.string, timedelta(minutes=30)), value=serdes.int64
    )


@also_on_older_kafkas
@guarantees
@pytest.mark.parametrize("partitions", [1, 2])
async def test_windowed_counts(target: Target, guarantee: Guarantee, partitions: int) -> None:
    program = Program(
        counting,
        [Step({"in": lines(300, 7)}, {"out": 300})],
        {"in": partitions},
        {"out": 2},
        changelogs={"counts-changelog": 70},
    )
    await assert_right(target, program, guarantee)


def sessions(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    windows = SessionWindows(timedelta(minutes=8), grace=timedelta(hours=1))
    counts = read.group_by_key().windowed_by(windows).count(store="counts", changelog=UNLIMITED)
    counts.to_stream().to(names.output("out"), key=serdes.session_windowed(serdes.string), value=serdes.int64)


@also_on_older_kafkas
@guarantees
async def test_counts_of_sessions(target: Target, guarantee: Guarantee) -> None:
    """With 7 keys, sessions grow: each record is one deleted session and a longer one."""
    given = [record for record in lines(300, 7) if record.timestamp_ms % 3_600_000 < 2_400_000]
    step = Step({"in": given}, {"out": 2 * len(given) - 7 * 5})
    written = await assert_right(target, Program(sessions, [step], {"in": 1}, {"out": 2}), guarantee)
    assert any(row[1] is None for row in written["out"][0])


def regrouping(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    counts = read.group_by(lambda _, text: text[-1], key=serdes.string, value=serdes.string, name="last").count(
        store="counts"
    )
    counts.to_stream().to(names.output("out"), key=serdes.string, value=serdes.int64)


@also_on_older_kafkas
@guarantees
async def test_repartitioned_records(target: Target, guarantee: Guarantee) -> None:
    awaited = {"out": 300, "last-repartition": 300}
    logs = {"counts-changelog": 10}
    program = Program(regrouping, [Step({"in": lines(300, 7)}, awaited)], {"in": 1}, {"out": 2}, changelogs=logs)
    await assert_right(target, program, guarantee)


def as_table(builder: StreamsBuilder, names: Names) -> None:
    builder.stream(names.input("in"), key=serdes.string, value=serdes.string).to_table(store="rows").to_stream().to(
        names.output("out"), key=serdes.string, value=serdes.string
    )


@also_on_older_kafkas
@guarantees
async def test_tombstones(target: Target, guarantee: Guarantee) -> None:
    given = [
        NewRecord(value, b"key%d" % (at % 3), START_MS + at) for at, value in enumerate([b"a", None, b"b", b""] * 6)
    ]
    program = Program(as_table, [Step({"in": given}, {"out": 24})], changelogs={"rows-changelog": 3})
    written = await assert_right(target, program, guarantee)
    assert {row[1] is None for row in written["out"][0]} == {True, False}


def copying_and_counting(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string).repartition(name="again")
    read.to(names.output("copies"))
    windows = TimeWindows(timedelta(minutes=30), grace=timedelta(hours=1))
    counts = read.group_by_key().windowed_by(windows).count(store="counts", changelog=UNLIMITED).to_stream()
    counts.to(names.output("out"), key=serdes.time_windowed(serdes.string, timedelta(minutes=30)), value=serdes.int64)


@also_on_older_kafkas
@guarantees
async def test_the_time_0(target: Target, guarantee: Guarantee) -> None:
    """It stays 0, in repartition topics and changelogs, too, and windows begin at 0."""
    times = [0, 5] * 5 + [0] * 5
    given = [NewRecord(b"text %d" % at, b"k%d" % (at // 10), time_ms) for at, time_ms in enumerate(times)]
    awaited = {"out": 15, "copies": 15, "again-repartition": 15}
    sinks = {"out": 1, "copies": 1}
    logs = {"counts-changelog": 2}
    program = Program(copying_and_counting, [Step({"in": given}, awaited)], {"in": 1}, sinks, changelogs=logs)
    ours = await assert_right(target, program, guarantee)
    assert [row[2] for row in ours["copies"][0]] == times
    assert [row[2] for row in ours["again-repartition"][0]] == times
    assert [row[2] for row in ours["counts-changelog"][0]] == [5, 0]
