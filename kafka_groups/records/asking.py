"""The questions of the data plane: records in and out, producers, and the ends of transactions."""

from collections.abc import Iterable, Mapping, Sequence

from kafka_groups.client.calls.partition_offsets import by_topic
from kafka_groups.client.calls.questions import COORDINATORS, LEADERS, TRANSACTION_COORDINATORS, Answer, Question, told
from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafka_groups.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_groups.protocol.messages.produce import (
    ALL_ACKS,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_groups.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["counting_partitions", "deleting", "ending", "fetching", "initialising", "producing", "storing_offsets"]

_BY_NAME = 12
"""The last versions of Fetch and Produce that have names of topics."""
_OFFSETS_BY_NAME = 5
_TIMEOUT_MS = 10_000
_PARTITION_BYTES = 1_048_576


# --------------------------------------------------------------------------------------------------- reading


def fetching(
    positions: Mapping[TopicPartition, int], isolation_level: int, max_wait_ms: int
) -> Question[TopicPartition, PartitionData]:
    """Ask the leaders for records from these offsets on."""

    def build(keys: Sequence[TopicPartition], _version: int) -> FetchRequest:
        topics = tuple(
            FetchTopic(
                topic=topic,
                partitions=tuple(
                    FetchPartition(
                        partition=each,
                        fetch_offset=positions[TopicPartition(topic, each)],
                        partition_max_bytes=_PARTITION_BYTES,
                    )
                    for each in numbers
                ),
            )
            for topic, numbers in by_topic(keys).items()
        )
        return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, isolation_level=isolation_level, topics=topics)

    return Question("fetch", ApiKey.FETCH, tuple(positions), build, _fetched, LEADERS, newest_version=_BY_NAME)


def _fetched(
    _keys: Sequence[TopicPartition], response: FetchResponse
) -> Mapping[TopicPartition, Answer[PartitionData]]:
    return {
        (key := TopicPartition(topic.topic, each.partition_index)): told(
            each.error_code, f"{each.error_code.name}: {key}", each
        )
        for topic in response.responses
        for each in topic.partitions
    }


def deleting(before: Mapping[TopicPartition, int]) -> Question[TopicPartition, None]:
    """Delete the records before these offsets."""

    def build(keys: Sequence[TopicPartition], _version: int) -> DeleteRecordsRequest:
        topics = tuple(
            DeleteRecordsTopic(
                name=topic,
                partitions=tuple(
                    DeleteRecordsPartition(partition_index=each, offset=before[TopicPartition(topic, each)])
                    for each in numbers
                ),
            )
            for topic, numbers in by_topic(keys).items()
        )
        return DeleteRecordsRequest(topics=topics, timeout_ms=_TIMEOUT_MS)

    return Question("delete records", ApiKey.DELETE_RECORDS, tuple(before), build, _deleted, LEADERS)


def _deleted(_keys: Sequence[TopicPartition], response: DeleteRecordsResponse) -> Mapping[TopicPartition, Answer[None]]:
    return {
        (key := TopicPartition(topic.name, each.partition_index)): told(
            each.error_code, f"{each.error_code.name}: {key}", None
        )
        for topic in response.topics
        for each in topic.partitions
    }


def counting_partitions() -> Question[str, Mapping[str, int]]:
    """Ask any broker for the numbers of partitions of all topics. They are the answer for the key ""."""
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)

    def read(keys: Sequence[str], response: MetadataResponse) -> Mapping[str, Answer[Mapping[str, int]]]:
        counts = {topic.name or "": len(topic.partitions) for topic in response.topics if topic.partitions}
        return {key: told(response.error_code, None, counts) for key in keys}

    return Question("list the topics", ApiKey.METADATA, ("",), lambda _keys, _version: request, read)


# --------------------------------------------------------------------------------------------------- writing


def producing(batches: Mapping[TopicPartition, bytes], transactional_id: str | None) -> Question[TopicPartition, int]:
    """Have the leaders append batches. The answers are the offsets of the first records."""

    def build(keys: Sequence[TopicPartition], _version: int) -> ProduceRequest:
        topics = tuple(
            TopicProduceData(
                name=topic,
                partition_data=tuple(
                    PartitionProduceData(index=each, records=batches[TopicPartition(topic, each)]) for each in numbers
                ),
            )
            for topic, numbers in by_topic(keys).items()
        )
        return ProduceRequest(
            transactional_id=transactional_id, acks=ALL_ACKS, timeout_ms=_TIMEOUT_MS, topic_data=topics
        )

    return Question("produce", ApiKey.PRODUCE, tuple(batches), build, _produced, LEADERS, newest_version=_BY_NAME)


def _produced(_keys: Sequence[TopicPartition], response: ProduceResponse) -> Mapping[TopicPartition, Answer[int]]:
    return {
        (key := TopicPartition(topic.name, each.index)): told(
            each.error_code, each.error_message or f"{each.error_code.name}: {key}", each.base_offset
        )
        for topic in response.responses
        for each in topic.partition_responses
    }


# ---------------------------------------------------------------------------------------------- transactions


def initialising(transactional_id: str | None, timeout_ms: int) -> Question[str, ProducerIdAndEpoch]:
    """Ask for an id and an epoch, which fences those before. Without transactional id, any broker gives a new id."""
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)

    def read(keys: Sequence[str], response: InitProducerIdResponse) -> Mapping[str, Answer[ProducerIdAndEpoch]]:
        producer = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)
        return {key: told(response.error_code, None, producer) for key in keys}

    return Question(
        "initialise the producer",
        ApiKey.INIT_PRODUCER_ID,
        (transactional_id or "",),
        lambda _keys, _version: request,
        read,
        None if transactional_id is None else TRANSACTION_COORDINATORS,
    )


def storing_offsets(
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    who: GroupMetadata,
) -> Question[str, None]:
    """Store offsets of a group as part of the transaction."""
    request = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=who.group_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        generation_id=who.member.epoch,
        member_id=who.member.member_id,
        group_instance_id=who.member.instance_id,
        topics=tuple(_offset_topics(offsets)),
    )

    def read(keys: Sequence[str], response: TxnOffsetCommitResponse) -> Mapping[str, Answer[None]]:
        codes = [each.error_code for topic in response.topics for each in topic.partitions if each.error_code]
        return {key: told(codes[0], None, None) if codes else None for key in keys}

    return Question(
        "store offsets",
        ApiKey.TXN_OFFSET_COMMIT,
        (who.group_id,),
        lambda _keys, _version: request,
        read,
        COORDINATORS,
        newest_version=_OFFSETS_BY_NAME,
    )


def _offset_topics(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Iterable[TxnOffsetCommitRequestTopic]:
    for topic, numbers in by_topic(offsets).items():
        partitions = (
            TxnOffsetCommitRequestPartition(
                partition_index=each,
                committed_offset=offsets[TopicPartition(topic, each)].offset,
                committed_metadata=offsets[TopicPartition(topic, each)].metadata,
            )
            for each in numbers
        )
        yield TxnOffsetCommitRequestTopic(name=topic, partitions=tuple(partitions))


def ending(
    transactional_id: str, producer: ProducerIdAndEpoch, *, committed: bool
) -> Question[str, ProducerIdAndEpoch]:
    """End the transaction. The answer is the producer of the next one (KIP-890)."""
    request = EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=committed,
    )

    def read(keys: Sequence[str], response: EndTxnResponse) -> Mapping[str, Answer[ProducerIdAndEpoch]]:
        following = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)
        return {key: told(response.error_code, None, following) for key in keys}

    return Question(
        "end the transaction",
        ApiKey.END_TXN,
        (transactional_id,),
        lambda _keys, _version: request,
        read,
        TRANSACTION_COORDINATORS,
    )
