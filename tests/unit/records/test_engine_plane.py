"""The plane on the embedded cluster, in memory and in virtual time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.broker.faults import DROP_CONNECTION, answer
from kafka_groups.client.membership.group_metadata import NOBODY, GroupMetadata
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.errors import (
    ClosedError,
    ClusterAuthorizationFailedError,
    DeliveryFailedError,
    IllegalStateError,
    LeaderNotAvailableError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
    TransactionFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.apis import APIS, ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_groups.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_groups.protocol.messages.metadata import MetadataResponse
from kafka_groups.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_groups.records.engine_plane import EnginePlane, EnginePlaneConfig
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.testing.simulation.virtual_time import VirtualTimeLoop
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.cluster_client import Topic
from tests.support.members.negotiated_cluster import NegotiatedCluster
from tests.unit.records.clusters import KEPT, TOPIC, RecordsWorld

SOURCE, CHANGELOG, SINK = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1), TopicPartition("sink", 0)
PATIENCE_MS = 60_000
GROUP = GroupMetadata("group", NOBODY)


def config_of(world: RecordsWorld, **producer: object) -> EnginePlaneConfig:
    return EnginePlaneConfig(
        connection=admin_config(bootstrap_servers=world.cluster.bootstrap_servers),
        sources=ReaderConfig(),
        restorer=ReaderConfig(isolation_level="read_committed"),
        producer=ProducerConfig(**producer),  # type: ignore[arg-type]
    )


@asynccontextmanager
async def plane_of(
    world: RecordsWorld, transactional_id: str | None = None, **producer: object
) -> AsyncIterator[EnginePlane]:
    world.cluster.create_topic("sink", 1, configs=KEPT)

    def counts() -> Mapping[str, int]:
        found = (world.cluster.metadata.topic(name) for name in (TOPIC, "sink"))
        return {topic.name: topic.num_partitions for topic in found if topic is not None}

    config = evolve(config_of(world, **producer), transactional_id=transactional_id)
    plane = EnginePlane(config, world.environment(), counts)
    try:
        yield plane
    finally:
        await plane.close()


def simulated(scene: Callable[[RecordsWorld, EnginePlane], Awaitable[None]], **given: Any) -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, partitions=2) as world, plane_of(world, **given) as plane:
            await scene(world, plane)

    run_simulated(run, seed=1)


def written(world: RecordsWorld) -> list[bytes | None]:
    return [each.value for each in world.cluster.records("sink")]


async def read_sources(plane: EnginePlane, count: int) -> list[bytes | None]:
    """Poll until so many records of sources have come. A source that was made again is read from its begin."""
    found: list[bytes | None] = []
    while len(found) < count:
        await plane.wait(PATIENCE_MS)
        with suppress(UnknownTopicOrPartitionError, LeaderNotAvailableError):
            polled = await plane.poll(100)
            found += [row[2] for batch in polled.batches.values() for row in batch.rows()]
            await plane.assign(dict.fromkeys(polled.changes, 0))
    return found


def test_sources_and_changelogs_are_read_apart_from_each_other() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        await world.produce([b"source"])
        await world.produce([b"change"], partition=1)
        assert not await plane.poll(10)
        assert not await plane.poll_restoring(10)
        await plane.assign({SOURCE: 0})
        await plane.assign_restoring({CHANGELOG: 0})
        while not (sources := await plane.poll(10)).batches:
            await plane.wait(PATIENCE_MS)
        while not (changes := await plane.poll_restoring(10)).batches:
            await plane.wait(PATIENCE_MS)
        assert [row[2] for row in sources.batches[SOURCE].rows()] == [b"source"]
        assert [row[2] for row in changes.batches[CHANGELOG].rows()] == [b"change"]
        await plane.pause([SOURCE])
        await world.produce([b"later"])
        await plane.wait(5_000)
        assert not (await plane.poll(10)).batches
        await plane.resume([SOURCE])
        await plane.wait(5_000)
        assert (await plane.poll(10)).count == 1
        await plane.unassign([SOURCE])
        await plane.unassign_restoring([CHANGELOG])
        await world.produce([b"not read"])
        await plane.wait(5_000)
        assert not await plane.poll(10)
        assert not await plane.poll_restoring(10)

    simulated(scene)


def test_records_and_changes_are_written_and_changes_have_offsets() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        assert plane.has_room
        assert not plane.has_failed
        await plane.prepare()
        plane.write("sink", b"k", b"out", 5, (), None)
        plane.write_tracked("sink", b"k", b"change", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        assert written(world) == [b"out", b"change"]
        assert plane.written == {SINK: 2}
        plane.forget_written([SINK])
        assert plane.written == {}
        plane.write("sink", b"k", b"dropped", 5, (), 0)
        await plane.renew()
        plane.write("sink", b"k", b"after", 5, (), 0, "origin")
        await plane.flush(PATIENCE_MS)
        assert written(world)[-1] == b"after"
        assert plane.refused() == []
        with pytest.raises(IllegalStateError, match="has no transactions"):
            await plane.commit_transaction({}, GROUP)
        with pytest.raises(IllegalStateError, match="has no transactions"):
            plane.send_offsets({}, GROUP)

    simulated(scene)


def test_records_are_committed_with_offsets_in_transactions() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        await plane.prepare()
        plane.write("sink", b"k", b"lost", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        assert await plane.stable_bounds([SINK]) == {SINK: (0, 0)}
        await plane.renew()
        await plane.prepare()
        plane.write_tracked("sink", b"k", b"kept", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        offsets = {SOURCE: OffsetAndMetadata(7, metadata="m")}
        await plane.commit_transaction(offsets, GROUP)
        assert not plane.has_failed
        bounds = (await plane.stable_bounds([SINK]))[SINK]
        await plane.assign_restoring({SINK: 0})
        found = await plane.poll_restoring(10)
        while not found.ends:
            await plane.wait(PATIENCE_MS)
            found = await plane.poll_restoring(10)
        assert [row[2] for row in found.batches[SINK].rows()] == [b"kept"]
        assert found.ends == {SINK: bounds[1]}
        assert plane.written == {SINK: found.batches[SINK].rows()[0][0] + 1}

    simulated(scene, transactional_id="id")


class DeletedSource:
    """A worker whose source is deleted while it commits what it has read of it."""

    def __init__(self, world: RecordsWorld, plane: EnginePlane) -> None:
        self.world, self.plane = world, plane
        self.offsets = {SOURCE: OffsetAndMetadata(20)}
        self.is_group_away = False

    async def begin(self, level: int, *, is_pending: bool, is_stored: bool = False) -> None:
        """Process 20 records, and begin to commit them.

        Args:
            level: The level of transactions.
            is_pending: Whether the coordinator of the group does not answer.
            is_stored: Whether it has stored the offset already.
        """
        world, plane = self.world, self.plane
        world.cluster.faults.on(ApiKey.TXN_OFFSET_COMMIT, DROP_CONNECTION, when=lambda _: self.is_group_away)
        async with self.other_client() as client:
            await client.finalise("transaction.version", level)
        await world.produce([b"old %d" % number for number in range(20)])
        await plane.prepare()
        await plane.assign({SOURCE: 0})
        for value in await read_sources(plane, 20):
            plane.write("sink", b"k", value, 5, (), 0)
        if is_stored:
            plane.send_offsets(self.offsets, GROUP)
        await plane.flush(PATIENCE_MS)
        await plane.wait(1_000)
        self.is_group_away = is_pending
        if is_pending:
            with pytest.raises(OperationTimeoutError):
                await self.commit()

    def other_client(self) -> NegotiatedCluster:
        return NegotiatedCluster(self.world.cluster.bootstrap_servers, self.world.environment())

    def delete(self) -> None:
        self.world.cluster.delete_topic(TOPIC)

    async def make_again(self) -> None:
        """Make the source again, with 30 other records."""
        self.create()
        await self.fill()

    def create(self) -> None:
        topic_id = self.world.cluster.create_topic(TOPIC, self.world.partitions, configs=KEPT).topic_id
        self.world.topic = Topic(TOPIC, topic_id)

    async def fill(self) -> None:
        await self.world.produce([b"new %d" % number for number in range(30)])

    async def notice(self) -> None:
        """Poll as a worker does while its commit is pending, until it hears that the source is another one."""
        while not (await self.plane.poll(100)).changes:
            await self.plane.wait(PATIENCE_MS)
        self.offsets = {}

    async def commit(self) -> None:
        await self.plane.commit_transaction(self.offsets, GROUP)

    async def fail(self) -> TransactionFailedError:
        """Commit until the transaction is lost. Return why."""
        self.is_group_away = False
        with pytest.raises(TransactionFailedError) as raised:
            await self._until_committed()
        assert self.plane.has_failed
        return raised.value

    async def _until_committed(self) -> None:
        for _ in range(30):  # not for ever: a fault would take long to show itself
            with suppress(OperationTimeoutError):
                await self.commit()
                return

    async def begin_again(self) -> None:
        """Begin as tasks do, at what the group has. Nothing of the new source may be missing."""
        await self.plane.renew()
        await self.plane.unassign([SOURCE])
        async with self.other_client() as client:
            assert await client.offsets("group") == {}
        await self.plane.prepare()
        await self.plane.assign({SOURCE: 0})
        assert await read_sources(self.plane, 30) == [b"new %d" % number for number in range(30)]
        self.offsets = {SOURCE: OffsetAndMetadata(30)}
        await self.commit()
        async with self.other_client() as client:
            assert await client.offsets("group") == self.offsets


LEVELS = (1, 2)


@pytest.mark.parametrize("level", LEVELS)
def test_a_commit_is_given_up_when_a_source_is_deleted_and_its_offset_is_not_that_of_the_next_topic(level: int) -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        source = DeletedSource(world, plane)
        await source.begin(level, is_pending=True)
        source.delete()
        await source.fail()
        await source.make_again()
        await source.begin_again()

    simulated(scene, transactional_id="id")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("is_left_out", [False, True])
def test_a_commit_is_given_up_when_a_source_was_made_again_while_it_was_pending(level: int, is_left_out: bool) -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        source = DeletedSource(world, plane)
        await source.begin(level, is_pending=True)
        source.delete()
        await source.make_again()
        offsets = source.offsets
        await source.notice()
        if not is_left_out:
            source.offsets = offsets
        await source.fail()
        await source.begin_again()

    simulated(scene, transactional_id="id")


def test_the_group_refuses_the_offset_of_a_source_that_was_made_again_unnoticed() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        source = DeletedSource(world, plane)
        await source.begin(2, is_pending=False)
        refusals: list[TransactionFailedError] = []
        # The client learns too late that there is another id.
        silent = MetadataResponse(brokers=(), controller_id=-1, topics=())
        world.cluster.faults.on(ApiKey.METADATA, answer(silent), when=lambda _: not refusals)
        source.delete()
        source.create()
        refusals.append(await source.fail())
        assert "TXN_OFFSET_COMMIT: UNKNOWN_TOPIC_ID for orders-0" in str(refusals[0])
        await source.fill()
        await source.begin_again()

    simulated(scene, transactional_id="id")


def test_records_for_a_topic_that_vanishes_wait_for_the_next_one_and_are_refused_after_a_minute() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        plane.write("sink", b"k", b"before", 5, (), None, "origin")
        await plane.flush(PATIENCE_MS)
        world.cluster.delete_topic("sink")
        assert "sink" not in await plane.partition_counts()
        plane.write("sink", b"k", b"while it is away", 5, (), None, "origin")
        world.cluster.create_topic("sink", 1, configs=KEPT)
        await plane.flush(PATIENCE_MS)
        assert written(world) == [b"while it is away"]
        world.cluster.delete_topic("sink")
        await plane.renew()
        plane.write("sink", b"k", b"too late", 5, (), None, "origin")
        await plane.flush(2 * PATIENCE_MS)
        [refused] = plane.refused()
        assert refused.value == b"too late"
        assert "has not existed for 6" in str(refused.error)
        assert plane.partitions("sink") is None
        with pytest.raises(UnknownTopicOrPartitionError, match="'sink' does not exist"):
            plane.write("sink", b"k", b"refused at once", 5, (), None, "origin")

    simulated(scene)


@pytest.mark.parametrize("transactional_id", [None, "id"])
def test_a_topic_that_is_made_again_in_another_size_is_counted_anew(transactional_id: str | None) -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        await plane.prepare()
        plane.write("sink", b"k", b"before", 5, (), None, "origin")
        await plane.flush(PATIENCE_MS)
        world.cluster.delete_topic("sink")
        world.cluster.create_topic("sink", 3, configs=KEPT)
        plane.write("sink", b"k", b"after", 5, (), None, "origin")
        await plane.flush(PATIENCE_MS)
        assert plane.partitions("sink") == 3
        assert plane.replaced == {SINK}
        plane.forget_written([SINK])
        assert plane.replaced == set()
        assert plane.refused() == []

    simulated(scene, transactional_id=transactional_id)


@pytest.mark.parametrize("level", LEVELS)
def test_a_block_of_40_s_closes_no_connection_and_loses_no_transaction(
    level: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The time for a request is 30 s, and that for a transaction 60 s."""

    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        source = DeletedSource(world, plane)
        await source.begin(level, is_pending=False)
        await source.commit()  # so that there is a connection of each kind
        connected = world.requests(ApiKey.API_VERSIONS)
        for number in range(3):
            plane.write("sink", b"k", b"before %d" % number, 5, (), 0)
            await plane.wait(10)  # the batch is under way
            loop.block(40)
            plane.write("sink", b"k", b"after %d" % number, 5, (), 0)
            await plane.flush(PATIENCE_MS)
            await source.commit()
        assert connected == []
        assert written(world)[-6:] == [b"%s %d" % (when, at) for at in range(3) for when in (b"before", b"after")]

    simulated(scene, transactional_id="id", transaction_timeout_ms=60_000)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("is_noticed", [False, True])
def test_an_offset_that_was_stored_before_its_source_was_deleted_does_not_count(level: int, is_noticed: bool) -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        source = DeletedSource(world, plane)
        stored = world.requests(ApiKey.TXN_OFFSET_COMMIT)
        await source.begin(level, is_pending=False, is_stored=True)
        assert len(stored) == 1
        silent = MetadataResponse(brokers=(), controller_id=-1, topics=())
        rule = world.cluster.faults.on(ApiKey.METADATA, answer(silent), when=lambda _: not is_noticed)
        source.delete()
        source.create()
        if is_noticed:
            await source.notice()
            await source.fail()
        else:
            await source.commit()
        world.cluster.faults.remove(rule)
        async with source.other_client() as client:
            assert await client.offsets("group") == {}

    simulated(scene, transactional_id="id")


def test_a_wait_ends_when_there_is_room_and_not_before() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        clock = world.simulation.clock
        room = [plane.has_room]
        plane.write("sink", b"k", b"x" * 2_000, 5, (), 0)
        room.append(plane.has_room)
        begun_ms = clock.now_ms()
        await plane.wait(PATIENCE_MS)
        room.append(plane.has_room)
        assert room == [True, False, True]
        assert clock.now_ms() - begun_ms < PATIENCE_MS
        begun_ms = clock.now_ms()
        await plane.wait(700)  # there is room all the time, and nothing to read
        await plane.rest(50)
        assert clock.now_ms() - begun_ms == 750

    simulated(scene, buffer_memory=1_000)


def test_a_failure_of_a_reader_that_reads_nothing_any_more_is_taken() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        await plane.poll(1)
        plane._restorer._manager._failures[1] = LeaderNotAvailableError("a broker was away")
        with pytest.raises(LeaderNotAvailableError):
            await plane.poll_restoring(1)
        begun_ms = world.simulation.clock.now_ms()
        await plane.wait(700)  # it would end at once, again and again
        assert world.simulation.clock.now_ms() - begun_ms == 700

    simulated(scene)


def test_a_rest_lasts_whatever_arrives() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        await plane.assign({SOURCE: 0})
        assert not await plane.poll(10)
        await world.produce([b"x"])
        begun_ms = world.simulation.clock.now_ms()
        await plane.rest(3_000)
        assert world.simulation.clock.now_ms() - begun_ms == 3_000
        assert (await plane.poll(10)).count == 1

    simulated(scene)


def test_questions_about_topics_and_offsets() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        assert plane.partitions(TOPIC) == 2
        assert plane.partitions("absent") is None
        await world.produce([b"a", b"b", b"c"])
        counts = await plane.partition_counts()
        assert (counts[TOPIC], counts["sink"]) == (2, 1)
        assert await plane.bounds([]) == {}
        assert await plane.bounds([SOURCE, CHANGELOG]) == {SOURCE: (0, 3), CHANGELOG: (0, 0)}
        assert await plane.stable_bounds([SOURCE]) == {SOURCE: (0, 3)}
        assert await plane.offsets_for_times({SOURCE: 0, CHANGELOG: 0}) == {SOURCE: 0}
        await plane.delete_records({SOURCE: 2})
        assert await plane.bounds([SOURCE]) == {SOURCE: (2, 3)}
        world.cluster.create_topic("new", 5)
        assert plane.partitions("new") is None  # as the function says
        await plane.partition_counts()
        assert plane.partitions("new") == 5
        await plane.renew()
        assert plane.partitions("new") == 5

    simulated(scene)


def test_offsets_that_may_not_be_read_name_principal_operation_and_topic() -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, partitions=2) as world:
            plane = EnginePlane(evolve(config_of(world), principal="User:ann"), world.environment(), dict)
            denied = ListOffsetsPartitionResponse(partition_index=0, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            refusal = ListOffsetsResponse(topics=(ListOffsetsTopicResponse(name=TOPIC, partitions=(denied,)),))
            world.cluster.faults.on(ApiKey.LIST_OFFSETS, answer(refusal))
            for asking in (plane.bounds([SOURCE]), plane.stable_bounds([SOURCE]), plane.offsets_for_times({SOURCE: 0})):
                with pytest.raises(
                    TopicAuthorizationFailedError, match=f"User:ann may not read {SOURCE}. Grant .* Read"
                ):
                    await asking
            await plane.close()

    run_simulated(run, seed=1)


def test_whoever_polls_hears_of_a_fatal_error_and_a_wait_ends_at_once() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        refusal = InitProducerIdResponse(
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, producer_id=-1, producer_epoch=-1
        )
        world.cluster.faults.on(ApiKey.INIT_PRODUCER_ID, answer(refusal))
        plane.write("sink", b"k", b"x", 5, (), 0)
        await asyncio.wait_for(plane.wait(PATIENCE_MS), PATIENCE_MS / 2_000)
        for _ in range(2):
            with pytest.raises(ClusterAuthorizationFailedError):
                await plane.poll(10)

    simulated(scene)


@pytest.mark.parametrize(("api", "name"), [(ApiKey.FETCH, "Fetch"), (ApiKey.INIT_PRODUCER_ID, "InitProducerId")])
def test_a_broker_that_is_too_old_is_an_error_that_names_the_release(api: ApiKey, name: str) -> None:
    async def polled(plane: EnginePlane) -> None:
        for _ in range(10):
            await plane.wait(1_000)
            await plane.poll(10)

    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        served = [
            ApiVersion(api_key=key, min_version=each.versions.low, max_version=each.versions.high)
            for key, each in APIS.items()
            if key is not api
        ]
        world.cluster.faults.on(ApiKey.API_VERSIONS, answer(ApiVersionsResponse(api_keys=tuple(served))))
        await plane.assign({SOURCE: 0})
        plane.write("sink", b"k", b"x", 5, (), 0)
        text = rf"does not support {name}\b.* Applications need Kafka 3\.7 or newer for their records\."
        with pytest.raises(UnsupportedVersionError, match=text):
            await polled(plane)

    simulated(scene)


def test_warnings_come_at_growing_intervals_and_not_with_each_request(caplog: pytest.LogCaptureFixture) -> None:
    def without_replicas(request: ProduceRequest) -> ProduceResponse:
        code = ErrorCode.NOT_ENOUGH_REPLICAS
        return ProduceResponse(
            responses=tuple(
                TopicProduceResponse(
                    topic_id=topic.topic_id,
                    partition_responses=tuple(
                        PartitionProduceResponse(index=each.index, error_code=code, base_offset=-1)
                        for each in topic.partition_data
                    ),
                )
                for topic in request.topic_data
            )
        )

    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        refusals = world.cluster.faults.on(ApiKey.PRODUCE, answer(without_replicas))
        plane.write("sink", b"k", b"x", 5, (), 0)
        with caplog.at_level(logging.WARNING, "kafka_groups"), pytest.raises(DeliveryFailedError):
            await plane.flush(600_000)
        assert refusals.hits > 500
        assert 3 <= len(caplog.messages) <= 15
        assert "Could not write to sink-0. NOT_ENOUGH_REPLICAS. Retrying." in caplog.messages[0]
        assert "more since the last warning" in caplog.messages[-1]

    simulated(scene)


def test_nothing_works_after_the_end() -> None:
    async def scene(_world: RecordsWorld, plane: EnginePlane) -> None:
        await plane.poll(1)
        await plane.close()
        with pytest.raises(ClosedError):
            await plane.poll(1)

    simulated(scene)


def test_metadata_is_fetched_as_often_as_the_youngest_age_wants() -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, partitions=2) as world:
            config = config_of(world, metadata_max_age_ms=1_000_000)
            config = evolve(config, restorer=evolve(config.restorer, metadata_max_age_ms=10_000))
            plane = EnginePlane(config, world.environment(), dict)
            await plane.assign({SOURCE: 0})
            await plane.bounds([SOURCE])  # it is connected
            asked = world.requests(ApiKey.METADATA)
            await asyncio.sleep(65)
            await plane.close()
            assert len(asked) == 6

    run_simulated(run, seed=1)


# --------------------------------------------------------------------------------------------- metrics


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
