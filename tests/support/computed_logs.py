"""The outcome of a program, computed without a data plane, a broker or a group: by `TopologyTestDriver`."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.serdes import Serde
from kafka_groups.streams import serdes
from kafka_groups.testing.topology_driver import TopologyTestDriver
from tests.support.application_programs import Names, Program, Step, compacted
from tests.support.topic_reader import Log, Row

__all__ = ["by_key", "computed_logs"]

_BYTES: Serde[bytes] = serdes.bytes_


def computed_logs(program: Program, names: Names) -> dict[str, Log]:
    """Return the records that each output should have. Its partitions are complete, in the order of processing."""
    counts = {names.input(name): count for name, count in program.inputs.items()}
    counts |= {names.output(name): count for name, count in program.sinks.items()}
    with TopologyTestDriver(
        program.topology(names),
        application_id=names.application_id,
        partitions=counts,
        statestore_cache_max_bytes=0,
    ) as driver:
        topics = {name: driver.input_topic(names.input(name), _BYTES, _BYTES) for name in program.inputs}
        for step in program.steps:
            for name, record in _in_order(program, step):
                topics[name].pipe(
                    record.key,
                    record.value,
                    timestamp_ms=record.timestamp_ms,
                    headers=record.headers,
                    partition=program.partition(name, record.key),
                )
        logs = {name: _log(driver, names.output(name)) for name in program.totals}
    return {name: compacted(log) if name in program.changelogs else log for name, log in logs.items()}


def _in_order(program: Program, step: Step) -> Iterator[tuple[str, NewRecord]]:
    """Iterate over the input as a task takes it: of several partitions, the one with the earliest first record."""
    given = {name: [(name, record) for record in records] for name, records in step.given.items()}
    for name in program.read_first & given.keys():
        yield from given.pop(name)
    yield from heapq.merge(*given.values(), key=lambda each: each[1].timestamp_ms)


def _log(driver: TopologyTestDriver, topic: str) -> Log:
    records = driver.records(topic)
    count = max((record.partition for record in records), default=-1) + 1
    rows: Log = [[] for _ in range(count)]
    for record in records:
        rows[record.partition].append((record.key, record.value, record.timestamp_ms, record.headers))
    return rows


def by_key(log: Log) -> Mapping[tuple[int, bytes | None], Sequence[Row]]:
    """Return the records of each partition and key, in their order.

    Nothing orders the records of different keys that come from different tasks.
    """
    found: dict[tuple[int, bytes | None], list[Row]] = {}
    for partition, row in _with_partitions(log):
        found.setdefault((partition, row[0]), []).append(row)
    return found


def _with_partitions(log: Log) -> Iterable[tuple[int, Row]]:
    return ((partition, row) for partition, rows in enumerate(log) for row in rows)
