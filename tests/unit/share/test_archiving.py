"""Releases that archive: the log, the count and the callback say so; the limit is the group's, where it is told."""

import logging
from typing import Any

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.share.archiving import ArchivedRecords
from kafka_groups.share.delivery.inbox import CompletedFetch
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import AcknowledgeType
from tests.unit.share.clusters import TOPIC, World
from tests.unit.share.deliveries import acquired, batch
from tests.unit.share.fetching import Bench

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


def watched(*ranges: tuple[int, int, int]) -> tuple[Bench, list[AnyRecord], list[ArchivedRecords]]:
    """A bench whose application holds these ranges, (first, last, delivery count)."""
    bench = Bench(acknowledgement_mode="explicit", prefetch_batches=0)
    delivery, told = acquired(*ranges), list[ArchivedRecords]()
    bench.application.archive_callback = told.append
    bench.inbox.ready.append(CompletedFetch(delivery, b"".join(batch(first, last) for first, last, _ in ranges)))
    return bench, list(bench.begin()), told


@pytest.mark.parametrize("release_after", [None, 30.0])
def test_a_release_of_the_last_delivery_is_told(release_after: float | None) -> None:
    bench, records, told = watched((0, 1, 4), (2, 4, 5))
    for record, kind in zip(records, (RELEASE, RELEASE, RELEASE, ACCEPT, RELEASE), strict=True):
        if kind is RELEASE and release_after:
            bench.application.acknowledge(record, kind, release_after)
        else:
            bench.application.acknowledge(record, kind)
    bench.commit()
    bench.application.run_callback()
    assert told == [ArchivedRecords("orders", 0, (2, 4), 5, is_assumed=True)]
    assert bench.inbox.records_archived == 2
    (warning,) = [event.text for event in bench.inbox.events.take() if event.subject is not None]
    assert "2 records of orders-0 (offsets 2 to 4) archives them: this was delivery 5 of 5 (Kafka's default" in warning


def test_other_acknowledgements_and_earlier_deliveries_are_not() -> None:
    bench, records, told = watched((0, 0, 4), (1, 2, 5))
    for record, kind in zip(records, (RELEASE, ACCEPT, REJECT), strict=True):
        bench.application.acknowledge(record, kind)
    bench.commit()
    bench.application.run_callback()
    assert told == []
    assert bench.inbox.records_archived == 0


def test_closing_with_records_on_their_last_delivery_is_told() -> None:
    bench, _, told = watched((0, 2, 5))
    bench.application.begin_leaving()
    bench.application.run_callback()
    assert [archived.offsets for archived in told] == [(0, 1, 2)]


def test_a_limit_that_is_known_counts() -> None:
    bench, records, told = watched((0, 0, 2))
    bench.inbox.delivery_limit, bench.inbox.knows_delivery_limit = 2, True
    bench.application.acknowledge(records[0], RELEASE)
    bench.commit()
    bench.application.run_callback()
    assert told == [ArchivedRecords("orders", 0, (0,), 2, is_assumed=False)]


def test_the_callback_must_be_callable() -> None:
    async def program(simulation: Simulation) -> None:
        async with World(simulation) as world, world.consumer() as consumer:
            wrong: Any = "print"
            with pytest.raises(ConfigurationError, match="callback='print' cannot be called"):
                consumer.set_archive_callback(wrong)
            consumer.set_archive_callback(None)

    run_simulated(program, seed=5)


async def release_until_archived(world: World) -> tuple[list[ArchivedRecords], float]:
    told: list[ArchivedRecords] = []
    await world.produce([b"poison"])
    async with world.consumer(acknowledgement_mode="explicit") as consumer:
        consumer.set_archive_callback(told.append)
        await consumer.subscribe([TOPIC])
        deliveries = 0
        while records := await consumer.poll(timeout=10):
            deliveries += 1
            assert len(told) == 0
            consumer.acknowledge_all(records, RELEASE)
        counted = consumer.metrics()["records-archived-by-release-total"]
    assert deliveries == 3
    return told, counted


def test_the_groups_limit_is_asked_of_the_brokers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "kafka_groups")

    async def program(simulation: Simulation) -> None:
        async with World(simulation) as world:
            world.cluster.alter_group_configs("g", {"share.delivery.count.limit": "3"})
            told, counted = await release_until_archived(world)
            assert told == [ArchivedRecords(TOPIC, 0, (0,), 3, is_assumed=False)]
            assert counted == 1
            await world.admin.until_lag("g", world.topic, 0)

    run_simulated(program, seed=6, limit_s=600)
    assert [r for r in caplog.messages if "delivery 3 of 3 (share.delivery.count.limit)" in r]
