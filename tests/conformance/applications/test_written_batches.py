"""What the batches of applications look like: their compression, their size, and which transaction they belong to."""

import pytest

from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.streams import StreamsBuilder, serdes
from tests.support.application_programs import (
    Guarantee,
    Names,
    Program,
    Step,
    also_on_older_kafkas,
    batches_of,
    guarantees,
    new_names,
)
from tests.support.compared_programs import START_MS, assert_right, lines
from tests.support.targets import Target

pytestmark = pytest.mark.slow


def regrouped(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    rows = read.repartition(name="again").to_table(store="rows")
    rows.to_stream().to(names.output("out"), key=serdes.string, value=serdes.string)


@also_on_older_kafkas
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
    names = new_names()
    await assert_right(target, program, guarantee, names)
    for name in ("out", "again-repartition", "rows-changelog"):
        (headers,) = await batches_of(target, names.output(name))
        codecs = {each.compression.name.lower() for each in headers if not each.is_control}
        assert codecs == {compression}, name


def kept_in_small_batches(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    rows = read.to_table(store="rows", changelog={"max.message.bytes": "20000"})
    rows.to_stream().to(names.output("out"), key=serdes.string, value=serdes.string)


SMALL_ROWS = Program(
    kept_in_small_batches,
    [Step({"in": [NewRecord(b"%d" % at * 200, b"key%d" % at, START_MS + at) for at in range(500)]}, {"out": 500})],
    changelogs={"rows-changelog": 500},
)
"""Batches of up to 128 KiB are divided."""


@also_on_older_kafkas
@guarantees
async def test_changelog_batches_larger_than_the_topic_takes(target: Target, guarantee: Guarantee) -> None:
    await assert_right(target, SMALL_ROWS, guarantee)


def copied_and_kept(builder: StreamsBuilder, names: Names) -> None:
    rows = builder.stream(names.input("in"), key=serdes.string, value=serdes.string).to_table(store="rows").to_stream()
    rows.to(names.output("out"), key=serdes.string, value=serdes.string)
    rows.to(names.output("copies"), key=serdes.string, value=serdes.string)


@also_on_older_kafkas
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
    names = new_names()
    await assert_right(target, program, "exactly_once_v2", names)
    logs = [log for name in program.totals for log in await batches_of(target, names.output(name))]
    assert len(logs) == 4
    assert all(each.is_transactional for log in logs for each in log)
    assert len({each.producer_id for log in logs for each in log}) == 1
    assert [[each.is_control for each in log].index(True) for log in logs] == [len(log) - 1 for log in logs]
