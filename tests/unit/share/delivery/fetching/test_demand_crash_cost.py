"""What a consumer that dies again and again costs: the first crash what it held, each later one no more than a poll."""

from collections import Counter

import pytest

from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.unit.share.clusters import TOPIC, World

RECORDS = 10
"""`max.poll.records`, and the records of a batch of the log."""

BATCHES, LATER_CRASHES = 240, 3


async def crash(consumer: AsyncKafkaShareConsumer[bytes, bytes]) -> None:
    """Die on the spot: nobody is told anything."""
    await consumer._client.abort()
    consumer._application.is_closed = True
    consumer._finalizer.detach()


async def crash_loop(world: World, fetch_max_records: int | str) -> tuple[float, Counter[int]]:
    """The largest fetch of the first life, and how many records came with each delivery count in the end."""
    # With the default limit of 5 the broker itself hands out what was delivered often in small parts.
    world.cluster.alter_group_configs("g", {"share.delivery.count.limit": "10"})
    # Another session, or the broker forgets which records came together, and hands out all of them together.
    bystander = world.consumer()
    await bystander.subscribe([TOPIC])
    assert not await bystander.poll(timeout=1)
    for number in range(BATCHES):
        await world.produce([b"%d" % number] * RECORDS)
    for life in range(1 + LATER_CRASHES):
        consumer = world.consumer(max_poll_records=RECORDS, fetch_max_records=fetch_max_records)
        await consumer.subscribe([TOPIC])
        for _ in range(1 if life else 20):
            assert await consumer.poll(timeout=60)
        if not life:
            asked = consumer.metrics()["records-asked-for"]
        await crash(consumer)
    deliveries: Counter[int] = Counter()
    async with world.consumer() as survivor:
        await survivor.subscribe([TOPIC])
        while records := await survivor.poll(timeout=60):
            deliveries.update(record.delivery_count for record in records)
    await bystander.close()
    return asked, deliveries


def lives(fetch_max_records: int | str) -> tuple[float, Counter[int]]:
    async def program(simulation: Simulation) -> tuple[float, Counter[int]]:
        async with World(simulation) as world:
            return await crash_loop(world, fetch_max_records)

    return run_simulated(program, seed=3, limit_s=3600)


@pytest.fixture(scope="module")
def fixed() -> Counter[int]:
    asked, deliveries = lives(RECORDS)
    assert asked == RECORDS
    return deliveries


def test_after_the_first_crash_a_grown_consumer_costs_no_more_than_one_with_fixed_fetches(fixed: Counter[int]) -> None:
    asked, grown = lives("adaptive")

    assert asked >= 8 * RECORDS
    assert grown[2] > fixed[2]  # what it held in its first life
    assert max(grown) == max(fixed)
    often = [sum(count for times, count in deliveries.items() if times > 2) for deliveries in (grown, fixed)]
    assert often[0] <= often[1] <= 2 * RECORDS
