"""What an application costs besides its rate: delay of records, idle time, start, memory."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from attrs import frozen
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.benchmarks.applications.records import PARTITIONS, filled_topic
from tests.benchmarks.applications.running import OURS, RunningApplication, StreamsJob, application, new_job
from tests.benchmarks.applications.works import KEYS, MAP
from tests.benchmarks.topics import new_topic

__all__ = ["Delays", "Growth", "delays", "growth", "idle_share", "start_seconds"]

_WARM_UP, _WARM_UP_KEYS = 1_000, 100
_REST_S = 3.0
_LATEST_S = 30.0
_KEYS, _VALUE_BYTES = 10_000, 10


@frozen
class Delays:
    """Times from the producer to a consumer of the output, in ms."""

    each_ms: list[float]

    @property
    def median_ms(self) -> float:
        """Half of the records took longer."""
        return median(self.each_ms)

    @property
    def p99_ms(self) -> float:
        """One of a hundred records took longer."""
        return quantiles(self.each_ms, n=100)[-1]


@frozen
class Growth:
    """Resident memory of an application, in bytes.

    Attributes:
        records: Records until the end.
        at_tenth: When it had committed a tenth of them.
        at_end: When it had committed all.
    """

    records: int
    at_tenth: int
    at_end: int

    @property
    def ratio(self) -> float:
        """Of both."""
        return self.at_end / self.at_tenth


def delays(client: str, servers: str, per_second: int, seconds: float, checkout: Path | None = None) -> Delays:
    """Return how long records take through an application at a steady pace."""
    with _warmed_up(client, servers, checkout) as (job, _):
        consumer = Consumer({"bootstrap.servers": servers, "group.id": f"{job.group}-reader"})
        try:
            return Delays(_paced(job, consumer, per_second, round(per_second * seconds)))
        finally:
            consumer.close()


def _paced(job: StreamsJob, consumer: Consumer, per_second: int, records: int) -> list[float]:
    _begin_at_end(consumer, job)
    producer = Producer({"bootstrap.servers": job.servers, "linger.ms": 0})
    found: list[float] = []
    began_s = time.monotonic()
    for number in range(records):
        found += _received(consumer, began_s + number / per_second)
        producer.produce(job.source, str(time.monotonic_ns()).encode(), b"%d" % number)
        producer.poll(0)
    deadline_s = time.monotonic() + _LATEST_S
    while len(found) < records:
        assert time.monotonic() < deadline_s, f"{job.client} wrote {len(found)} of {records} records"
        found += _received(consumer, time.monotonic() + 0.1)
    return found


def _begin_at_end(consumer: Consumer, job: StreamsJob) -> None:
    partitions = [TopicPartition(job.target, number) for number in range(job.partitions)]
    for partition in partitions:
        _, partition.offset = consumer.get_watermark_offsets(partition, timeout=_LATEST_S)
    consumer.assign(partitions)


def _received(consumer: Consumer, until_s: float) -> Iterator[float]:
    while (left_s := until_s - time.monotonic()) > 0:
        record = consumer.poll(left_s)
        if record is not None and (value := record.value()) is not None:
            yield (time.monotonic_ns() - int(value)) / 1e6


def idle_share(client: str, servers: str, seconds: float, checkout: Path | None = None) -> float:
    """Return the share of a core that an application takes that has nothing to do."""
    with _warmed_up(client, servers, checkout) as (_, running):
        began = running.moment()
        time.sleep(seconds)
        ended = running.moment()
    return (ended.cpu_s - began.cpu_s) / (ended.at_s - began.at_s)


@contextmanager
def _warmed_up(client: str, servers: str, checkout: Path | None) -> Iterator[tuple[StreamsJob, RunningApplication]]:
    """An application that has processed all records, and rests."""
    source = filled_topic(servers, _WARM_UP, _WARM_UP_KEYS, _VALUE_BYTES)
    job = new_job(client, MAP, servers, source, PARTITIONS)
    with application(job, checkout) as running:
        running.wait_until_committed(_WARM_UP)
        time.sleep(_REST_S)
        yield job, running


def start_seconds(servers: str, workers: int) -> float:
    """Return the time from the start of an application of ours until all its workers are RUNNING."""
    job = new_job(OURS, KEYS, servers, new_topic(servers, PARTITIONS), PARTITIONS, workers=workers)
    with application(job) as running:
        return running.seconds_until_running()


def growth(client: str, servers: str, records: int, checkout: Path | None = None) -> Growth:
    """Return how the memory of an application grows that counts a bounded set of keys."""
    source = filled_topic(servers, records, _KEYS, _VALUE_BYTES)
    with application(new_job(client, KEYS, servers, source, PARTITIONS), checkout) as running:
        tenth = running.wait_until_committed(records // 10)
        end = running.wait_until_committed(records)
    return Growth(records, tenth.resident_bytes, end.resident_bytes)
