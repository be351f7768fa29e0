"""A worker whose records our own engine reads and writes, on the embedded cluster in virtual time."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from uuid import UUID

from typing_extensions import override

from kafka_groups.admin.rules.group_offsets import commit_question
from kafka_groups.client.calls.client import AdminClient, admin_client
from kafka_groups.client.membership.group_metadata import NOBODY, GroupMetadata
from kafka_groups.config.clients.admin import AdminConfig, admin_config
from kafka_groups.config.records.record_producer import ProducerConfig
from kafka_groups.config.records.record_reader import ReaderConfig
from kafka_groups.errors import TasksLostError
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.engine_plane import EnginePlane, EnginePlaneConfig
from kafka_groups.streams import StreamsBuilder, serdes
from kafka_groups.streams.processors.extractors import fail_on_invalid
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.runtime.worker import StreamsWorker
from kafka_groups.streams.runtime.worker_membership import NO_IDS
from kafka_groups.streams.tasks.error_context import ErrorHandler
from kafka_groups.streams.tasks.stream_task import TaskSettings
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import OffsetAndMetadata, TaskId, TopicPartition
from tests.support.fake_kafka import FakeKafka, FakeMembership
from tests.support.members.negotiated_cluster import NegotiatedCluster
from tests.unit.records.clusters import KEPT, TOPIC, RecordsWorld

__all__ = ["GROUP", "LETTERS", "SINK", "SOURCE", "TASK", "Application", "simulated"]

SOURCE, SINK, LETTERS, TASK = TopicPartition(TOPIC, 0), TopicPartition("sink", 0), TopicPartition("letters", 0), "0_0"
GROUP, NEVER_MS, WHILE_S = "app", 10**9, 60
COMMIT_MS = 5_000


class Member(FakeMembership):
    """A member of a group that the brokers have, too: they do not know that anybody is in it."""

    def __init__(self, cluster: NegotiatedCluster, client: AdminClient) -> None:
        super().__init__(FakeKafka({}))
        self._cluster = cluster
        self._client = client

    @override
    def group_metadata(self) -> GroupMetadata:
        if self.is_lost:
            raise TasksLostError("another member has the tasks")
        return GroupMetadata(GROUP, NOBODY)

    @override
    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[TopicPartition, UUID] = NO_IDS
    ) -> None:
        if not offsets:  # as a real member does
            return
        question = commit_question(GROUP, offsets, topic_ids=topic_ids)
        (await self._client.within(COMMIT_MS)(question))[GROUP].checked()

    @override
    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        found = await self._cluster.offsets(GROUP)
        return {each: found.get(each) for each in partitions}


class Application:
    """A worker that copies the source to the sink, and commits when the test says so."""

    def __init__(self, world: RecordsWorld, production: ErrorHandler | None, *, is_exactly_once: bool) -> None:
        self.world = world
        self.clock = world.simulation.clock
        self.cluster = NegotiatedCluster(world.cluster.bootstrap_servers, world.environment())
        self._client = admin_client(_connection(world), world.environment())
        self.member = Member(self.cluster, self._client)
        config = _plane_config(world, "id" if is_exactly_once else None)
        self.plane = EnginePlane(config, world.environment(), self._counts)
        builder = StreamsBuilder()
        builder.stream(TOPIC, key=serdes.bytes_, value=serdes.bytes_).to("sink")
        tasks = TaskSettings(
            topology=builder.build().graph,
            application_id=GROUP,
            extractor=fail_on_invalid,
            production_handler=production,
            dead_letter_topic="letters",
        )
        settings = WorkerSettings(tasks=tasks, commit_interval_ms=NEVER_MS, is_exactly_once=is_exactly_once)
        self.worker = StreamsWorker(settings, self.plane, self.member, self.clock)
        self.is_clean = True

    def _counts(self) -> Mapping[str, int]:
        return {topic.name: topic.num_partitions for topic in self.world.cluster.metadata.topics()}

    async def start(self) -> None:
        self.member.assign(TASK)
        await self.worker.start()
        await self.until(lambda: self.worker.tasks and self.worker.is_running)

    async def close(self) -> None:
        await self.worker.close(is_clean=self.is_clean)
        await self._client.close()
        await self.cluster.__aexit__(None, None, None)

    async def turn(self) -> int:
        """Turn once. Return how long that took in virtual time, in ms."""
        begun_ms = self.clock.now_ms()
        wait_ms = await self.worker.turn()
        took_ms = self.clock.now_ms() - begun_ms
        await self.plane.wait(min(wait_ms, 100))
        return took_ms

    async def until(self, done: Callable[[], object]) -> None:
        end_ms = self.clock.now_ms() + WHILE_S * 1_000
        while not done():
            assert self.clock.now_ms() < end_ms
            await self.turn()

    async def process(self, *values: bytes) -> None:
        """Let the worker process records. It does not commit them."""
        position = self._position() + len(values)
        await self.produce(*values)
        await self.until_read(position)

    async def produce(self, *values: bytes) -> None:
        """Append records to the source."""
        await self.world.produce([NewRecord(value, b"k", self.clock.wall_ms()) for value in values])

    async def until_read(self, position: int) -> None:
        """Let the worker process records until it is at this offset."""
        await self.until(lambda: self._position() == position)

    def _position(self) -> int:
        (queue,) = self.worker.tasks[TaskId.parse(TASK)].task.queues.values()
        return queue.position or 0

    def request_commit(self) -> None:
        for task in self.worker.tasks.values():
            task.task.is_commit_requested = True

    async def commit(self) -> None:
        """Commit, and go on until that has succeeded."""
        self.request_commit()
        await self.until(lambda: not any(each.is_dirty for each in self.worker.tasks.values()))

    async def written(self, *places: TopicPartition) -> list[bytes]:
        """What readers of committed records see."""
        return await self.cluster.committed(*(places or (SINK,)))

    async def offset(self) -> int | None:
        """What the group has, without open transactions."""
        found = (await self.cluster.offsets(GROUP)).get(SOURCE)
        return None if found is None else found.offset


def _connection(world: RecordsWorld) -> AdminConfig:
    return admin_config(bootstrap_servers=world.cluster.bootstrap_servers)


def _plane_config(world: RecordsWorld, transactional_id: str | None) -> EnginePlaneConfig:
    return EnginePlaneConfig(
        connection=_connection(world),
        sources=ReaderConfig(),
        restorer=ReaderConfig(isolation_level="read_committed"),
        producer=ProducerConfig(),
        transactional_id=transactional_id,
    )


def simulated(
    scene: Callable[[Application], Awaitable[None]],
    level: int = 2,
    production: ErrorHandler | None = None,
    *,
    is_exactly_once: bool = True,
    brokers: int = 1,
) -> None:
    """Play a scene with a worker that runs."""

    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, brokers=brokers) as world:
            world.cluster.create_topic("sink", 1, configs={**KEPT, "max.message.bytes": "1000"})
            world.cluster.create_topic("letters", 1, configs=KEPT)
            application = Application(world, production, is_exactly_once=is_exactly_once)
            await application.cluster.finalise("transaction.version", level)
            try:
                await application.start()
                await scene(application)
            finally:
                await application.close()

    run_simulated(run, seed=1)
