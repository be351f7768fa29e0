"""An application on our own engine with a source and a sink, on any cluster, whose topics change while it runs."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafka_groups.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.partitioning import partition_of
from kafka_groups.streams import StreamsBuilder, StreamsState, serdes
from kafka_groups.streams.aio import AsyncKafkaStreams
from tests.support.application_programs import Guarantee, protocol_of
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.hand_assigned import HandAssignedStreams
from tests.support.targets import Target
from tests.support.topic_reader import TopicReader

__all__ = ["NOW_MS", "PATIENCE_S", "ApplicationScene", "copying", "numbered"]

NOW_MS = 1_700_000_000_000
PATIENCE_S = 60


class ApplicationScene:
    """An application with one source and one sink on a cluster."""

    has_group = True
    """Whether it is in a group. Otherwise one process has all tasks on brokers without streams groups."""

    def __init__(self, target: Target, reader: TopicReader, guarantee: Guarantee) -> None:
        self.target, self.reader = target, reader
        self.name, self.guarantee = unique("again"), guarantee

    def topic(self, name: str) -> str:
        return f"{self.name}-{name}"

    async def make(self, name: str, configs: Mapping[str, str] = MappingProxyType({}), partitions: int = 1) -> None:
        await self.target.cluster.create_topic(partitions, name=self.topic(name), configs=configs)

    def application(
        self, build: Callable[[StreamsBuilder, "ApplicationScene"], None], **keywords: Any
    ) -> AsyncKafkaStreams:
        builder = StreamsBuilder()
        build(builder, self)
        alone = not self.has_group and not self.target.has_streams_groups
        streams, protocol = (HandAssignedStreams, "streams") if alone else (AsyncKafkaStreams, protocol_of(self.target))
        return streams(
            builder.build(),
            {"commit.interval.ms": 100, "group.protocol": protocol},
            application_id=self.name,
            bootstrap_servers=self.target.bootstrap_servers,
            processing_guarantee=self.guarantee,
            **keywords,
        )

    async def give(self, *values: bytes, keys: int = 1) -> None:
        """Write records to the source, with so many keys in turn."""
        await self.give_records([
            NewRecord(value, b"k%d" % (at % keys), NOW_MS + at) for at, value in enumerate(values)
        ])  # fmt: skip

    async def give_records(self, records: Sequence[NewRecord], name: str = "in") -> None:
        """Write records to the source or another topic, as one batch for each partition. Keys choose the partition."""
        described = await self.target.cluster.describe_topic(self.topic(name))
        assert described.topic_id is not None
        dealt: dict[int, list[NewRecord]] = {}
        for each in records:
            partition = 0 if each.key is None else partition_of(each.key, len(described.partitions))
            dealt.setdefault(partition, []).append(each)
        for partition, its in dealt.items():
            await self.target.cluster.produce(Topic(self.topic(name), described.topic_id), its, partition)

    async def written(self) -> list[bytes | None]:
        return await self.reader.values(self.topic("out"))

    async def until_written(self, *values: bytes, app: AsyncKafkaStreams) -> None:
        """Wait until the sink has exactly these values.

        Raises:
            AssertionError: It has others after a minute.
        """
        wanted = list(values)

        async def found() -> tuple[list[bytes | None], object, object]:
            return await self.written(), app.state, app.error

        await until(found, lambda it: len(it[0]) >= len(wanted) or it[1] is StreamsState.ERROR, PATIENCE_S)
        assert (await self.written(), app.error) == (wanted, None)

    async def delete(self, name: str) -> None:
        """Delete a topic. The group's coordinator may make it again at once, if it is an internal one."""
        before = await self.target.cluster.describe_topic(self.topic(name))
        request = DeleteTopicsRequest(topics=(DeleteTopicState(name=self.topic(name)),), timeout_ms=15_000)
        response = await self.target.client().ask(request)
        assert response.responses[0].error_code is ErrorCode.NONE
        await until(
            lambda: self.target.cluster.describe_topic(self.topic(name)), lambda it: it.topic_id != before.topic_id
        )

    async def make_again(self, name: str, configs: Mapping[str, str] = MappingProxyType({})) -> None:
        """Make a topic with one partition, unless somebody else was faster."""
        given = tuple(CreatableTopicConfig(name=key, value=value) for key, value in configs.items())
        topic = CreatableTopic(name=self.topic(name), num_partitions=1, replication_factor=1, configs=given)
        response = await self.target.client().ask(CreateTopicsRequest(topics=(topic,), timeout_ms=15_000))
        assert response.topics[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        await until(
            lambda: self.target.cluster.describe_topic(self.topic(name)),
            lambda it: bool(it.partitions) and it.partitions[0].leader_id >= 0,
        )


def numbered(prefix: str, count: int) -> list[bytes]:
    return [f"{prefix}{number}".encode() for number in range(count)]


def copying(builder: StreamsBuilder, scene: ApplicationScene) -> None:
    builder.stream(scene.topic("in"), key=serdes.bytes_, value=serdes.bytes_).to(scene.topic("out"))
