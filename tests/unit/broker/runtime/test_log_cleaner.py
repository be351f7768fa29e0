"""The cleaner of a broker: when it works, how long a slice takes, what it says."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.runtime import log_cleaner
from kafka_groups.broker.runtime.log_cleaner import CleanedLog, LogCleaner
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TopicPartition

WEEK_MS = 7 * 86_400_000
COMPACTED = {"cleanup.policy": "compact"}


class Bench:
    """Two brokers in virtual time."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.cluster = EmbeddedCluster(2, network=MemoryNetwork(), clock=sim.clock)

    def log(self, topic: str, partition: int = 0) -> PartitionLog:
        known = self.cluster.metadata.topic(topic)
        assert known is not None
        return self.cluster.logs.get(known.topic_id, partition)

    def append(self, topic: str, *records: NewRecord) -> None:
        log, wall_ms = self.log(topic), self.sim.clock.wall_ms()
        log.append(build_batch(records), 0, wall_ms)

    def updates(self, topic: str, count: int, keys: int = 3) -> None:
        wall_ms = self.sim.clock.wall_ms()
        self.append(topic, *(NewRecord(b"%d" % n, b"k%d" % (n % keys), wall_ms) for n in range(count)))


def simulated(body: Callable[[Bench], object]) -> None:
    async def run(sim: Simulation) -> None:
        bench = Bench(sim)
        async with bench.cluster:
            await body(bench)  # type: ignore[misc]

    run_simulated(run, 1)


def test_retention_begins_half_a_minute_after_the_start_and_goes_on_every_five_minutes() -> None:
    async def body(bench: Bench) -> None:
        bench.cluster.create_topic("t")
        old = NewRecord(b"v", timestamp_ms=bench.sim.clock.wall_ms() - WEEK_MS - 1)
        bench.append("t", old)
        await asyncio.sleep(29)
        assert bench.log("t").log_start_offset == 0
        await asyncio.sleep(2)
        assert bench.log("t").log_start_offset == 1
        bench.append("t", old)
        await asyncio.sleep(295)
        assert bench.log("t").log_start_offset == 1
        await asyncio.sleep(6)
        assert bench.log("t").log_start_offset == 2

    simulated(body)


def test_logs_are_compacted_every_fifteen_seconds() -> None:
    async def body(bench: Bench) -> None:
        bench.cluster.create_topic("t", configs=COMPACTED)
        bench.updates("t", 9)
        bench.log("t").roll()
        await asyncio.sleep(14)
        assert bench.log("t").segments[0].record_count == 9
        await asyncio.sleep(2)
        assert bench.log("t").segments[0].record_count == 3

    simulated(body)


def test_each_broker_cleans_what_it_leads() -> None:
    async def body(bench: Bench) -> None:
        bench.cluster.create_topic("t", 2, configs=COMPACTED)
        for partition in range(2):
            bench.log("t", partition).append(
                build_batch([NewRecord(b"v", b"k", bench.sim.clock.wall_ms())] * 4), 0, bench.sim.clock.wall_ms()
            )
            bench.log("t", partition).roll()
        stopped = bench.cluster.leader_of("t", 1)
        await bench.cluster.stop_broker_async(stopped)
        await asyncio.sleep(20)
        assert [bench.log("t", partition).segments[0].record_count for partition in range(2)] == [1, 4]
        await bench.cluster.start_broker_async(stopped)
        await asyncio.sleep(20)
        assert [bench.log("t", partition).segments[0].record_count for partition in range(2)] == [1, 1]

    simulated(body)


def test_others_have_their_turn_between_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    slices: list[int] = []
    do_slice = LogCleaner._do_slice

    def counted(self: LogCleaner) -> None:
        costs: list[int] = []
        work = self._round
        assert work is not None

        def spied() -> object:
            for cost in work:
                costs.append(cost)
                yield cost

        self._round = spied()  # type: ignore[assignment]
        do_slice(self)
        slices.append(sum(costs))
        if self._round is not None:
            self._round = work

    monkeypatch.setattr(LogCleaner, "_do_slice", counted)

    async def body(bench: Bench) -> None:
        bench.cluster.create_topic("t", configs=COMPACTED)
        for _ in range(40):
            bench.updates("t", 1_000, keys=900)
        bench.log("t").roll()
        await asyncio.sleep(20)
        assert bench.log("t").segments[0].record_count == 900

    simulated(body)
    assert max(slices) < 4_000 + 1_001
    assert len([each for each in slices if each > 1_000]) >= 15


@pytest.mark.parametrize(("topics", "partitions"), [(500, 1), (1, 20_000)])
def test_topics_without_logs_are_passed_in_slices(
    monkeypatch: pytest.MonkeyPatch, topics: int, partitions: int
) -> None:
    async def body(bench: Bench) -> None:
        for number in range(topics):
            bench.cluster.create_topic(f"t{number}", partitions)
        slices = 0
        do_slice = LogCleaner._do_slice

        def counted(self: LogCleaner) -> None:
            nonlocal slices
            slices += 1
            do_slice(self)

        monkeypatch.setattr(LogCleaner, "_do_slice", counted)
        await bench.cluster.run_log_cleaner_async()
        assert slices > 10

    simulated(body)


async def test_run_log_cleaner_reports_what_became_smaller() -> None:
    async with EmbeddedCluster(network=MemoryNetwork()) as cluster:
        for name in ("b", "a"):
            cluster.create_topic(name, configs=COMPACTED)
            for _ in range(3):
                cluster.produce(name, ["v"], keys=["k"])
        cluster.create_topic("untouched")
        cluster.produce("untouched", ["v"])
        assert await cluster.run_log_cleaner_async() == []
        cleaned = await cluster.run_log_cleaner_async(roll_segments=True)
        assert [(each.partition, each.log_start_offset) for each in cleaned] == [
            (TopicPartition("a", 0), 0),
            (TopicPartition("b", 0), 0),
        ]
        assert all(each.bytes_after * 3 == each.bytes_before for each in cleaned)
        assert [record.offset for record in cluster.records("a")] == [2]
        assert await cluster.run_log_cleaner_async(roll_segments=True) == []


def test_run_log_cleaner_for_blocking_programs() -> None:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t", configs={"retention.bytes": "0"})
        cluster.produce("t", ["a", "b"])
        [cleaned] = cluster.run_log_cleaner()
        assert cleaned == CleanedLog(TopicPartition("t", 0), 2, cleaned.bytes_before, 0)
        assert cluster.records("t") == []


def test_records_that_were_old_when_they_were_written_are_worth_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def body(bench: Bench) -> None:
        for name in ("old", "new"):
            bench.cluster.create_topic(name, configs={"retention.ms": "60000"})
        now_ms = bench.sim.clock.wall_ms()
        bench.append("old", NewRecord(b"v", timestamp_ms=now_ms - 120_000))
        bench.append("new", NewRecord(b"v", timestamp_ms=now_ms))
        await asyncio.sleep(400)
        bench.append("old", NewRecord(b"v", timestamp_ms=now_ms - 120_000))
        await asyncio.sleep(400)
        assert [bench.log(name).size_bytes for name in ("old", "new")] == [0, 0]

    with caplog.at_level(logging.INFO, log_cleaner.__name__):
        simulated(body)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "topic 'old'" in warnings[0]
    assert "retention.ms=-1" in warnings[0]


def test_a_log_that_cannot_be_decoded_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def body(bench: Bench) -> None:
        for name in ("broken", "whole"):
            bench.cluster.create_topic(name, configs=COMPACTED)
        broken = bytearray(build_batch([NewRecord(b"v", b"k"), NewRecord(b"v", b"k")]))
        broken[61] = 0xFF  # the length of the first record
        bench.log("broken").append_as_is(_with_crc(broken))
        bench.updates("whole", 6)
        for name in ("broken", "whole"):
            bench.log(name).roll()
        await asyncio.sleep(60)
        assert bench.log("broken").segments[0].record_count == 2
        assert bench.log("whole").segments[0].record_count == 3

    simulated(body)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "broken-0 is no longer compacted" in warnings[0]


def test_a_topic_that_is_deleted_meanwhile() -> None:
    async def body(bench: Bench) -> None:
        bench.cluster.create_topic("t", configs=COMPACTED)
        for _ in range(30):
            bench.updates("t", 1_000)
        bench.log("t").roll()
        running = asyncio.create_task(bench.cluster.run_log_cleaner_async())
        await asyncio.sleep(0)
        bench.cluster.delete_topic("t")
        assert len(await running) <= 1

    simulated(body)


def _with_crc(batch: bytearray) -> bytes:
    from kafka_groups.protocol.record_batch import crc32c  # noqa: PLC0415

    batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")
    return bytes(batch)
