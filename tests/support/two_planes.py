"""One program on each data plane of applications, over the same input: what the topics of both hold is compared."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import Final, Literal

from attrs import frozen

from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.record_batch import BatchHeader, iter_batches
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.reader import RecordReader
from kafka_groups.streams import StreamsBuilder
from kafka_groups.streams.aio import AsyncKafkaStreams
from kafka_groups.streams.workers.data_plane import DATA_PLANE
from kafka_groups.types import Headers, TopicPartition
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.requests.raw_client import RawClient
from tests.support.targets import Target

__all__ = [
    "ENGINE",
    "GUARANTEES",
    "LIBRDKAFKA",
    "Guarantee",
    "Log",
    "Names",
    "Program",
    "Row",
    "Step",
    "batches_of",
    "compacted",
    "names_of_both",
    "on_both_planes",
]

ENGINE: Final = "engine"
LIBRDKAFKA: Final = "librdkafka"

Guarantee = Literal["at_least_once", "exactly_once_v2"]
GUARANTEES: tuple[Guarantee, ...] = ("at_least_once", "exactly_once_v2")

Row = tuple[bytes | None, bytes | None, int, Headers]
"""Key, value, time in ms and headers of a record. Its offset is left out: markers of transactions have some, too."""

Log = list[list[Row]]
"""The committed records of each partition of a topic, in order."""

_AT_ONCE = 100  # records in a batch of the input
_LARGE = 50_000_000
_PATIENCE_S = 30.0
_STEADY: Mapping[str, object] = MappingProxyType({
    "commit.interval.ms": 50,
    "statestore.cache.max.bytes": 0,  # how many updates a cache holds back depends on when commits are
    "repartition.purge.interval.ms": 86_400_000,  # records of repartition topics are compared, too
})  # fmt: skip


@frozen
class Names:
    """What topics of one run are called: both planes share the inputs, and each has outputs of its own."""

    scene: str
    plane: str

    @property
    def application_id(self) -> str:
        """The application, which begins the names of its internal topics."""
        return f"{self.scene}-{self.plane}"

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
        inputs: How many partitions each input has. With several, records are dealt out in turn.
        sinks: How many partitions each output has that the test creates.
        config: Keys of the application, beside those that make results repeatable.
        of_librdkafka: Keys of the application on librdkafka's plane, beside those.
        configs: Keys of all topics that the test creates.
        isolation_level: `Step.awaited` counts committed records (1), or all (0).
        changelogs: How many keys each changelog has in the end. A row that changes several times before a commit is
            written once, so how many records there are depends on the time: the last one of each key is compared.
    """

    build: Callable[[StreamsBuilder, Names], None]
    steps: Sequence[Step]
    inputs: Mapping[str, int] = MappingProxyType({"in": 1})
    sinks: Mapping[str, int] = MappingProxyType({"out": 1})
    config: Mapping[str, object] = MappingProxyType({})
    of_librdkafka: Mapping[str, object] = MappingProxyType({})
    configs: Mapping[str, str] = MappingProxyType({})
    isolation_level: int = 1
    changelogs: Mapping[str, int] = MappingProxyType({})

    @property
    def totals(self) -> dict[str, int]:
        """How many records are compared of each output, which may be internal."""
        return {name: count for step in self.steps for name, count in step.awaited.items()} | dict(self.changelogs)


def names_of_both() -> dict[str, Names]:
    """Return new names for a run on each plane."""
    scene = unique("planes")
    return {plane: Names(scene, plane) for plane in (ENGINE, LIBRDKAFKA)}


async def on_both_planes(
    target: Target, program: Program, guarantee: Guarantee, names: Mapping[str, Names] | None = None
) -> dict[str, dict[str, Log]]:
    """Run a program on each plane at the same time. Return the logs of each plane's outputs when both have ended."""
    names = names or names_of_both()
    await _create_topics(target, program, names)
    await _give(target, program, names[ENGINE], program.steps[0])
    async with _reader(target, program.isolation_level) as reader:
        await _run_all(target, program, names, guarantee, reader)
    async with _reader(target) as reader:
        return {plane: await _logs(reader, program, its) for plane, its in names.items()}


async def _logs(reader: "_Reader", program: Program, names: Names) -> dict[str, Log]:
    found = {name: await reader.log(names.output(name)) for name in program.totals}
    return {name: compacted(log) if name in program.changelogs else log for name, log in found.items()}


def compacted(log: Log) -> Log:
    """Return the last record of each key in each partition, by key."""
    latest = [{row[0]: row for row in rows} for rows in log]
    return [[rows[key] for key in sorted(rows, key=lambda key: key or b"")] for rows in latest]


async def _run_all(
    target: Target, program: Program, names: Mapping[str, Names], guarantee: Guarantee, reader: "_Reader"
) -> None:
    async with AsyncExitStack() as stack:
        for its in names.values():
            await stack.enter_async_context(_application(target, program, its, guarantee))
        for at, step in enumerate(program.steps):
            if at:
                await _give(target, program, names[ENGINE], step)
            for its in names.values():
                await _until_written(reader, its, step)


def _application(target: Target, program: Program, names: Names, guarantee: Guarantee) -> AsyncKafkaStreams:
    builder = StreamsBuilder()
    program.build(builder, names)
    more = program.of_librdkafka if names.plane == LIBRDKAFKA else {}
    return AsyncKafkaStreams(
        builder.build(),
        {**_STEADY, DATA_PLANE: names.plane, **program.config, **more},
        application_id=names.application_id,
        bootstrap_servers=target.bootstrap_servers,
        processing_guarantee=guarantee,
    )


async def _create_topics(target: Target, program: Program, names: Mapping[str, Names]) -> None:
    for name, partitions in program.inputs.items():
        await target.cluster.create_topic(partitions, name=names[ENGINE].input(name))
    for its in names.values():
        for name, partitions in program.sinks.items():
            await target.cluster.create_topic(partitions, name=its.output(name), configs=program.configs)


async def _give(target: Target, program: Program, names: Names, step: Step) -> None:
    for name, records in step.given.items():
        topic = await _topic(target, names.input(name))
        count = program.inputs[name]
        for partition in range(count):
            if dealt := records[partition::count]:
                for start in range(0, len(dealt), _AT_ONCE):
                    await target.cluster.produce(topic, dealt[start : start + _AT_ONCE], partition)


async def _topic(target: Target, name: str) -> Topic:
    described = await target.cluster.describe_topic(name)
    assert described.topic_id is not None
    return Topic(name, described.topic_id)


async def _until_written(reader: "_Reader", names: Names, step: Step) -> None:
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
        response = await client.ask(FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=_LARGE, topics=(asked,)), 17)
        data = response.responses[0].partitions[0]
        assert data.error_code is ErrorCode.NONE, (topic, partition, data.error_code)
        if start == data.high_watermark:
            return found
        before = len(found)
        found += [batch.header for batch in iter_batches(data.records)]
        assert len(found) > before, (topic, partition, start, data.high_watermark)


@frozen
class _Reader:
    """Reads topics from their start to their end."""

    target: Target
    client: RecordsClient
    reader: RecordReader

    async def log(self, topic: str) -> Log:
        """Return the committed records of each partition; of none if there is no such topic yet."""
        described = await self.target.cluster.describe_topic(topic)
        places = [TopicPartition(topic, each.partition_index) for each in described.partitions]
        return [await self._partition(place) for place in sorted(places)]

    async def _partition(self, place: TopicPartition) -> list[Row]:
        self.reader.assign({place: 0})
        rows: list[Row] = []
        is_at_end = False
        while not is_at_end:
            await self.reader.wait(10_000)
            found = await self.reader.poll(10_000)
            rows += [row[1:] for batch in found.batches.values() for row in batch.rows()]
            assert not found.out_of_range, f"the first records of {place} are deleted"
            is_at_end = place in found.ends
        self.reader.unassign([place])
        return rows


@asynccontextmanager
async def _reader(target: Target, isolation_level: int = 1) -> AsyncIterator[_Reader]:
    client = RecordsClient(admin_config(bootstrap_servers=target.bootstrap_servers), Environment(target.network))
    try:
        yield _Reader(target, client, RecordReader(client, FetchOptions(isolation_level=isolation_level), "reader"))
    finally:
        await client.close()
