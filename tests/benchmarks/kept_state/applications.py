"""Figures of whole applications with brokers: their rates and restorations with stores on disk and in memory."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from statistics import median
from typing import Final

from attrs import evolve, frozen
from confluent_kafka import Consumer, TopicPartition

from tests.benchmarks.aims import Aim
from tests.benchmarks.applications import rates
from tests.benchmarks.applications.rates import Entry, Rate
from tests.benchmarks.applications.records import PARTITIONS, fill, filled_topic
from tests.benchmarks.applications.running import OURS, Moment, StreamsJob, application, new_job
from tests.benchmarks.applications.works import BESIDE, IN_MEMORY, KEYS, WINDOWS
from tests.benchmarks.output import say
from tests.benchmarks.topics import new_topic

__all__ = ["Work", "beside_a_restoration", "questions", "restorations", "windowed_counts"]

_LMDB: Final = "lmdb"
_STORES: Final = (IN_MEMORY, _LMDB)
_VALUE_BYTES: Final = 100
_TIMEOUT_S: Final = 60.0
_COMMIT_MS: Final = 200
_GETS_PER_SECOND: Final = 50_000
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
    found = [_restoration(work, many, few, store, limit) for store, limit in ((IN_MEMORY, 3.2), (_LMDB, 4.5))]
    return [aim for aims in found for aim in aims]


def questions(work: Work) -> list[Aim]:
    """The rate of one worker process while its parent asks its store on disk 50,000 times a second, of that without."""
    source = filled_topic(work.servers, work.records, work.keys, _VALUE_BYTES, 1)
    extent = rates.Extent(clients=(OURS,), records=work.records, seconds=work.seconds, rounds=1, commit_ms=_COMMIT_MS)
    ratios, answered = [], []
    for _ in range(work.rounds):
        alone, _ = _asked(work, source, extent, 0)
        asked, gets = _asked(work, source, extent, _GETS_PER_SECOND)
        say(f"{alone.per_second:,.0f} records/s without questions, {asked.per_second:,.0f} with {gets:,.0f} gets/s")
        ratios.append(asked.per_second / alone.per_second)
        answered.append(gets)
    return [
        Aim(f"rate beside {_GETS_PER_SECOND:,} gets a second, of that without", median(ratios), 0.9, is_least=True),
        Aim("gets a second that were answered", median(answered)),
    ]


def _asked(work: Work, source: str, extent: rates.Extent, gets_per_second: int) -> tuple[Rate, float]:
    # There is one partition for two workers, so that one of them works, on a core beside that of the parent.
    job = new_job(OURS, KEYS, work.servers, source, 1, workers=2, commit_ms=extent.commit_ms, store=_LMDB,
                  gets_per_second=gets_per_second)  # fmt: skip
    with application(job) as running:
        running.seconds_until_running()
        rate = rates.rate_in(running, job, extent)
        return rate, running.gets_per_second() if gets_per_second else 0.0


def beside_a_restoration(work: Work) -> list[Aim]:
    """The rate of tasks whose worker also restores others, of their rate when it has done that."""
    other = filled_topic(work.servers, work.keys, work.keys, _VALUE_BYTES)
    return [_beside_a_restoration(work, other, store) for store in _STORES]


def _beside_a_restoration(work: Work, other: str, store: str) -> Aim:
    ratios = [_ratio_beside(work, _restorable(work, other, store)) for _ in range(work.rounds)]
    return Aim(f"rate beside a restoration, {store}, of that without", median(ratios), 0.7, is_least=True)


def _restorable(work: Work, other: str, store: str) -> StreamsJob:
    """Return the job of an application that has counted all records of one topic, and now has some in the other."""
    source = new_topic(work.servers, PARTITIONS)
    job = new_job(OURS, BESIDE, work.servers, source, PARTITIONS, commit_ms=_COMMIT_MS, other=other, store=store)
    with application(job, watched=other) as running:
        running.wait_until_committed(work.keys)
        running.leave()
    fill(work.servers, source, work.records, 1_000, _VALUE_BYTES)
    return job


def _ratio_beside(work: Work, job: StreamsJob) -> float:
    with application(job) as running:
        commits = running.commits()
        beside = _two_commits(commits, lambda _: running.is_running)
        alone = _two_commits(commits, lambda moment: moment.committed >= work.records)
    say(f"{beside.per_second:,.0f} records/s beside the restoration, {alone.per_second:,.0f} without")
    return beside.per_second / alone.per_second


def _two_commits(commits: Iterator[Moment], has_ended: Callable[[Moment], bool]) -> Rate:
    """Return the rate between the second commit and the last one before something ends."""
    seen = list(takewhile(lambda moment: not has_ended(moment), commits))
    assert len(seen) > 2, f"only {len(seen)} commits: ask for more records"
    return rates.rate_between(seen[1], seen[-1])


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


def _restoration(work: Work, many: _Counted, few: _Counted, store: str, limit: float) -> list[Aim]:
    """What a start costs whatever there is to restore is the same for both sizes."""
    ratios: list[float] = []
    for _ in range(work.rounds):
        theirs_us = _read_cpu_s(work.servers, f"{many.job.group}-counts-changelog", many.keys) / many.keys * 1e6
        few_s, many_s = (_restored_cpu_s(each, store) for each in (few, many))
        ours_us = (many_s - few_s) / (many.keys - few.keys) * 1e6
        say(f"restoration, {store}: {ours_us:.2f} µs a key; confluent-kafka reads it in {theirs_us:.2f}")
        ratios.append(ours_us / theirs_us)
    return [Aim(f"CPU of a restoration, {store}, of that of confluent-kafka", median(ratios), limit)]


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
