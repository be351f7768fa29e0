"""A writer on the embedded cluster, in memory and in virtual time."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION, DROP_RESPONSE, LOSE_RESPONSE, answer
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    DeliveryFailedError,
    MessageTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_groups.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kafka_groups.records.batches.building import BatchSettings
from kafka_groups.records.partitioning import partition_of
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from kafka_groups.records.producing.produce_settings import ProduceSettings
from kafka_groups.records.writer import EngineWriter, EngineWriterSettings, writer_settings
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import Headers, TopicPartition
from tests.unit.records.clusters import KEPT, TOPIC, RecordsWorld

FLUSH_MS = 60_000
NO_CONFIGS: Mapping[str, str] = {}


class Bench:
    """A writer, and what its topic has."""

    def __init__(self, world: RecordsWorld, settings: EngineWriterSettings | None = None) -> None:
        self.world = world
        self.client = world.client()
        self.writer = EngineWriter(self.client, self._count, world.simulation.rng, settings)

    def _count(self, topic: str) -> int | None:
        known = self.world.cluster.metadata.topic(topic)
        return None if known is None else known.num_partitions

    def write(self, *values: bytes | None, partition: int | None = 0, topic: str = TOPIC) -> None:
        for value in values:
            self.writer.write(topic, b"k", value, 5, (), partition, (value,))

    def values(self, partition: int = 0, topic: str = TOPIC) -> list[bytes | None]:
        return [each.value for each in self.world.cluster.records(topic) if each.partition == partition]

    def has_room(self) -> bool:
        return self.writer.has_room

    async def flush(self, timeout_ms: int = FLUSH_MS) -> None:
        await self.writer.flush(timeout_ms)


def simulated(
    scene: Callable[[Bench], Awaitable[None]],
    settings: EngineWriterSettings | None = None,
    seed: int = 1,
    **options: Any,
) -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, **options) as world:
            bench = Bench(world, settings)
            try:
                await scene(bench)
            finally:
                await bench.writer.close()
                await bench.client.close()

    run_simulated(run, seed=seed)


def small(**sizes: int) -> EngineWriterSettings:
    return EngineWriterSettings(AccumulatorSettings(**{"batch_bytes": 200, **sizes}))  # type: ignore[arg-type]


def numbered(count: int, start: int = 0) -> list[bytes]:
    return [b"%04d" % number + b"." * 50 for number in range(start, start + count)]


# ----------------------------------------------------------------------------------------------- records

RECORDS: list[tuple[bytes | None, bytes | None, int, Headers]] = [
    (b"k", b"v", 1_700_000_000_000, (("h", b"1"), ("h", None), ("Zürich", b""))),
    (None, b"v", 5, ()),
    (b"k", None, 5, ()),
    (None, None, 0, ()),
    (b"", b"", 0, ()),
    (b"k", b"x" * 100_000, 5, ()),
]


@pytest.mark.parametrize("compression", Compression)
def test_all_parts_of_records_arrive(compression: Compression) -> None:
    async def scene(bench: Bench) -> None:
        for key, value, timestamp_ms, headers in RECORDS:
            bench.writer.write(TOPIC, key, value, timestamp_ms, headers, 0)
        await bench.flush()
        found = [(each.key, each.value, each.timestamp_ms, each.headers) for each in bench.world.cluster.records(TOPIC)]
        assert found == RECORDS

    simulated(scene, EngineWriterSettings(AccumulatorSettings(form=BatchSettings(compression))))


def test_partitions_follow_keys() -> None:
    async def scene(bench: Bench) -> None:
        keys = [b"%d" % number for number in range(50)]
        for key in keys:
            bench.writer.write(TOPIC, key, b"v", 5, (), None)
        bench.writer.write(TOPIC, None, b"without key", 5, (), None)
        await bench.flush()
        found = {each.key: each.partition for each in bench.world.cluster.records(TOPIC)}
        del found[None]
        assert found == {key: partition_of(key, 4) for key in keys}

    simulated(scene, partitions=4)


def test_records_are_sent_after_their_linger_time_without_a_flush() -> None:
    async def scene(bench: Bench) -> None:
        begun_ms = bench.client.clock.now_ms()
        bench.write(b"v")
        await bench.client.wait(1_000, lambda: not bench.writer.pending)
        assert bench.values() == [b"v"]
        assert bench.client.clock.now_ms() - begun_ms < 50, "it waits for metadata and an id, and for no back-off"

    simulated(scene)


def test_full_batches_are_sent_while_the_program_writes() -> None:
    async def scene(bench: Bench) -> None:
        bench.write(b"first")
        await bench.flush()
        seen = bench.world.requests(ApiKey.PRODUCE)
        bench.write(*numbered(12))
        assert bench.writer.pending == 12
        await bench.client.wait(1, lambda: len(seen) == 5)
        assert len(seen) == 5

    simulated(scene, small(linger_ms=10_000))


def test_a_topic_that_does_not_exist_is_an_error_of_the_write() -> None:
    async def scene(bench: Bench) -> None:
        with pytest.raises(UnknownTopicOrPartitionError, match="'nothing' does not exist"):
            bench.write(b"v", partition=None, topic="nothing")
        with pytest.raises(
            MessageTooLargeError, match=r"A record for orders has 2,000,.* max\.request\.size of the prod"
        ):
            bench.write(b"v" * 2_000_000)
        await bench.flush()
        assert bench.values() == []

    simulated(scene)


# ------------------------------------------------------------------------------------------------ faults


@pytest.mark.parametrize("action", [DROP_CONNECTION, LOSE_RESPONSE, DROP_RESPONSE])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 7))])
def test_each_record_is_written_once_and_in_order(action: Any, seed: int) -> None:
    async def scene(bench: Bench) -> None:
        rng = bench.world.simulation.rng
        written: list[list[bytes]] = [[], [], []]
        bench.world.cluster.faults.on(ApiKey.PRODUCE, action, times=4, when=lambda _request: rng.random() < 0.3)
        for start in range(0, 200, 20):
            for partition, values in enumerate(written):
                values.extend(numbered(20, start))
                bench.write(*values[-20:], partition=partition)
            bench.world.cluster.move_leader(TOPIC, rng.randrange(3), 1 + rng.randrange(2))
            await bench.client.wait(rng.randrange(200), lambda: False)
        await bench.flush(600_000)
        for partition, values in enumerate(written):
            assert bench.values(partition) == values

    simulated(scene, small(), seed, partitions=3, brokers=2)


def test_unanswered_records_stay_queued() -> None:
    async def scene(bench: Bench) -> None:
        bench.write(b"a")
        await bench.flush()
        await bench.world.cluster.stop_broker_async(1)
        bench.write(b"b", b"c")
        with pytest.raises(DeliveryFailedError) as found:
            await bench.flush(2_000)
        text = "The brokers have not confirmed 2 records after 2 s; written to: orders"
        assert (str(found.value), found.value.failed, found.value.unanswered) == (text, 0, 2)
        assert found.value.retriable
        await bench.world.cluster.start_broker_async(1)
        await bench.flush()
        assert bench.values() == [b"a", b"b", b"c"]

    simulated(scene)


def test_there_is_no_room_while_brokers_do_not_answer() -> None:
    async def scene(bench: Bench) -> None:
        well: list[bool] = []
        bench.world.cluster.faults.on(ApiKey.PRODUCE, DROP_CONNECTION, when=lambda _request: not well)
        count = 0
        while bench.has_room():
            bench.write(*numbered(1, count))
            count += 1
        await bench.client.wait(3_000, bench.has_room)
        assert not bench.has_room()
        assert 50 < count < 100
        well.append(True)
        await bench.client.wait(10_000, bench.has_room)
        assert bench.has_room()
        await bench.flush()
        assert len(bench.values()) == count

    simulated(scene, small(buffer_bytes=10_000))


# ---------------------------------------------------------------------------------------------- refusals


def test_small_records_reach_a_topic_with_small_batches() -> None:
    """None of 1,000 records of 100 bytes did with librdkafka, whose batches are larger than the topic takes."""

    async def scene(bench: Bench) -> None:
        bench.world.cluster.create_topic("small", 1, configs={**KEPT, "max.message.bytes": "10000"})
        values = [b"%04d" % number + b"x" * 96 for number in range(1_000)]
        bench.write(*values, topic="small")
        await bench.flush()
        assert bench.values(topic="small") == values
        assert bench.writer.refused() == []

    simulated(scene)


def test_a_record_that_its_topic_does_not_take_comes_back_with_its_origin() -> None:
    async def scene(bench: Bench) -> None:
        bench.world.cluster.create_topic("small", 1, configs={**KEPT, "max.message.bytes": "1000"})
        bench.write(b"a", b"v" * 2_000, b"b", topic="small")
        await bench.flush()
        [refused] = bench.writer.refused()
        assert (refused.topic, refused.partition, refused.value, refused.origin) == (
            "small", 0, b"v" * 2_000, (b"v" * 2_000,),
        )  # fmt: skip
        assert isinstance(refused.error, MessageTooLargeError)
        assert bench.writer.refused() == []
        assert bench.values(topic="small") == [b"a", b"b"]

    simulated(scene)


def test_refused_records_without_origin_are_an_error_of_the_flush() -> None:
    async def scene(bench: Bench) -> None:
        bench.world.cluster.create_topic("small", 1, configs={**KEPT, "max.message.bytes": "1000"})
        for value in (b"a", b"v" * 2_000):
            bench.writer.write_tracked("small", b"k", value, 5, (), 0)
        with pytest.raises(
            DeliveryFailedError, match=r"Could not write 1 record; the first: small-0 takes no"
        ) as found:
            await bench.flush()
        assert (found.value.failed, found.value.unanswered, found.value.retriable) == (1, 0, False)
        await bench.flush()
        assert bench.writer.written == {TopicPartition("small", 0): 1}

    simulated(scene)


def test_errors_that_are_not_about_records_wait_for_whoever_polls() -> None:
    async def scene(bench: Bench) -> None:
        denied = TopicAuthorizationFailedError("another topic")
        bench.client.errors.report(denied)
        bench.write(b"v")
        await bench.flush()
        assert bench.values() == [b"v"]
        assert list(bench.client.errors.waiting) == [denied]

    simulated(scene)


def test_a_missing_right_is_an_error_of_the_flush() -> None:
    async def scene(bench: Bench) -> None:
        denied = InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, producer_epoch=-1)
        bench.world.cluster.faults.on(ApiKey.INIT_PRODUCER_ID, answer(denied))
        bench.write(b"v")
        for _ in range(2):
            with pytest.raises(ClusterAuthorizationFailedError):
                await bench.flush()

    simulated(scene)


# ---------------------------------------------------------------------------------------------- offsets


def test_tracked_records_have_offsets() -> None:
    async def scene(bench: Bench) -> None:
        for partition, count in ((0, 3), (1, 1)):
            for value in numbered(count):
                bench.writer.write_tracked(TOPIC, b"k", value, 5, (), partition)
        bench.write(b"v", partition=2)
        await bench.flush()
        assert bench.writer.written == {TopicPartition(TOPIC, 0): 3, TopicPartition(TOPIC, 1): 1}
        bench.writer.written.pop(TopicPartition(TOPIC, 1))
        bench.writer.write_tracked(TOPIC, b"k", b"v", 5, (), 0)
        await bench.flush()
        assert bench.writer.written == {TopicPartition(TOPIC, 0): 4}

    simulated(scene, partitions=3)


def duplicated(request: Any) -> ProduceResponse:
    """The answer of a broker that has the batch and has forgotten where."""
    [topic] = request.topic_data
    [data] = topic.partition_data
    told = PartitionProduceResponse(index=data.index, error_code=ErrorCode.DUPLICATE_SEQUENCE_NUMBER, base_offset=-1)
    return ProduceResponse(responses=(TopicProduceResponse(topic_id=topic.topic_id, partition_responses=(told,)),))


def test_the_end_of_the_log_is_the_offset_after_a_duplicate() -> None:
    async def scene(bench: Bench) -> None:
        await bench.world.produce(numbered(7))
        bench.world.cluster.faults.on(ApiKey.PRODUCE, answer(duplicated), times=1)
        bench.writer.write_tracked(TOPIC, b"k", b"v", 5, (), 0)
        await bench.flush()
        assert bench.writer.written == {TopicPartition(TOPIC, 0): 7}

    simulated(scene)


# -------------------------------------------------------------------------------------------------- end


def test_a_renewed_writer_has_another_id_and_nothing_queued() -> None:
    async def scene(bench: Bench) -> None:
        seen = bench.world.requests(ApiKey.INIT_PRODUCER_ID)
        bench.writer.write_tracked(TOPIC, b"k", b"a", 5, (), 0)
        await bench.flush()
        bench.write(b"dropped")
        await bench.writer.renew()
        assert (bench.writer.pending, bench.writer.written) == (0, {})
        bench.write(b"b")
        await bench.flush()
        assert bench.values() == [b"a", b"b"]
        assert len(seen) == 2
        assert repr(bench.writer) == "<EngineWriter: 0 records queued>"

    simulated(scene)


def test_a_closed_writer_takes_nothing() -> None:
    async def scene(bench: Bench) -> None:
        bench.write(b"dropped")
        await bench.writer.close()
        bench.write(b"ignored")
        assert bench.writer.pending == 0

    simulated(scene)


def test_the_settings_are_those_of_the_configuration() -> None:
    config = ProducerConfig(
        linger_ms=7,
        batch_size=1_000,
        buffer_memory=2_000,
        max_request_size=3_000,
        compression_type="gzip",
        compression_gzip_level=9,
        max_in_flight_requests_per_connection=3,
        request_timeout_ms=4_000,
    )
    assert writer_settings(config, principal="User:ann", is_transactional=True) == EngineWriterSettings(
        AccumulatorSettings(1_000, 7, 2_000, 3_000, BatchSettings(Compression.GZIP, 9, is_transactional=True)),
        ProduceSettings(4_000, 3_000, 3, principal="User:ann"),
    )


def test_the_settings_without_configuration_are_the_defaults() -> None:
    assert writer_settings(ProducerConfig(), principal=None, is_transactional=False) == EngineWriterSettings()
