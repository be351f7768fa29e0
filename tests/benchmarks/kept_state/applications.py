"""Figures of whole applications with brokers: their rates and restorations with stores on disk and in memory."""

import time
from collections.abc import Sequence
from statistics import median
from typing import Final

from attrs import evolve, frozen
from confluent_kafka import Consumer, TopicPartition

from tests.benchmarks.aims import Aim
from tests.benchmarks.applications import rates
from tests.benchmarks.applications.rates import Entry, Rate
from tests.benchmarks.applications.records import PARTITIONS, filled_topic
from tests.benchmarks.applications.running import OURS, StreamsJob, application
from tests.benchmarks.applications.works import IN_MEMORY, KEYS, WINDOWS
from tests.benchmarks.output import say

__all__ = ["Work", "restorations", "windowed_counts"]

_LMDB: Final = "lmdb"
_STORES: Final = (IN_MEMORY, _LMDB)
_VALUE_BYTES: Final = 100
_TIMEOUT_S: Final = 60.0
_GUARANTEES: Final = {"at least once": (False, 1_000), "exactly once": (True, 100)}
"""Whether it works exactly once, and how often it commits, in ms: the intervals that are usual with both."""


@frozen(kw_only=True)
class Work:
    """How much is done.

    Attributes:
        servers: The cluster.
        records: Records of the source of an application.
        keys: The keys of these, and those of a changelog that is restored.
        seconds: How long a run is measured.
        rounds: How often each is done; figures are medians.
    """

    servers: str
    records: int
    keys: int
    seconds: float
    rounds: int


def windowed_counts(work: Work) -> list[Aim]:
    """Rates of windowed counts with all updates in the changelog: on disk, of those in memory."""
    source = filled_topic(work.servers, work.records, work.keys, _VALUE_BYTES)
    return [aim for promise in _GUARANTEES for aim in _windowed_counts(work, source, promise)]


def _windowed_counts(work: Work, source: str, promise: str) -> list[Aim]:
    is_exactly_once, commit_ms = _GUARANTEES[promise]
    entry = Entry(OURS, WINDOWS, is_exactly_once=is_exactly_once)
    extent = rates.Extent(clients=(OURS,), records=work.records, seconds=work.seconds, rounds=work.rounds,
                          commit_ms=commit_ms)  # fmt: skip
    found: list[tuple[Rate, Rate]] = []
    for number in range(work.rounds):
        ordered = _STORES[:: -1 if number % 2 else 1]
        rate = {store: rates.rate_of(_stored(work, source, entry, commit_ms, store), extent) for store in ordered}
        say(f"{promise}: " + ", ".join(f"{store} {each.per_second:,.0f}/s" for store, each in rate.items()))
        found.append((rate[_LMDB], rate[IN_MEMORY]))
    name = f"windowed count, {promise}, on disk, of that in memory"
    return [
        Aim(name, median(disk.per_second / memory.per_second for disk, memory in found), 0.8, is_least=True),
        Aim(f"{name}, CPU", median(memory.per_cpu_second / disk.per_cpu_second for disk, memory in found)),
    ]


def _stored(work: Work, source: str, entry: Entry, commit_ms: int, store: str) -> StreamsJob:
    return evolve(rates.job_of(work.servers, source, entry, commit_ms), store=store)


def restorations(work: Work) -> list[Aim]:
    """Processor time of restored keys in random order, of that in which confluent-kafka reads their records."""
    many, few = _counted(work, work.keys), _counted(work, work.keys // 10)
    return [_restoration(work, many, few, store, limit) for store, limit in ((IN_MEMORY, 3.2), (_LMDB, 4.5))]


@frozen
class _Counted:
    """An application that has counted some keys, each once. Whoever starts it again restores them."""

    job: StreamsJob
    keys: int


def _counted(work: Work, keys: int) -> _Counted:
    source = filled_topic(work.servers, keys, keys, _VALUE_BYTES)
    job = rates.job_of(work.servers, source, Entry(OURS, KEYS), 1_000)
    with application(job) as running:
        running.wait_until_committed(keys)
        running.leave()
    return _Counted(job, keys)


def _restoration(work: Work, many: _Counted, few: _Counted, store: str, limit: float) -> Aim:
    """What a start costs whatever there is to restore is the same for both sizes."""
    ratios: list[float] = []
    for _ in range(work.rounds):
        ours_us = (_restored_cpu_s(many, store) - _restored_cpu_s(few, store)) / (many.keys - few.keys) * 1e6
        theirs_us = _read_cpu_s(work.servers, f"{many.job.group}-counts-changelog", many.keys) / many.keys * 1e6
        say(f"restoration, {store}: {ours_us:.2f} µs a key; confluent-kafka reads it in {theirs_us:.2f}")
        ratios.append(ours_us / theirs_us)
    return Aim(f"CPU of a restoration, {store}, of that of confluent-kafka", median(ratios), limit)


def _restored_cpu_s(counted: _Counted, store: str) -> float:
    with application(evolve(counted.job, store=store)) as running:
        running.seconds_until_running()
        cpu_s = running.moment().cpu_s
        running.leave()
    return cpu_s


def _read_cpu_s(servers: str, topic: str, records: int) -> float:
    """Read a topic with its offsets, keys, values and timestamps."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    began_s, deadline_s, read = time.process_time(), time.monotonic() + _TIMEOUT_S, 0
    while read < records:
        assert time.monotonic() < deadline_s, f"{read} of {records} records of {topic} within {_TIMEOUT_S} s"
        read += len(_fields(consumer.consume(10_000, 0.1)))
    took_s = time.process_time() - began_s
    consumer.close()
    return took_s


def _fields(records: Sequence[object]) -> list[tuple[object, ...]]:
    return [(each.offset(), each.key(), each.value(), each.timestamp()) for each in records]  # type: ignore[attr-defined]
