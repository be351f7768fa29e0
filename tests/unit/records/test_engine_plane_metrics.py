"""The metrics of the plane's producer and readers."""

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION
from kafka_groups.errors import DeliveryFailedError, OperationTimeoutError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.records.engine_plane import EnginePlane
from tests.unit.records.clusters import RecordsWorld
from tests.unit.records.planes import GROUP, PATIENCE_MS, SINK, SOURCE, simulated

PRODUCER, CONSUMER, RESTORER = (f"me-StreamThread-1-{each}" for each in ("producer", "consumer", "restore-consumer"))


def measured(plane: EnginePlane, client: str, *names: str) -> list[float]:
    """Metrics of a producer or a reader of the worker."""
    metrics = plane.metrics("me-StreamThread-1")
    found = {each.name: each.value for each in metrics if each.tags == {"client-id": client}}
    return [found[name] for name in names]


def test_the_producer_and_both_readers_have_metrics() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        assert measured(plane, PRODUCER, "record-send-total", "record-send-rate") == [0, 0]
        plane.write("sink", b"k", b"out", 5, (), None)
        whole, free = measured(plane, PRODUCER, "buffer-total-bytes", "buffer-available-bytes")
        assert whole == 33_554_432
        assert whole - free == 61 + 8 + len(b"out") + 100  # a batch, a record, and the room of a list of origins
        plane.write("sink", b"k", b"out", 5, (), None)
        await plane.flush(PATIENCE_MS)
        assert measured(plane, PRODUCER, "record-send-total", "buffer-available-bytes") == [2, whole]
        topics = {each.tags["topic"] for each in plane.metrics("me") if each.group == "producer-topic-metrics"}
        assert topics == {"sink"}

        await world.produce([b"source"])
        await plane.assign({SOURCE: 0})
        while not (await plane.poll(10)).batches:
            await plane.wait(PATIENCE_MS)
        assert measured(plane, CONSUMER, "records-consumed-total", "records-lag-max") == [1, 0]
        assert measured(plane, RESTORER, "records-consumed-total", "fetch-total") == [0, 0]
        await plane.assign_restoring({SINK: 0})
        while not (await plane.poll_restoring(10)).batches:
            await plane.wait(PATIENCE_MS)
        assert measured(plane, RESTORER, "records-consumed-total") == [2]
        assert measured(plane, CONSUMER, "records-consumed-total") == [1]

    simulated(scene)


def test_the_time_of_flushes_and_rates_pass_as_the_time_of_the_world() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        rule = world.cluster.faults.on(ApiKey.PRODUCE, DROP_CONNECTION)
        plane.write("sink", b"k", b"out", 5, (), None)
        with pytest.raises(DeliveryFailedError):
            await plane.flush(700)
        assert measured(plane, PRODUCER, "flush-time-ns-total", "txn-init-time-ns-total") == [700_000_000, 0]
        [retries] = measured(plane, PRODUCER, "record-retry-total")
        assert 0 < retries == rule.hits
        world.cluster.faults.clear()
        await plane.flush(PATIENCE_MS)
        assert measured(plane, PRODUCER, "record-send-total", "record-error-total") == [retries + 1, 0]
        await plane.rest(120_000)
        assert measured(plane, PRODUCER, "record-send-rate") == [0]

    simulated(scene)


def test_the_time_of_transactions() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        names = [f"txn-{each}-time-ns-total" for each in ("init", "commit", "abort")]
        faults, second = world.cluster.faults, 1_000_000_000
        faults.on(ApiKey.INIT_PRODUCER_ID, DROP_CONNECTION)
        with pytest.raises(OperationTimeoutError):
            await plane.prepare()
        assert measured(plane, PRODUCER, *names) == [second, 0, 0]
        faults.clear()
        await plane.prepare()
        [init] = measured(plane, PRODUCER, names[0])
        assert second < init < 2 * second  # it waits until its back-off is over
        faults.on(ApiKey.END_TXN, DROP_CONNECTION)
        plane.write("sink", b"k", b"out", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        with pytest.raises(OperationTimeoutError):
            await plane.commit_transaction({}, GROUP)
        assert measured(plane, PRODUCER, *names) == [init, second, 0]
        await plane.renew()
        faults.clear()
        await plane.prepare()
        faults.on(ApiKey.END_TXN, DROP_CONNECTION)
        plane.write("sink", b"k", b"out", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        [before] = measured(plane, PRODUCER, names[2])
        await plane.renew()
        assert measured(plane, PRODUCER, names[2]) == [before + second]

    simulated(scene, transactional_id="app-1")
