"""The requests of a transaction, and what their answers say about partitions (KIP-98, KIP-447)."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from uuid import UUID

from kafka_groups.client.calls.partition_offsets import by_topic, by_topic_and_id
from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafka_groups.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["adding_partitions", "codes_of_added", "codes_of_stored", "committing_offsets"]

_UNKNOWN_EPOCH = -1
_NO_IDS: Mapping[TopicPartition, UUID] = MappingProxyType({})


def adding_partitions(
    transactional_id: str, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]
) -> AddPartitionsToTxnRequest:
    """Return the request that adds partitions to a transaction, up to version 3."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=tuple(
            AddPartitionsToTxnTopic(name=topic, partitions=tuple(numbers))
            for topic, numbers in by_topic(partitions).items()
        ),
    )


def codes_of_added(response: AddPartitionsToTxnResponse) -> dict[TopicPartition, ErrorCode]:
    """Return the result for each partition."""
    return {
        TopicPartition(topic.name, each.partition_index): each.partition_error_code
        for topic in response.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    }


def committing_offsets(
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    who: GroupMetadata,
    topic_ids: Mapping[TopicPartition, UUID] = _NO_IDS,
) -> TxnOffsetCommitRequest:
    """Return the request that stores offsets of a group as part of a transaction.

    Args:
        transactional_id: The id of the transaction.
        producer: Its producer.
        offsets: The offsets.
        who: The group and its member.
        topic_ids: The ids of the topics. Without all of them, the request has version 5 at most.
    """
    return TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=who.group_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        generation_id=who.member.epoch,
        member_id=who.member.member_id,
        group_instance_id=who.member.instance_id,
        topics=tuple(
            TxnOffsetCommitRequestTopic(
                name=topic,
                topic_id=topic_id,
                partitions=tuple(_partition(each, offsets[TopicPartition(topic, each)]) for each in numbers),
            )
            for (topic, topic_id), numbers in by_topic_and_id(offsets, topic_ids).items()
        ),
    )


def _partition(number: int, offset: OffsetAndMetadata) -> TxnOffsetCommitRequestPartition:
    return TxnOffsetCommitRequestPartition(
        partition_index=number,
        committed_offset=offset.offset,
        committed_leader_epoch=_UNKNOWN_EPOCH if offset.leader_epoch is None else offset.leader_epoch,
        committed_metadata=offset.metadata,
    )


def codes_of_stored(
    response: TxnOffsetCommitResponse, topic_ids: Mapping[TopicPartition, UUID] = _NO_IDS
) -> dict[TopicPartition, ErrorCode]:
    """Return the result for each partition. From version 6 on, `topic_ids` of the request tell the names."""
    names: dict[UUID | None, str] = {topic_id: place.topic for place, topic_id in topic_ids.items()}
    return {
        TopicPartition(names.get(topic.topic_id, topic.name), each.partition_index): each.error_code
        for topic in response.topics
        for each in topic.partitions
    }
