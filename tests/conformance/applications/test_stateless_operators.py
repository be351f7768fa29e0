"""Applications that keep nothing: their topics hold what is computed without a data plane, record by record."""

from collections.abc import Iterable

import pytest

from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.partitioning import partition_of
from kafka_groups.streams import StreamsBuilder, serdes
from kafka_groups.streams.topology.records import Record
from tests.support.application_programs import (
    Guarantee,
    Names,
    Program,
    Step,
    also_on_older_kafkas,
    guarantees,
    logs_of_run,
    new_names,
)
from tests.support.compared_programs import START_MS, assert_right, lines
from tests.support.computed_logs import computed_logs
from tests.support.targets import Target
from tests.support.topic_reader import Log, Row

pytestmark = pytest.mark.slow


def changing(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.string, value=serdes.string)
    read.map(lambda key, text: (f"{key}!", text.upper())).to(
        names.output("out"), key=serdes.string, value=serdes.string
    )


@also_on_older_kafkas
@guarantees
@pytest.mark.parametrize("partitions", [1, 2])
async def test_mapped_records(target: Target, guarantee: Guarantee, partitions: int) -> None:
    given = lines(200, 17)
    program = Program(changing, [Step({"in": given}, {"out": 200})], {"in": partitions}, {"out": 3})
    written = await assert_right(target, program, guarantee)
    keys = {row[0] for rows in written["out"] for row in rows}
    assert keys == {f"key{at}!".encode() for at in range(17)}
    if partitions == 1:
        assert in_order(written["out"]) == changed(given, 3)


def in_order(log: Log) -> list[list[bytes | None]]:
    """Return the values of each partition."""
    return [[row[1] for row in rows] for rows in log]


def changed(given: list[NewRecord], count: int) -> list[list[bytes | None]]:
    """Return what `changing` makes of records, for each of so many partitions, in the order of the input."""
    rows: list[list[bytes | None]] = [[] for _ in range(count)]
    for each in given:
        rows[partition_of((each.key or b"") + b"!", count)].append((each.value or b"").upper())
    return rows


@also_on_older_kafkas
@guarantees
async def test_unique_keys(target: Target, guarantee: Guarantee) -> None:
    given = lines(5_000, 5_000)
    program = Program(changing, [Step({"in": given}, {"out": 5_000})], {"in": 1}, {"out": 4})
    written = await assert_right(target, program, guarantee)
    assert in_order(written["out"]) == changed(given, 4)


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


@also_on_older_kafkas
@guarantees
async def test_headers(target: Target, guarantee: Guarantee) -> None:
    given = [NewRecord(b"v", b"k", START_MS + at, headers) for at, headers in enumerate(HEADERS)]
    program = Program(adding_headers, [Step({"in": given}, {"out": len(given)})])
    written = await assert_right(target, program, guarantee)
    assert [row[3] for row in written["out"][0]] == [(*headers, ("more", b"m")) for headers in HEADERS]


def copying(builder: StreamsBuilder, names: Names) -> None:
    read = builder.stream(names.input("in"), key=serdes.bytes_, value=serdes.bytes_)
    read.to(names.output("out"))


@also_on_older_kafkas
@guarantees
async def test_records_without_keys(target: Target, guarantee: Guarantee) -> None:
    """Into one partition in order; of several, each record goes to any."""
    given = [NewRecord(b"%d" % at, None if at % 2 else b"", START_MS + at) for at in range(40)]
    one = Program(copying, [Step({"in": given}, {"out": 40})])
    await assert_right(target, one, guarantee)
    several = Program(copying, [Step({"in": given}, {"out": 40})], {"in": 1}, {"out": 3})
    names = new_names()
    logs, wanted = await logs_of_run(target, several, guarantee, names), computed_logs(several, names)
    assert keyed(logs["out"]) == keyed(wanted["out"])
    assert unkeyed(logs["out"]) == unkeyed(wanted["out"])
    assert [row[1] for row in unkeyed(wanted["out"])] == [b"%d" % at for at in range(1, 40, 2)]


def keyed(log: Log) -> Log:
    """Return the records that have a key, by partition."""
    return [[row for row in rows if row[0] is not None] for rows in log]


def unkeyed(log: Log) -> list[Row]:
    """Return the records without a key, by time."""
    return sorted((row for rows in log for row in rows if row[0] is None), key=lambda row: row[2])
