"""Sources and sinks that are deleted and made again under the plane."""

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.errors import TransactionFailedError, UnknownTopicOrPartitionError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafka_groups.records.engine_plane import EnginePlane
from tests.unit.records.clusters import KEPT, TOPIC, RecordsWorld
from tests.unit.records.deleted_source import LEVELS, DeletedSource
from tests.unit.records.planes import PATIENCE_MS, SINK, simulated, written


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


@pytest.mark.parametrize("transactional_id", [None, "id"])
def test_a_topic_that_is_made_again_right_before_a_renewal_is_told(transactional_id: str | None) -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        await plane.prepare()
        plane.write_tracked("sink", b"k", b"before", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        world.cluster.delete_topic("sink")
        world.cluster.create_topic("sink", 1, configs=KEPT)
        await plane.renew()
        await plane.prepare()
        plane.write_tracked("sink", b"k", b"after", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        assert plane.replaced == {SINK}
        await plane.renew()
        assert plane.replaced == {SINK}
        plane.forget_logs([SINK])
        assert plane.replaced == set()

    simulated(scene, transactional_id=transactional_id)


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


def test_a_topic_that_is_made_again_has_another_id() -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        before = await plane.ask_topic_ids(["sink"])
        world.cluster.delete_topic("sink")
        with pytest.raises(UnknownTopicOrPartitionError, match="sink"):
            await plane.ask_topic_ids(["sink"])
        created = world.cluster.create_topic("sink", 1, configs=KEPT)
        assert await plane.ask_topic_ids(["sink"]) == {"sink": created.topic_id} != before

    simulated(scene)


@pytest.mark.parametrize("error", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.NONE])
def test_a_topic_whose_id_may_not_be_asked_for_or_that_has_none_is_left_out(error: ErrorCode) -> None:
    async def scene(world: RecordsWorld, plane: EnginePlane) -> None:
        known = await plane.ask_topic_ids([TOPIC])
        topics = (
            MetadataResponseTopic(error_code=error, name="sink"),
            MetadataResponseTopic(error_code=ErrorCode.NONE, name=TOPIC, topic_id=known[TOPIC]),
        )
        given = MetadataResponse(brokers=(), controller_id=-1, topics=topics)
        world.cluster.faults.on(ApiKey.METADATA, answer(given))
        assert await plane.ask_topic_ids([TOPIC, "sink"]) == known

    simulated(scene)
