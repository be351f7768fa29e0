"""Offsets in OffsetCommit and TxnOffsetCommit: which of them a group may be asked to store, and the error of each."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from attrs import frozen

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.requests.committed_offsets import in_slices, named_topic
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommitValue
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.types import TopicPartition

__all__ = ["CommitRules", "errors_of"]

_KNOWN_TO_GROUP = frozenset({ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE})


class _Partition(Protocol):
    @property
    def partition_index(self) -> int: ...

    @property
    def committed_metadata(self) -> str | None: ...


P_co = TypeVar("P_co", bound=_Partition, covariant=True)


class _RequestedTopic(Protocol[P_co]):
    @property
    def name(self) -> str: ...

    @property
    def topic_id(self) -> UUID | None: ...

    @property
    def partitions(self) -> Sequence[P_co]: ...


@frozen
class _RequestedOffset(Generic[P_co]):
    """The offset of one partition in a request.

    Attributes:
        topic: The topic, or None if it is unknown.
        is_readable: Whether the client may read the topic. Nothing is asked about an unknown id.
        partition: The partition's part of the request.
    """

    topic: TopicMetadata | None
    is_readable: bool
    partition: P_co

    @property
    def index(self) -> int:
        """The number of the partition."""
        return self.partition.partition_index


@frozen
class CommitRules(Generic[P_co]):
    """The rules for the offsets of one request.

    Attributes:
        context: The context of the request.
        has_topic_ids: Whether topics have ids in the version of the request.
        committed: Returns what is stored of a partition.
        store: Asks the group to store offsets.
    """

    context: RequestContext
    has_topic_ids: bool
    committed: Callable[[P_co, UUID], OffsetCommitValue]
    store: Callable[[Mapping[TopicPartition, OffsetCommitValue]], Awaitable[None]]


async def errors_of(topics: Iterable[_RequestedTopic[P_co]], rules: CommitRules[P_co]) -> list[ErrorCode]:
    """Store what can be stored, some offsets at a time, and return the error of each partition."""
    turns = rules.context.turns
    offsets = [each async for topic in turns.each(topics) for each in _offsets_in(topic, rules.context)]
    errors: list[ErrorCode] = []
    async for some in in_slices(offsets, turns):
        errors += await _errors_of(some, rules)
    return errors


def _offsets_in(topic: _RequestedTopic[P_co], context: RequestContext) -> Iterator[_RequestedOffset[P_co]]:
    known = named_topic(context.services.cluster.metadata, topic.name, topic.topic_id)
    name = topic.name if known is None else known.name
    is_readable = not name or context.may(AclOperation.READ, AclResourceType.TOPIC, name)
    return (_RequestedOffset(known, is_readable, partition) for partition in topic.partitions)


async def _errors_of(offsets: Sequence[_RequestedOffset[P_co]], rules: CommitRules[P_co]) -> list[ErrorCode]:
    refusals = [_refusal(each, rules) for each in offsets]
    # As in Kafka, metadata that are too large matter only if the group accepts the commit.
    of_group = [refusal in _KNOWN_TO_GROUP for refusal in refusals]
    wanted = [each for each, refusal in zip(offsets, refusals, strict=True) if refusal is ErrorCode.NONE]
    error = await _store(wanted, rules) if any(of_group) else ErrorCode.NONE
    return [(error or refusal) if known else refusal for refusal, known in zip(refusals, of_group, strict=True)]


def _refusal(offset: _RequestedOffset[P_co], rules: CommitRules[P_co]) -> ErrorCode:
    # Kafka checks topics and partitions before it asks the group (KafkaApis.handleOffsetCommitRequest), so these errors
    # come even from a group that does not exist.
    if not offset.is_readable:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if offset.topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID if rules.has_topic_ids else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not 0 <= offset.index < offset.topic.num_partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    most_metadata = rules.context.services.cluster.settings.offset_metadata_max_bytes
    # Kafka counts characters here, and not bytes (OffsetMetadataManager.isMetadataInvalid).
    if len(offset.partition.committed_metadata or "") > most_metadata:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


async def _store(offsets: Iterable[_RequestedOffset[P_co]], rules: CommitRules[P_co]) -> ErrorCode:
    values = {
        TopicPartition(each.topic.name, each.index): rules.committed(each.partition, each.topic.topic_id)
        for each in offsets
        if each.topic is not None
    }
    try:
        await rules.store(values)
    except BrokerError as error:
        return code_of(error)
    return ErrorCode.NONE
