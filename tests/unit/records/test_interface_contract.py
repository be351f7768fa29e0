"""The contract of data planes: the fake of unit tests and our own engine keep it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import pytest
from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.client.assembly import Environment
from kafka_groups.client.membership.group_metadata import NOBODY, GroupMetadata
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.errors import DeliveryFailedError, InvalidRecordError
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.records.engine_plane import EnginePlane, EnginePlaneConfig
from kafka_groups.records.interface import DataPlane, PolledRecords
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import OffsetAndMetadata, RecordRow, TopicPartition
from tests.support.fake_kafka import FakeKafka, FakePlane

SOURCE, CHANGELOG, SINK = TopicPartition("source", 0), TopicPartition("changelog", 0), TopicPartition("sink", 0)
COMPACTED = TopicPartition("compacted", 0)
COUNTS: Final[Mapping[str, int]] = {"source": 1, "changelog": 1, "sink": 1, "compacted": 1, "many": 3}
PATIENCE_MS, MOMENT_MS = 10_000, 300
GROUP = GroupMetadata("group", NOBODY)


@frozen
class Brokers:
    """A plane, and what others write to its brokers."""

    plane: DataPlane
    append: Callable[[TopicPartition, str], object]

    def fill(self, place: TopicPartition, *values: str) -> None:
        for value in values:
            self.append(place, value)


Scene = Callable[[Brokers], Awaitable[None]]
Run = Callable[[Scene, str | None], None]


# ------------------------------------------------------------------------------------------------ the planes


def on_fake(scene: Scene, transactional_id: str | None) -> None:
    kafka = FakeKafka(COUNTS)
    kafka.refusal = lambda place, entry: (
        InvalidRecordError("a record without a key") if place == COMPACTED and entry.key is None else None
    )
    plane = FakePlane(kafka, is_transactional=transactional_id is not None)
    asyncio.run(
        _played(scene, plane, lambda place, value: kafka.produce(place.topic, "k", value, partition=place.partition))
    )


def on_engine(scene: Scene, transactional_id: str | None) -> None:
    async def run(simulation: Simulation) -> None:
        network = MemoryNetwork()
        cluster = EmbeddedCluster(network=network, clock=simulation.clock)
        async with cluster:
            create_topics(cluster)
            config = EnginePlaneConfig(
                connection=admin_config(bootstrap_servers=cluster.bootstrap_servers),
                sources=ReaderConfig(isolation_level="read_committed"),
                restorer=ReaderConfig(isolation_level="read_committed"),
                producer=ProducerConfig(),
                transactional_id=transactional_id,
            )
            plane = EnginePlane(config, Environment(network, simulation.clock, simulation.rng), lambda: COUNTS)
            await _played(scene, plane, appending(cluster))

    run_simulated(run, seed=1)


async def _played(scene: Scene, plane: DataPlane, append: Callable[[TopicPartition, str], object]) -> None:
    try:
        await scene(Brokers(plane, append))
    finally:
        await plane.close()


def create_topics(cluster: EmbeddedCluster) -> None:
    for topic, count in COUNTS.items():
        kept = {"retention.ms": "-1"}
        cluster.create_topic(topic, count, configs=kept if topic != "compacted" else {"cleanup.policy": "compact"})


def appending(cluster: EmbeddedCluster) -> Callable[[TopicPartition, str], object]:
    return lambda place, value: cluster.produce(place.topic, [value], keys=["k"], partition=place.partition)


PLANES = pytest.mark.parametrize("run", [on_fake, on_engine])

# ------------------------------------------------------------------------------------------------- the scenes


async def polled(plane: DataPlane, poll: Callable[[int], Awaitable[PolledRecords]]) -> PolledRecords:
    """Poll until there is something."""
    while not (found := await poll(100)):
        await plane.wait(PATIENCE_MS)
    return found


async def read(plane: DataPlane, place: TopicPartition, end: int) -> list[RecordRow]:
    """Read committed records of a topic from its beginning on, as changelogs are read, until its end is told."""
    await plane.assign_restoring({place: 0})
    rows: list[RecordRow] = []
    while True:
        found = await polled(plane, plane.poll_restoring)
        rows += [row for batch in found.batches.values() for row in batch.rows()]
        if found.ends.get(place, -1) >= end:
            await plane.unassign_restoring([place])
            return rows


async def nothing_comes(brokers: Brokers) -> bool:
    plane = brokers.plane
    for _ in range(3):
        await plane.wait(MOMENT_MS)
        if (await plane.poll(10)).batches:
            return False
    return True


@PLANES
def test_a_topic_has_one_id(run: Run) -> None:
    async def scene(brokers: Brokers) -> None:
        ids = await brokers.plane.ask_topic_ids(["source", "many"])
        assert ids.keys() == {"source", "many"}
        assert len(set(ids.values())) == 2
        assert await brokers.plane.ask_topic_ids(iter(["many", "source"])) == ids
        assert await brokers.plane.ask_topic_ids([]) == {}

    run(scene, None)


@PLANES
def test_records_come_in_order_and_the_end_is_told_behind_them(run: Run) -> None:
    async def scene(brokers: Brokers) -> None:
        plane = brokers.plane
        brokers.fill(SOURCE, "a", "b", "c")
        await plane.assign({SOURCE: 1})
        for values, end in ([b"b", b"c"], 3), ([b"d"], 4):
            rows: list[RecordRow] = []
            ends: dict[TopicPartition, int] = {}
            while not ends:
                found = await polled(plane, plane.poll)
                rows += [row for batch in found.batches.values() for row in batch.rows()]
                assert all(batch.next_offset == batch.rows()[-1][0] + 1 for batch in found.batches.values())
                ends |= found.ends
            assert [(row[0], row[2]) for row in rows] == list(zip(range(end - len(values), end), values, strict=True))
            assert ends == {SOURCE: end}
            brokers.fill(SOURCE, "d")

    run(scene, None)


@PLANES
def test_what_is_paused_or_unassigned_does_not_come(run: Run) -> None:
    async def scene(brokers: Brokers) -> None:
        plane = brokers.plane
        await plane.assign({SOURCE: 0})
        await plane.pause([SOURCE])
        brokers.fill(SOURCE, "a")
        assert await nothing_comes(brokers)
        await plane.resume([SOURCE])
        assert (await polled(plane, plane.poll)).count == 1
        await plane.unassign([SOURCE])
        brokers.fill(SOURCE, "b")
        assert await nothing_comes(brokers)
        await plane.assign({SOURCE: 0})
        assert (await polled(plane, plane.poll)).count >= 1

    run(scene, None)


@PLANES
def test_sources_and_changelogs_are_read_apart(run: Run) -> None:
    async def scene(brokers: Brokers) -> None:
        plane = brokers.plane
        brokers.fill(SOURCE, "source")
        brokers.fill(CHANGELOG, "change")
        await plane.assign({SOURCE: 0})
        await plane.assign_restoring({CHANGELOG: 0})
        sources, changes = await polled(plane, plane.poll), await polled(plane, plane.poll_restoring)
        assert [row[2] for row in sources.batches[SOURCE].rows()] == [b"source"]
        assert [row[2] for row in changes.batches[CHANGELOG].rows()] == [b"change"]

    run(scene, None)


@PLANES
def test_an_offset_that_was_deleted_is_out_of_range_once(run: Run) -> None:
    async def scene(brokers: Brokers) -> None:
        plane = brokers.plane
        brokers.fill(SOURCE, "a", "b", "c")
        await plane.delete_records({SOURCE: 2})
        await plane.assign({SOURCE: 0})
        assert (await polled(plane, plane.poll)).out_of_range == (SOURCE,)
        assert await nothing_comes(brokers)
        await plane.assign({SOURCE: 2})
        assert [row[:3] for row in (await polled(plane, plane.poll)).batches[SOURCE].rows()] == [(2, b"k", b"c")]

    run(scene, None)


@PLANES
def test_records_are_in_the_log_after_a_flush_in_the_order_of_their_writing(run: Run) -> None:
    async def scene(brokers: Brokers) -> None:
        plane = brokers.plane
        assert plane.has_room
        headers = (("h", b"x"), ("n", None))
        plane.write("sink", b"k", b"1", 5, headers, None)
        plane.write("sink", b"k", None, 6, (), 0)
        plane.write("sink", None, b"3", 7, (), 0, ("an origin",))
        await plane.flush(PATIENCE_MS)
        assert plane.refused() == []
        assert not plane.has_failed
        wanted = [(0, b"k", b"1", 5, headers), (1, b"k", None, 6, ()), (2, None, b"3", 7, ())]
        assert [tuple(row) for row in await read(plane, SINK, 3)] == wanted
        for number in range(20):
            plane.write("many", b"key", b"%d" % number, 1, (), None)
        await plane.flush(PATIENCE_MS)
        bounds = await plane.bounds([TopicPartition("many", each) for each in range(3)])
        (place,) = [place for place, (_, end) in bounds.items() if end]  # a key has one partition
        assert [row[2] for row in await read(plane, place, 20)] == [b"%d" % number for number in range(20)]

    run(scene, None)


@PLANES
def test_the_offsets_of_tracked_records_are_known_after_a_flush(run: Run) -> None:
    async def scene(brokers: Brokers) -> None:
        plane = brokers.plane
        brokers.fill(CHANGELOG, "before")
        for number in range(3):
            plane.write_tracked("changelog", b"k", b"%d" % number, 5, (), 0)
        await plane.flush(PATIENCE_MS)
        assert plane.written[CHANGELOG] == 4
        plane.forget_written([CHANGELOG])
        assert CHANGELOG not in plane.written
        plane.write_tracked("changelog", b"k", b"more", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        assert plane.written[CHANGELOG] == 5
        plane.forget_logs([CHANGELOG])
        assert CHANGELOG not in plane.written

    run(scene, None)


@PLANES
def test_a_refused_record_comes_back_with_its_origin_or_fails_the_flush(run: Run) -> None:
    async def scene(brokers: Brokers) -> None:
        plane = brokers.plane
        plane.write("compacted", None, b"no key", 5, (), 0, ("an origin",))
        await plane.flush(PATIENCE_MS)
        (refused,) = plane.refused()
        assert (refused.topic, refused.key, refused.value, refused.origin) == (
            "compacted", None, b"no key", ("an origin",)
        )  # fmt: skip
        assert not refused.error.retriable
        assert plane.refused() == []
        plane.write("compacted", None, b"no key", 5, (), 0)
        with pytest.raises(DeliveryFailedError) as caught:
            await plane.flush(PATIENCE_MS)
        assert (caught.value.failed, caught.value.unanswered, caught.value.retriable) == (1, 0, False)

    run(scene, None)


@PLANES
def test_a_transaction_is_there_as_a_whole_or_not_at_all(run: Run) -> None:
    async def scene(brokers: Brokers) -> None:
        plane, offsets = brokers.plane, {SOURCE: OffsetAndMetadata(3)}
        brokers.fill(SOURCE, "a", "b", "c")
        await plane.prepare()
        await plane.prepare()
        plane.write("sink", b"k", b"lost", 5, (), 0)
        await plane.flush(PATIENCE_MS)
        assert (await plane.stable_bounds([SINK]))[SINK][1] == 0
        await plane.renew()
        await plane.prepare()
        for value in b"kept", b"too":
            plane.write("sink", b"k", value, 5, (), 0)
            plane.write_tracked("changelog", b"k", value, 5, (), 0)
            plane.send_offsets(offsets, GROUP)
            await plane.flush(PATIENCE_MS)
        await plane.commit_transaction(offsets, GROUP)
        await plane.commit_transaction({}, GROUP)  # there is nothing to commit
        assert not plane.has_failed
        end = (await plane.stable_bounds([SINK]))[SINK][1]
        assert [row[2] for row in await read(plane, SINK, end)] == [b"kept", b"too"]
        assert plane.written[CHANGELOG] >= 2

    run(scene, "id")


@PLANES
def test_questions_about_topics_and_offsets(run: Run) -> None:
    async def scene(brokers: Brokers) -> None:
        plane = brokers.plane
        brokers.fill(SOURCE, "a", "b", "c")
        assert plane.partitions("many") == 3
        assert plane.partitions("absent") is None
        counts = await plane.partition_counts()
        assert {topic: counts[topic] for topic in COUNTS} == COUNTS
        assert await plane.bounds([SOURCE, SINK]) == {SOURCE: (0, 3), SINK: (0, 0)}
        assert await plane.stable_bounds([SOURCE]) == {SOURCE: (0, 3)}
        assert await plane.offsets_for_times({SOURCE: 0, SINK: 0}) == {SOURCE: 0}
        await plane.delete_records({SOURCE: 2})
        assert await plane.bounds([SOURCE]) == {SOURCE: (2, 3)}

    run(scene, None)
