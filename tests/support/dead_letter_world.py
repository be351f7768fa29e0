"""A share group with a dead-letter queue of the brokers, and what a test looks at: letters, state records, offsets."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from attrs import frozen

from kafka_groups.protocol.coordinator_records.share_group_state import SHARE_GROUP_STATE, ShareUpdate, ShareUpdateValue
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.types import Header
from tests.support.cluster_client import Progress, Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_member import RawMember
from tests.support.targets import Target

__all__ = ["ENABLED", "TOPIC_NAME", "Letter", "LetterBatch", "QueueWorld", "StateWrite", "new_world"]

TOPIC_NAME = "errors.deadletterqueue.topic.name"
ENABLED: Mapping[str, str] = MappingProxyType({"errors.deadletterqueue.group.enable": "true"})
"""The config of a topic that may be a queue."""

_LAST_VERSION_WITH_NAMES = 12
_NOT_YET = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER)


@frozen
class Letter:
    """A dead letter, without its timestamp."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]

    @property
    def offset(self) -> int:
        """The offset of the record that it is about."""
        return int(dict(self.headers)["__dlq.errors.offset"] or b"")


@frozen
class LetterBatch:
    """A batch of letters in a queue. `attributes` and the ids of the producer are those of the batch's header."""

    partition: int
    size_bytes: int
    attributes: int
    producer_id: int
    letters: tuple[Letter, ...]

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets of the records that the letters are about."""
        return tuple(letter.offset for letter in self.letters)


@frozen
class StateWrite:
    """An update of share state: start offset, complete count, and (first, last, state, count) of each batch."""

    start_offset: int
    delivery_complete_count: int
    batches: tuple[tuple[int, int, int, int], ...]


@frozen(eq=False)
class QueueWorld:
    """A topic, a group that begins with its first record, and its queue."""

    target: Target
    topic: Topic
    queue: str
    group_id: str
    source_partitions: int = 1

    async def member(self) -> RawMember:
        """A member that is assigned the partitions of the topic."""
        return await self.target.joined(self.group_id, self.topic, range(self.source_partitions))

    async def letters(self, count: int) -> list[Letter]:
        """The letters, as soon as there are so many: by partition and offset."""
        return [letter for batch in await self.batches(count) for letter in batch.letters]

    async def batches(self, count: int) -> list[LetterBatch]:
        """The batches of letters, as soon as they have so many letters."""
        return await until(self.batches_now, lambda it: sum(len(batch.letters) for batch in it) >= count)

    async def batches_now(self) -> list[LetterBatch]:
        """The batches of letters that the queue has now; none if there is no queue."""
        described = await self.target.cluster.describe_topic(self.queue)
        partitions = sorted(each.partition_index for each in described.partitions)
        return [batch for partition in partitions for batch in await self._batches_of(partition)]

    async def _batches_of(self, partition: int) -> list[LetterBatch]:
        data = await self._fetched(self.queue, partition)
        return [
            LetterBatch(
                partition,
                len(batch.data),
                batch.header.attributes,
                batch.header.producer_id,
                tuple(Letter(each.key, each.value, tuple(each.headers)) for each in batch.records()),
            )
            for batch in iter_batches(data)
        ]

    async def writes(self) -> list[StateWrite]:
        """The updates of the share-partition 0 of the group, in their order."""
        data = await self._fetched(SHARE_GROUP_STATE.topic, 0)
        records = [
            SHARE_GROUP_STATE.decode(record.key or b"", record.value)
            for batch in iter_batches(data)
            for record in batch.records()
        ]
        own = (self.group_id, self.topic.topic_id, 0)
        return [
            _state_write(each.value)
            for each in records
            if isinstance(each, ShareUpdate) and (each.group_id, each.topic_id, each.partition) == own
            and each.value is not None and each.value.state_batches
        ]  # fmt: skip

    async def until_writes(self, count: int) -> list[StateWrite]:
        """The updates, as soon as there are so many."""
        return await until(self.writes, lambda it: len(it) >= count)

    async def progress(self) -> Progress:
        """The described start offset and lag of partition 0."""
        return (await self.target.cluster.progress(self.group_id, self.topic))[0]

    async def _fetched(self, topic: str, partition: int) -> bytes | None:
        wanted = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=2**24)
        request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=(FetchTopic(topic=topic, partitions=(wanted,)),))
        client = await self.target.cluster.leader_of(topic, partition)
        (answer,) = (await client.ask(request, _LAST_VERSION_WITH_NAMES)).responses
        (data,) = answer.partitions
        if data.error_code in _NOT_YET:
            return None
        assert data.error_code is ErrorCode.NONE, data
        records: bytes | None = data.records
        return records


def _state_write(value: ShareUpdateValue) -> StateWrite:
    batches = (
        (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in value.state_batches
    )
    return StateWrite(value.start_offset, value.delivery_complete_count, tuple(batches))


async def new_world(
    target: Target,
    records: int | Sequence[bytes] = 0,
    *,
    group: Mapping[str, str] = MappingProxyType({}),
    queue: Mapping[str, str] | None = ENABLED,
    queue_partitions: int = 1,
    queue_name: str | None = None,
    partitions: int = 1,
) -> QueueWorld:
    """A group with a queue, and a topic with some records in one batch.

    Args:
        target: Where.
        records: How many records, or their values.
        group: More configs of the group.
        queue: The configs of the queue. None: there is no such topic.
        queue_partitions: How many partitions the queue has.
        queue_name: Its name.
        partitions: How many partitions the topic has.
    """
    name = unique("dlq.q") if queue_name is None else queue_name
    topic = await target.cluster.create_topic(partitions)
    if queue is not None:
        await target.cluster.create_topic(queue_partitions, name=name, configs=queue)
    group_id = await target.group_of(topic, range(partitions), {TOPIC_NAME: name, **group})
    values = [f"v{i}".encode() for i in range(records)] if isinstance(records, int) else list(records)
    if values:
        await target.cluster.produce(topic, values)
    return QueueWorld(target, topic, name, group_id, partitions)
