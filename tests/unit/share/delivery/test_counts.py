"""What a consumer counts: records handed over, acknowledgements that brokers confirmed, fetches that were answered."""

from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.share import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.counts import count_types
from kafka_groups.share.parts import Environment
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import AcknowledgeType
from tests.unit.share.clusters import TOPIC, World
from tests.unit.share.deliveries import PARTITION, batch, batch_with
from tests.unit.share.fetching import Bench

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


def explicit() -> Bench:
    return Bench(acknowledgement_mode="explicit", prefetch_batches=0)


def test_offsets_in_gaps_are_not_consumed() -> None:
    bench = explicit()
    bench.begin()
    bench.fetched(bench.fetch(), (0, 9), blob=batch(0, 9, missing=range(2, 8)))
    assert len(bench.end()) == 4
    assert bench.inbox.records_handed_over == 4


def test_acknowledgements_count_by_type_once_the_broker_took_them() -> None:
    bench = explicit()
    records = bench.delivered((0, 19))
    for record, kind in zip(records, [ACCEPT] * 12 + [RELEASE] * 5 + [REJECT] * 3, strict=True):
        bench.application.acknowledge(record, kind)
    pending = batch_with(records[0]).acknowledgements()
    assert pending == {PARTITION: {ACCEPT: 12, RELEASE: 5, REJECT: 3}}
    bench.commit()
    assert batch_with(records[0]).acknowledgements() == {}
    before = bench.metrics.counts(20)
    bench.acknowledged(bench.acknowledge())
    after = bench.metrics.counts(20)
    assert (before.accepted, before.released, before.rejected) == (0, 0, 0)
    assert (after.accepted, after.released, after.rejected, after.failed) == (12, 5, 3, 0)


def test_refused_acknowledgements_count_as_failed_only() -> None:
    bench = explicit()
    for record in bench.delivered((0, 4)):
        bench.application.acknowledge(record, ACCEPT)
    bench.commit()
    bench.acknowledged(bench.acknowledge(), ErrorCode.INVALID_RECORD_STATE)
    counts = bench.metrics.counts(5)
    assert (counts.accepted, counts.failed, counts.records) == (0, 5, 5)


def test_has_fetched_tells_an_empty_topic_from_an_unreachable_broker() -> None:
    async def program(simulation: Simulation) -> None:
        async with World(simulation) as world:
            nowhere = Environment(MemoryNetwork(), simulation.clock, simulation.rng)
            async with AsyncKafkaShareConsumer(bootstrap_servers="b:1", group_id="g", environment=nowhere) as lost:
                await lost.subscribe([TOPIC])
                assert not await lost.poll(1.0)
                assert not lost.has_fetched
            async with world.consumer() as consumer:
                await consumer.subscribe([TOPIC])
                assert not await consumer.poll(5.0)
                assert consumer.has_fetched
                assert consumer.counts().fetches > 0

    run_simulated(program, seed=7)


def test_types_are_counted_in_short_and_long_form() -> None:
    bench = explicit()
    records = bench.delivered((0, 2))
    for record, kind in zip(records, (ACCEPT, REJECT, ACCEPT), strict=True):
        bench.application.acknowledge(record, kind)
    bench.commit()
    (pending,) = bench.inbox.outbox
    assert count_types(pending.batches) == {ACCEPT: 2, REJECT: 1}
