"""The metrics of a consumer: every name of KIP-932, and what the figures are in a life that is known."""

import asyncio
import math

import pytest

from kafka_groups.types import ConsumerState
from tests.unit.share.clusters import TOPIC, World
from tests.unit.share.test_aio import simulate, take, values

KIP_932 = [
    "last-poll-seconds-ago",
    "time-between-poll-avg",
    "time-between-poll-max",
    "poll-idle-ratio-avg",
    "heartbeat-response-time-max",
    "heartbeat-rate",
    "heartbeat-total",
    "last-heartbeat-seconds-ago",
    "rebalance-total",
    "rebalance-rate-per-hour",
    "fetch-size-avg",
    "fetch-size-max",
    "bytes-fetched-rate",
    "bytes-fetched-total",
    "records-per-request-avg",
    "records-per-request-max",
    "records-fetched-rate",
    "records-fetched-total",
    "acknowledgements-send-rate",
    "acknowledgements-send-total",
    "acknowledgements-error-rate",
    "acknowledgements-error-total",
    "fetch-latency-avg",
    "fetch-latency-max",
    "fetch-rate",
    "fetch-total",
    "fetch-throttle-time-avg",
    "fetch-throttle-time-max",
]
JAVA = [
    "records-consumed-rate",
    "records-consumed-total",
    "bytes-consumed-rate",
    "bytes-consumed-total",
]


def test_every_metric_of_the_kip_and_of_java_is_there_from_the_beginning() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            metrics = consumer.metrics()
            assert len(KIP_932) == 28
            assert set(KIP_932) | set(JAVA) <= metrics.keys()
            assert all(isinstance(value, float) for value in metrics.values())
            assert metrics["last-poll-seconds-ago"] == metrics["last-heartbeat-seconds-ago"] == -1
            assert metrics["last-answer-seconds-ago"] == -1
            assert math.isnan(metrics["fetch-latency-avg"])
            assert math.isnan(metrics["oldest-lock-remaining-seconds"])
            assert metrics["state"] == ConsumerState.UNSUBSCRIBED
        assert consumer.metrics()["state"] == ConsumerState.CLOSED

    simulate(program)


def test_the_figures_of_a_known_life() -> None:
    async def program(world: World) -> None:
        for _ in range(4):
            await world.produce(values(25))
        async with world.consumer(acknowledgement_mode="explicit", prefetch_batches=0) as consumer:
            await consumer.subscribe([TOPIC])
            records = await consumer.poll(timeout=30)
            assert len(records) == 100
            await asyncio.sleep(3)
            held = consumer.metrics()
            assert held["records-in-hand"] == 100
            assert 26 <= held["oldest-lock-remaining-seconds"] <= 27
            assert held["last-poll-seconds-ago"] == pytest.approx(3, abs=0.5)
            consumer.acknowledge_all(records)
            await consumer.commit_sync()
            for _ in range(10):
                assert not await consumer.poll(timeout=1)
                await asyncio.sleep(1)
            metrics = consumer.metrics()

        assert metrics["records-in-hand"] == 0
        for name in ("records-fetched-total", "records-consumed-total", "records-accepted-total"):
            assert metrics[name] == 100, name
        assert metrics["acknowledgements-send-total"] == 100
        assert metrics["bytes-fetched-total"] == metrics["bytes-consumed-total"] > 100
        assert metrics["records-per-request-max"] == metrics["records-per-request-avg"] == 100
        assert metrics["fetch-size-max"] == metrics["bytes-fetched-total"]
        assert 1.5 <= metrics["records-fetched-rate"] <= 3.4
        assert 1.5 <= metrics["records-consumed-rate"] <= 3.4
        assert metrics["time-between-poll-max"] == pytest.approx(3_000, abs=600)
        assert 0.35 <= metrics["poll-idle-ratio-avg"] <= 0.6
        assert metrics["fetch-latency-max"] >= 500  # fetch.max.wait.ms: nothing came
        assert metrics["fetch-total"] >= 11
        assert metrics["fetch-rate"] > 0.2
        assert metrics["heartbeat-total"] >= 50
        assert 0 <= metrics["last-heartbeat-seconds-ago"] <= 0.3
        assert metrics["rebalance-total"] == 1
        assert metrics["rebalance-rate-per-hour"] > 0
        assert metrics["acknowledgements-error-total"] == metrics["acknowledgements-error-rate"] == 0

    simulate(program)


def test_failed_acknowledgements_are_counted_by_record_and_as_a_rate() -> None:
    async def program(world: World) -> None:
        world.cluster.alter_group_configs("g", {"share.record.lock.duration.ms": "2000"})
        await world.produce(values(6))
        async with world.consumer(acknowledgement_mode="explicit") as consumer:
            await consumer.subscribe([TOPIC])
            records = await consumer.poll(timeout=10)
            await asyncio.sleep(5)
            assert consumer.metrics()["oldest-lock-remaining-seconds"] < 0
            consumer.acknowledge_all(records)
            await consumer.commit_sync()
            metrics = consumer.metrics()
            assert metrics["acknowledgements-error-total"] == 6
            assert metrics["acknowledgements-error-rate"] > 0

    simulate(program)


def test_consumed_counts_what_the_program_got_and_fetched_what_the_brokers_returned() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            await world.produce(values(5))
            await take(consumer, 5)
            await consumer.poll(timeout=1)
            await world.produce(values(7))
            assert not await consumer.poll(timeout=0)
            await asyncio.sleep(2)
            metrics = consumer.metrics()
            assert metrics["records-consumed-total"] == 5
            assert metrics["records-fetched-total"] - metrics["records-waiting"] == 5

    simulate(program)
