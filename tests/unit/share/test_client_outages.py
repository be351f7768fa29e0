"""Outages longer than `default.api.timeout.ms`: a consumer that has worked keeps trying, and says so."""

import logging

import pytest

from kafka_groups.share.delivery.commits import Acknowledged
from kafka_groups.types import ConsumerState
from tests.unit.share.clusters import TOPIC, World
from tests.unit.share.test_aio import simulate, take, values

MINUTE_S = 60


def test_a_consumer_survives_an_outage_of_any_length_and_shows_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_groups")

    async def program(world: World) -> None:
        await world.produce(values(5))
        consumer = world.consumer()
        async with consumer:
            seen = [consumer.state]
            await consumer.subscribe([TOPIC])
            seen.append(consumer.state)
            await take(consumer, 5)
            seen.append(consumer.state)
            assert seen == [ConsumerState.UNSUBSCRIBED, ConsumerState.JOINING, ConsumerState.ACTIVE]
            await consumer.commit_sync()

            caplog.clear()
            await world.cluster.stop_broker_async(1)
            for _ in range(10):
                assert not await consumer.poll(timeout=MINUTE_S)
                assert consumer.state is ConsumerState.UNREACHABLE
            gauges = consumer.metrics()
            assert gauges["state"] == ConsumerState.UNREACHABLE
            assert 590 <= gauges["unreachable-seconds"] <= 600
            assert 590 <= gauges["last-answer-seconds-ago"] <= 601

            await world.cluster.start_broker_async(1)
            await world.admin.close()
            await world.produce(values(3))
            assert [record.value for record in await take(consumer, 3)] == values(3)
            seen = [consumer.state]
            assert consumer.metrics()["unreachable-seconds"] == 0
        assert [*seen, consumer.state] == [ConsumerState.ACTIVE, ConsumerState.CLOSED]

    simulate(program)
    warnings = [r for r in caplog.records if r.levelno == logging.WARNING and r.name == "kafka_groups.network"]
    assert 8 <= len(warnings) <= 12, [record.getMessage() for record in warnings]
    assert "Cannot reach a broker" in warnings[0].getMessage()
    assert (f"{ConsumerState.ACTIVE:>7}", str(ConsumerState.CLOSED)) == (" ACTIVE", "CLOSED")
    assert "No broker has answered for" in warnings[-1].getMessage()
    assert any(r.levelno == logging.INFO and "Reached" in r.getMessage() for r in caplog.records)


@pytest.mark.parametrize(("given", "timeout_s"), [({}, 5), ({"close_timeout": 0.5}, 0.5)])
def test_the_end_of_a_with_statement_does_not_wait_long_for_brokers_that_are_down(
    given: dict[str, float], timeout_s: float
) -> None:
    failed: list[Acknowledged] = []

    async def program(world: World) -> None:
        await world.produce(values(3))
        async with world.consumer(**given) as consumer:
            consumer.set_acknowledgement_callback(failed.append)
            await consumer.subscribe([TOPIC])
            await take(consumer, 3)
            await world.cluster.stop_broker_async(1)
            consumer.commit_async()
            before_ms = world.clock.now_ms()
        assert 0 <= world.clock.now_ms() - before_ms <= timeout_s * 1000 + 1
        await world.cluster.start_broker_async(1)
        await world.admin.close()

    simulate(program)
    (result,) = failed
    assert list(result.offsets()) == [0, 1, 2]
    assert result.error is not None
