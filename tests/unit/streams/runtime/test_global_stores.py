"""Global stores over brokers in memory that do not answer at first."""

import pytest

from kafka_groups.errors import NetworkError, TopicAuthorizationFailedError
from kafka_groups.records.interface import LogChange
from kafka_groups.streams import StreamsError
from kafka_groups.types import TopicPartition
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import Process, enriched
from tests.unit.streams.runtime.test_task_timeout import failing

ORDERS, NAMES = TopicPartition("orders", 0), TopicPartition("names", 0)
REQUESTS = ("partition_counts", "stable_bounds")


def joining(task_timeout_ms: int = 300_000) -> Process:
    kafka = FakeKafka({"names": 1, "orders": 1, "named": 1})
    kafka.produce("names", "b", "ben")
    kafka.produce("orders", "b", "tea")
    process = Process(kafka, topology=enriched(), task_timeout_ms=task_timeout_ms)
    process.member.assign("1_0")
    return process


@pytest.mark.parametrize("method", REQUESTS)
async def test_a_worker_waits_for_brokers_before_it_loads_global_stores(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    process = joining()
    failures = failing(process, method, NetworkError("the brokers are away"), 5)
    await process.worker.start()
    await process.turn_until(lambda: failures() == 5)
    assert not process.worker.is_running
    assert "Global stores cannot be loaded yet: the brokers are away" in caplog.text
    await process.turn_until(lambda: process.has_committed(1, ORDERS))
    assert [entry.value for entry in process.kafka.values("named")] == [b"tea of ben"]


async def test_a_worker_without_tasks_is_not_running_before_its_global_stores_are_loaded() -> None:
    process = joining()
    process.member.events.clear()
    process.member.is_spare = True
    failing(process, "partition_counts", NetworkError("the brokers are away"), 2)
    await process.worker.start()
    await process.worker.turn()
    assert not process.worker.is_running
    await process.turn_until(lambda: process.worker.is_running)


@pytest.mark.parametrize("method", REQUESTS)
async def test_brokers_that_are_away_for_longer_than_the_task_timeout_end_the_worker(method: str) -> None:
    process = joining(task_timeout_ms=10_000)
    failing(process, method, NetworkError("the brokers are away"), float("inf"))
    await process.worker.start()
    with pytest.raises(NetworkError, match="the brokers are away"):
        await process.turn_until(lambda: process.worker.is_running)


@pytest.mark.parametrize("method", REQUESTS)
async def test_brokers_that_refuse_end_the_worker_at_its_start(method: str) -> None:
    process = joining()
    failing(process, method, TopicAuthorizationFailedError("not yours"), 1)
    with pytest.raises(TopicAuthorizationFailedError, match="not yours"):
        await process.worker.start()


async def test_a_worker_that_waits_for_brokers_can_be_closed() -> None:
    process = joining()
    failing(process, "partition_counts", NetworkError("the brokers are away"), float("inf"))
    await process.worker.start()
    await process.worker.turn()
    await process.worker.close()
    assert process.member.has_left
    assert process.plane.is_closed


async def test_a_global_topic_that_does_not_exist_is_named_at_the_start() -> None:
    process = joining()
    del process.kafka.counts["names"]
    with pytest.raises(StreamsError, match="Topic 'names' of a global store does not exist"):
        await process.worker.start()


@pytest.mark.parametrize("change", [LogChange(1), LogChange(1, diverges_at=0)])
async def test_a_global_topic_that_is_another_one_now_empties_and_fills_its_store(
    change: LogChange, caplog: pytest.LogCaptureFixture
) -> None:
    process = joining()
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(1, ORDERS))
    process.kafka.logs[NAMES].clear()
    process.kafka.produce("names", "c", "cid")
    process.kafka.changes[NAMES] = change
    await process.turn_until(lambda: "The global stores are emptied and filled again" in caplog.text)
    await process.turn_until(lambda: process.worker.is_running)
    for name in ("b", "c"):
        process.kafka.produce("orders", name, "milk")
    await process.turn_until(lambda: process.has_committed(3, ORDERS))
    assert [entry.value for entry in process.kafka.values("named")] == [b"tea of ben", b"milk of cid"]
    assert change.described(NAMES) in caplog.text
