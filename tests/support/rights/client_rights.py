"""The rights that each of our clients needs: a table that a page shows, and what each client does with them."""

import asyncio
import sys
import tempfile
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from kafka_groups import AsyncKafkaShareConsumer, Output, Reject, Retry, RetryTopics, Worker, current_attempt
from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE
from kafka_groups.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafka_groups.protocol.messages.incremental_alter_configs import (
    SET,
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_groups.protocol.messages.list_offsets import (
    LATEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.streams import StreamsBuilder, StreamsState, serdes
from kafka_groups.streams.aio import AsyncKafkaStreams
from tests.support.application_programs import Guarantee
from tests.support.conditions import until
from tests.support.rights.recorded_rights import Right
from tests.support.rights.rights_worlds import EmbeddedRights, KafkaRights

__all__ = ["CLIENTS", "ClientRights", "ClientScene", "rights_with"]

READ, WRITE, CREATE, DELETE = AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DELETE
DESCRIBE_CONFIGS, ALTER_CONFIGS = AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS
TOPIC, GROUP, ID = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.TRANSACTIONAL_ID

_PATIENCE_S = 13.0
_RECORDS, _TRIES = 2, 5
_WITH_TIMEOUT = ("produce", "consume", "share-consume")


@frozen(eq=False)
class ClientScene:
    """A topic with a record, and names that no other client uses.

    Attributes:
        world: The cluster.
        names: The names of groups and topics by what they are for.
    """

    world: EmbeddedRights | KafkaRights
    names: Mapping[str, str]

    @classmethod
    async def new(cls, world: EmbeddedRights | KafkaRights, number: int) -> "ClientScene":
        """Make the topics, and let groups begin at the beginning."""
        names = {
            name: f"c{number}-{name}" for name in ("group", "topic", "dead", "output", "retry", "app", "fresh", "new")
        }
        scene = cls(world, names)
        for name in ("topic", "dead", "output"):
            await scene.create(scene.names[name])
        await scene.set_group_config(scene.names["group"], "share.auto.offset.reset", "earliest")
        await scene.write(scene.names["topic"], b"one", b"two")
        return scene

    async def create(self, topic: str, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic. It keeps its records, which are from 1970."""
        wanted_configs = {"retention.ms": "-1", **(configs or {})}
        given = tuple(CreatableTopicConfig(name=name, value=value) for name, value in wanted_configs.items())
        wanted = CreatableTopic(name=topic, num_partitions=1, replication_factor=1, configs=given)
        created = await self.world.ask_as_admin(CreateTopicsRequest(topics=(wanted,), timeout_ms=15_000))
        assert created.topics[0].error_code is ErrorCode.NONE, created
        await self._topic_id(topic)

    async def _topic_id(self, topic: str) -> Any:
        named = MetadataRequest(topics=(MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False)
        found = await until(
            lambda: self.world.ask_as_admin(named),
            lambda it: bool(it.topics[0].partitions) and it.topics[0].partitions[0].leader_id >= 0,
        )
        return found.topics[0].topic_id

    async def set_group_config(self, group: str, name: str, value: str) -> None:
        """Set a config of a group."""
        change = AlterableConfig(name=name, config_operation=SET, value=value)
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group, configs=(change,))
        done = await self.world.ask_as_admin(IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False))
        assert done.responses[0].error_code is ErrorCode.NONE, done

    async def write(self, topic: str, *values: bytes) -> None:
        """Write records."""
        data = PartitionProduceData(index=0, records=build_batch([NewRecord(value, b"k") for value in values]))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=15_000,
            topic_data=(TopicProduceData(topic_id=await self._topic_id(topic), partition_data=(data,)),),
        )
        await until(
            lambda: self.world.ask_as_admin(request),
            lambda it: it.responses[0].partition_responses[0].error_code is ErrorCode.NONE,
        )

    async def end_of(self, topic: str) -> int:
        """The number of records in a topic."""
        partition = ListOffsetsPartition(partition_index=0, timestamp=LATEST)
        asked = ListOffsetsTopic(name=topic, partitions=(partition,))
        found = await self.world.ask_as_admin(ListOffsetsRequest(topics=(asked,)))
        end: int = found.topics[0].partitions[0].offset
        return end

    def keys(self) -> dict[str, Any]:
        """The configuration of a client."""
        return self.world.keys()


Run = Callable[[ClientScene], Awaitable[None]]


@frozen
class ClientRights:
    """The rights of one client.

    Attributes:
        name: What the page calls it.
        needed: It fails or waits without one of these. Names are those of a scene in braces; a star ends a prefix.
        run: Has the client do its work, and raises its error.
        optional: It runs without these.
        words: What the page calls names, where that is not what it calls them for most clients.
    """

    name: str
    needed: tuple[Right, ...]
    run: Run
    optional: tuple[Right, ...] = field(default=())
    words: Mapping[str, str] = field(factory=dict)

    def of(self, scene: ClientScene) -> list[Right]:
        """The rights with the names of a scene."""
        return rights_with(self.needed, scene)


def rights_with(rights: Sequence[Right], scene: ClientScene) -> list[Right]:
    """Return rights with the names of a scene."""
    return [(operation, kind, name.format_map(scene.names)) for operation, kind, name in rights]


# ------------------------------------------------------------------------------------------------ share consumers


async def _consume(scene: ClientScene) -> None:
    async with AsyncKafkaShareConsumer(group_id=scene.names["group"], **scene.keys()) as consumer:
        await consumer.subscribe([scene.names["topic"]])
        async with asyncio.timeout(_PATIENCE_S):
            while not await consumer.poll(timeout=1):
                pass


# ---------------------------------------------------------------------------------------------------------- workers


def _worker(scene: ClientScene, **options: Any) -> Worker:
    return Worker(scene.names["group"], shutdown_timeout=1, **options, **scene.keys())


async def _work(scene: ClientScene, **options: Any) -> None:
    worker, handled = _worker(scene, **options), list[bytes]()

    @worker.handler(scene.names["topic"])
    async def handle(value: bytes) -> None:
        handled.append(value)

    async def has_all() -> bool:
        return len(handled) >= _RECORDS

    await _run(worker, lambda: until(has_all, bool, _PATIENCE_S))


async def _start_worker(scene: ClientScene) -> None:
    # A group without a configuration, or there would be nothing to change.
    await _work(evolve(scene, names={**scene.names, "group": scene.names["fresh"]}), start="earliest")


async def _create_worker_topics(scene: ClientScene) -> None:
    worker = _worker(scene)

    @worker.handler(scene.names["topic"], dead_letters=scene.names["new"])
    async def handle(_value: bytes) -> None:
        """Never called."""

    await asyncio.to_thread(worker.create_topics)


async def _write_results(scene: ClientScene) -> None:
    """Write the result of each record to a topic, and a dead letter for one."""
    worker, handled = _worker(scene), list[bytes]()
    output = Output(scene.names["output"], value=serdes.bytes_)

    @worker.handler(scene.names["topic"], output=output, dead_letters=scene.names["dead"])
    async def handle(value: bytes) -> bytes:
        handled.append(value)
        if value == b"two":
            raise Reject("never")
        return value

    await _until_written(worker, scene, {scene.names["output"]: 1, scene.names["dead"]: 1})


async def _try_again_later(scene: ClientScene) -> None:
    topics = RetryTopics(scene.names["retry"], delays=(1,))
    for name in topics.names:
        await scene.create(name, {"message.timestamp.type": "LogAppendTime"})
    worker = _worker(scene)

    @worker.handler(scene.names["topic"], retry_topics=topics, dead_letters=scene.names["dead"])
    async def handle(value: bytes) -> None:
        if current_attempt().number == 1:
            raise Retry("later", after=1)
        raise Reject("never")

    await _until_written(worker, scene, {scene.names["dead"]: 2})


async def _leave_letters_to_brokers(scene: ClientScene) -> None:
    queue = f"dlq.{scene.names['new']}"
    await scene.create(queue, {"errors.deadletterqueue.group.enable": "true"})
    await scene.set_group_config(scene.names["group"], "errors.deadletterqueue.topic.name", queue)
    worker = _worker(scene)

    @worker.handler(scene.names["topic"])
    async def handle(_value: bytes) -> None:
        raise Reject("never")

    await _until_written(worker, scene, {queue: 2})


async def _until_written(worker: Worker, scene: ClientScene, ends: Mapping[str, int]) -> None:
    """Run a worker until topics have so many records."""

    async def found() -> dict[str, int]:
        return {topic: await scene.end_of(topic) for topic in ends}

    await _run(worker, lambda: until(found, lambda it: it == ends, _PATIENCE_S))


async def _run(worker: Worker, condition: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Run a worker until a condition holds, or it ends with an error."""
    async with worker:
        ended, done = asyncio.ensure_future(worker.wait()), asyncio.ensure_future(condition())
        await asyncio.wait({ended, done}, return_when=asyncio.FIRST_COMPLETED)
        for each in (ended, done):
            if not each.done():
                each.cancel()
        if ended.done():
            ended.result()
        done.result()


# ---------------------------------------------------------------------------------------------------------- streams


async def _stream(scene: ClientScene, protocol: str, guarantee: Guarantee) -> None:
    builder = StreamsBuilder()
    words = builder.stream(scene.names["topic"], key=serdes.bytes_, value=serdes.bytes_)
    counts = words.group_by(lambda _key, value: value, key=serdes.bytes_, value=serdes.bytes_).count()
    counts.to_stream().to(scene.names["output"], key=serdes.bytes_, value=serdes.int64)
    app = AsyncKafkaStreams(
        builder.build(),
        {"group.protocol": protocol, "commit.interval.ms": 100},
        application_id=scene.names["app"],
        processing_guarantee=guarantee,
        **scene.keys(),
    )

    async def state() -> tuple[StreamsState, int]:
        return app.state, await scene.end_of(scene.names["output"])

    async with app:
        await until(state, lambda found: found[0] is StreamsState.ERROR or found[1] >= 2, _PATIENCE_S)
        error = app.error
    if error is not None:
        raise error


# -------------------------------------------------------------------------------------------------------- commands


async def _command(scene: ClientScene, *arguments: str, given: str = "") -> None:
    keys = {name.replace("_", "."): value for name, value in scene.keys().items()}
    with tempfile.NamedTemporaryFile("w", suffix=".properties", encoding="utf-8") as properties:
        properties.write("".join(f"{name}={value}\n" for name, value in keys.items()))
        properties.flush()
        options = ["--config", properties.name, *(["--timeout", "20"] if arguments[0] in _WITH_TIMEOUT else [])]
        command = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kafka_groups.cli", *arguments, *options, stdin=PIPE, stdout=PIPE, stderr=STDOUT
        )
        output, _ = await command.communicate(given.encode())
    if command.returncode:
        raise AssertionError(output.decode())


async def _list_letters(scene: ClientScene) -> None:
    await _command(scene, "dead-letters", "list", scene.names["topic"])


async def _delete_letters(scene: ClientScene) -> None:
    await _command(scene, "dead-letters", "delete", scene.names["topic"], "--all", "--yes")


async def _send_again(scene: ClientScene) -> None:
    target = scene.names["output"]
    await _command(scene, "dead-letters", "send-again", scene.names["topic"], "--yes", "--to", target, "0@0")


async def _send_all_again(scene: ClientScene) -> None:
    topic, target = scene.names["topic"], scene.names["output"]
    # On a busy machine the command may end before the group's first records have come, and have nothing to send.
    for _ in range(_TRIES):
        await _command(scene, "dead-letters", "send-again", topic, "--yes", "--to", target)
        if await scene.end_of(target) == _RECORDS:
            return
    raise AssertionError("nothing was sent")


async def _produce(scene: ClientScene) -> None:
    await _command(scene, "produce", scene.names["topic"], given="hello")


async def _consume_all(scene: ClientScene) -> None:
    await _command(scene, "consume", scene.names["topic"], "--from", "earliest", "-n", "2")


async def _share_consume(scene: ClientScene) -> None:
    await _command(scene, "share-consume", scene.names["group"], scene.names["topic"], "-n", "1")


async def _share_consume_from(scene: ClientScene) -> None:
    await _command(scene, "share-consume", scene.names["fresh"], scene.names["topic"], "--from", "earliest", "-n", "1")


_CONSUMER: tuple[Right, ...] = ((READ, GROUP, "{group}"), (READ, TOPIC, "{topic}"))
_APPLICATION: tuple[Right, ...] = (
    (READ, GROUP, "{app}"),
    (READ, TOPIC, "{topic}"),
    (WRITE, TOPIC, "{output}"),
    (READ, TOPIC, "{app}-*"),
    (WRITE, TOPIC, "{app}-*"),
    (CREATE, TOPIC, "{app}-*"),
)
_EXACTLY_ONCE: tuple[Right, ...] = (*_APPLICATION, (WRITE, ID, "{app}*"))

_LETTERS: Mapping[str, str] = {
    "{topic}": "the topic of the letters",
    "{output}": "the topics that the records go to",
    "{topic}-resend": "the group `TOPIC-resend`",
}

CLIENTS: tuple[ClientRights, ...] = (
    ClientRights("Share consumer", _CONSUMER, _consume),
    ClientRights("Worker", _CONSUMER, _work, optional=((DESCRIBE_CONFIGS, GROUP, "{group}"),)),
    ClientRights(
        "Worker with `dead_letters=` and `output=`",
        (*_CONSUMER, (WRITE, TOPIC, "{dead}"), (WRITE, TOPIC, "{output}")),
        _write_results,
        optional=((DESCRIBE_CONFIGS, GROUP, "{group}"),),
    ),
    ClientRights(
        "Worker with `retry_topics=`",
        (
            *_CONSUMER,
            (WRITE, TOPIC, "{dead}"),
            (READ, GROUP, "{group}-retry"),
            (ALTER_CONFIGS, GROUP, "{group}-retry"),  # which implies DESCRIBE_CONFIGS
            (READ, TOPIC, "{retry}*"),
            (WRITE, TOPIC, "{retry}*"),
            (DESCRIBE_CONFIGS, TOPIC, "{retry}*"),
        ),
        _try_again_later,
        optional=((DESCRIBE_CONFIGS, GROUP, "{group}"),),
    ),
    ClientRights(
        "Worker whose dead letters brokers write",
        _CONSUMER,
        _leave_letters_to_brokers,
        optional=((DESCRIBE_CONFIGS, GROUP, "{group}"), (DESCRIBE_CONFIGS, TOPIC, "{dead}")),
    ),
    ClientRights(
        "Worker with `start=`",
        (
            (READ, GROUP, "{fresh}"),
            (READ, TOPIC, "{topic}"),
            (ALTER_CONFIGS, GROUP, "{fresh}"),  # which implies DESCRIBE_CONFIGS
        ),
        _start_worker,
    ),
    ClientRights(
        "`worker --create-topics`",
        ((READ, TOPIC, "{topic}"), (WRITE, TOPIC, "{new}"), (CREATE, TOPIC, "{new}")),
        _create_worker_topics,
    ),
    ClientRights(
        "Streams application, group of streams",
        _APPLICATION,
        lambda scene: _stream(scene, "streams", "at_least_once"),
        optional=((DELETE, TOPIC, "{app}-*"),),
    ),
    ClientRights(
        "Streams application, exactly once",
        _EXACTLY_ONCE,
        lambda scene: _stream(scene, "streams", "exactly_once_v2"),
        optional=((DELETE, TOPIC, "{app}-*"),),
    ),
    ClientRights(
        "Streams application, classic group",
        _APPLICATION,
        lambda scene: _stream(scene, "classic", "at_least_once"),
        optional=((DELETE, TOPIC, "{app}-*"),),
    ),
    ClientRights("`produce`", ((WRITE, TOPIC, "{topic}"),), _produce, words={"{topic}": "the topics that it writes"}),
    ClientRights("`consume`", ((READ, TOPIC, "{topic}"),), _consume_all),
    ClientRights("`share-consume`", _CONSUMER, _share_consume),
    ClientRights(
        "`share-consume --from`",
        ((READ, GROUP, "{fresh}"), (READ, TOPIC, "{topic}"), (ALTER_CONFIGS, GROUP, "{fresh}")),
        _share_consume_from,
    ),
    ClientRights("`dead-letters list`, `show`", ((READ, TOPIC, "{topic}"),), _list_letters, words=_LETTERS),
    ClientRights(
        "`dead-letters send-again` with positions",
        ((READ, TOPIC, "{topic}"), (WRITE, TOPIC, "{output}")),
        _send_again,
        words=_LETTERS,
    ),
    ClientRights(
        "`dead-letters send-again`",
        (
            (READ, TOPIC, "{topic}"),
            (WRITE, TOPIC, "{output}"),
            (READ, GROUP, "{topic}-resend"),
            (ALTER_CONFIGS, GROUP, "{topic}-resend"),
        ),
        _send_all_again,
        words=_LETTERS,
    ),
    ClientRights("`dead-letters delete`", ((DELETE, TOPIC, "{topic}"),), _delete_letters, words=_LETTERS),
)
"""Our clients."""
