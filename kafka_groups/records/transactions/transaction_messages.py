"""The requests of a transaction, and what their answers say about partitions (KIP-98, KIP-447)."""

from collections.abc import Iterable, Mapping

from kafka_groups.client.calls.partition_offsets import by_topic
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
) -> TxnOffsetCommitRequest:
    """Return the request that stores offsets of a group as part of a transaction, up to version 5."""
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
                partitions=tuple(_partition(each, offsets[TopicPartition(topic, each)]) for each in numbers),
            )
            for topic, numbers in by_topic(offsets).items()
        ),
    )


def _partition(number: int, offset: OffsetAndMetadata) -> TxnOffsetCommitRequestPartition:
    return TxnOffsetCommitRequestPartition(
        partition_index=number,
        committed_offset=offset.offset,
        committed_leader_epoch=_UNKNOWN_EPOCH if offset.leader_epoch is None else offset.leader_epoch,
        committed_metadata=offset.metadata,
    )


def codes_of_stored(response: TxnOffsetCommitResponse) -> dict[TopicPartition, ErrorCode]:
    """Return the result for each partition."""
    return {
        TopicPartition(topic.name, each.partition_index): each.error_code
        for topic in response.topics
        for each in topic.partitions
    }
