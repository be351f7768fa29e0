"""Programs for applications, and what their topics hold after a run on a cluster.

The outcome is also computed without a data plane, a broker or a group: see `computed_logs.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import pytest
from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.record_batch import BatchHeader, iter_batches
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.partitioning import partition_of
from kafka_groups.streams import StreamsBuilder, Topology
from kafka_groups.streams.aio import AsyncKafkaStreams
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.requests.raw_client import RawClient
from tests.support.targets import Target, over_tcp_also_on_older_with, over_tcp_with
from tests.support.topic_reader import Log, TopicReader, topic_reader

__all__ = [
    "GUARANTEES",
    "Guarantee",
    "Names",
    "Program",
    "Step",
    "also_on_older_kafkas",
    "at_once",
    "batches_of",
    "compacted",
    "guarantees",
    "logs_of_run",
    "new_names",
    "protocol_of",
]

Guarantee = Literal["at_least_once", "exactly_once_v2"]
GUARANTEES: tuple[Guarantee, ...] = ("at_least_once", "exactly_once_v2")

_AT_ONCE_SETTINGS: Mapping[str, str] = MappingProxyType({
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.heartbeat.interval.ms": "200",
})  # fmt: skip

at_once = over_tcp_with(_AT_ONCE_SETTINGS)
"""On an embedded broker over TCP and on a real Kafka, where groups assign tasks at once."""

also_on_older_kafkas = over_tcp_also_on_older_with(_AT_ONCE_SETTINGS)
"""As `at_once`, and in classic groups on releases without streams groups."""

guarantees = pytest.mark.parametrize("guarantee", GUARANTEES)

_IN_A_BATCH = 100  # of the input
_LARGE = 50_000_000
_PATIENCE_S = 30.0
_STEADY: Mapping[str, object] = MappingProxyType({
    "commit.interval.ms": 50,
    "statestore.cache.max.bytes": 0,  # how many updates a cache holds back depends on when commits are
    "repartition.purge.interval.ms": 86_400_000,  # records of repartition topics are compared, too
})  # fmt: skip


@frozen
class Names:
    """The names of the topics of one run."""

    scene: str

    @property
    def application_id(self) -> str:
        """The application, which begins the names of its internal topics."""
        return f"{self.scene}-app"

    def input(self, name: str) -> str:
        """Return the name of a topic that the test writes."""
        return f"{self.scene}-{name}"

    def output(self, name: str) -> str:
        """Return the name of a topic that the application writes, internal ones included."""
        return f"{self.application_id}-{name}"


@frozen
class Step:
    """Input, and what the application has written when all of it is processed.

    Attributes:
        given: The records for each input.
        awaited: How many committed records each output has in the end, repartition topics included.
    """

    given: Mapping[str, Sequence[NewRecord]]
    awaited: Mapping[str, int]


@frozen
class Program:
    """An application, what it gets, and its topics.

    Attributes:
        build: Adds the topology to a builder.
        steps: What it gets. The first one is written before it starts.
        inputs: How many partitions each input has. Keys decide about the partition.
        read_first: The inputs that are read whole before the others: those of global tables.
        sinks: How many partitions each output has that the test creates.
        config: Keys of the application, beside those that make results repeatable.
        configs: Keys of all topics that the test creates.
        isolation_level: `Step.awaited` counts committed records (1), or all (0).
        changelogs: How many keys each changelog has in the end. A row that changes several times before a commit is
            written once, so how many records there are depends on the time: the last one of each key is compared.
    """

    build: Callable[[StreamsBuilder, Names], None]
    steps: Sequence[Step]
    inputs: Mapping[str, int] = MappingProxyType({"in": 1})
    sinks: Mapping[str, int] = MappingProxyType({"out": 1})
    read_first: frozenset[str] = frozenset()
    config: Mapping[str, object] = MappingProxyType({})
    configs: Mapping[str, str] = MappingProxyType({})
    isolation_level: int = 1
    changelogs: Mapping[str, int] = MappingProxyType({})

    @property
    def totals(self) -> dict[str, int]:
        """How many records are compared of each output, which may be internal."""
        return {name: count for step in self.steps for name, count in step.awaited.items()} | dict(self.changelogs)

    def topology(self, names: Names) -> Topology:
        """Build the topology."""
        builder = StreamsBuilder()
        self.build(builder, names)
        return builder.build()

    def partition(self, name: str, key: bytes | None) -> int:
        """Return the partition of an input's record. Those without a key are in the first one."""
        return 0 if key is None else partition_of(key, self.inputs[name])


def new_names() -> Names:
    """Return names for a run."""
    return Names(unique("programs"))


async def logs_of_run(target: Target, program: Program, guarantee: Guarantee, names: Names) -> dict[str, Log]:
    """Run a program. Return the logs of its outputs when it has ended."""
    await _create_topics(target, program, names)
    await _give(target, program, names, program.steps[0])
    async with topic_reader(target, program.isolation_level) as reader:
        await _run(target, program, names, guarantee, reader)
    async with topic_reader(target) as reader:
        return await _logs(reader, program, names)


async def _logs(reader: TopicReader, program: Program, names: Names) -> dict[str, Log]:
    found = {name: await reader.log(names.output(name)) for name in program.totals}
    return {name: compacted(log) if name in program.changelogs else log for name, log in found.items()}


def compacted(log: Log) -> Log:
    """Return the last record of each key in each partition, by key."""
    latest = [{row[0]: row for row in rows} for rows in log]
    return [[rows[key] for key in sorted(rows, key=lambda key: key or b"")] for rows in latest]


async def _run(target: Target, program: Program, names: Names, guarantee: Guarantee, reader: TopicReader) -> None:
    async with _application(target, program, names, guarantee):
        for at, step in enumerate(program.steps):
            if at:
                await _give(target, program, names, step)
            await _until_written(reader, names, step)


def _application(target: Target, program: Program, names: Names, guarantee: Guarantee) -> AsyncKafkaStreams:
    return AsyncKafkaStreams(
        program.topology(names),
        {**_STEADY, "group.protocol": protocol_of(target), **program.config},
        application_id=names.application_id,
        bootstrap_servers=target.bootstrap_servers,
        processing_guarantee=guarantee,
    )


def protocol_of(target: Target) -> str:
    """Return the group protocol that the brokers have."""
    return "streams" if target.has_streams_groups else "classic"


async def _create_topics(target: Target, program: Program, names: Names) -> None:
    for name, partitions in program.inputs.items():
        await target.cluster.create_topic(partitions, name=names.input(name))
    for name, partitions in program.sinks.items():
        await target.cluster.create_topic(partitions, name=names.output(name), configs=program.configs)


async def _give(target: Target, program: Program, names: Names, step: Step) -> None:
    for name, records in step.given.items():
        topic = await _topic(target, names.input(name))
        for partition in range(program.inputs[name]):
            dealt = [each for each in records if program.partition(name, each.key) == partition]
            for start in range(0, len(dealt), _IN_A_BATCH):
                await target.cluster.produce(topic, dealt[start : start + _IN_A_BATCH], partition)


async def _topic(target: Target, name: str) -> Topic:
    described = await target.cluster.describe_topic(name)
    assert described.topic_id is not None
    return Topic(name, described.topic_id)


async def _until_written(reader: TopicReader, names: Names, step: Step) -> None:
    async def counts() -> dict[str, int]:
        return {name: sum(map(len, await reader.log(names.output(name)))) for name in step.awaited}

    await until(counts, lambda found: all(found[name] >= count for name, count in step.awaited.items()), _PATIENCE_S)


async def batches_of(target: Target, name: str) -> list[list[BatchHeader]]:
    """Return the headers of a topic's batches, markers and what was aborted included, for each partition."""
    described = await target.cluster.describe_topic(name)
    assert described.topic_id is not None
    client = target.client()
    numbers = range(len(described.partitions))
    return [await _headers(client, Topic(name, described.topic_id), number) for number in numbers]


async def _headers(client: RawClient, topic: Topic, partition: int) -> list[BatchHeader]:
    found: list[BatchHeader] = []
    while True:
        start = found[-1].next_offset if found else 0
        part = FetchPartition(partition=partition, fetch_offset=start, partition_max_bytes=_LARGE)
        asked = FetchTopic(topic_id=topic.topic_id, partitions=(part,))
        request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=_LARGE, topics=(asked,))
        response = await client.ask(request, min(await client.newest(FetchRequest), 17))
        data = response.responses[0].partitions[0]
        assert data.error_code is ErrorCode.NONE, (topic, partition, data.error_code)
        if start == data.high_watermark:
            return found
        before = len(found)
        found += [batch.header for batch in iter_batches(data.records)]
        assert len(found) > before, (topic, partition, start, data.high_watermark)
