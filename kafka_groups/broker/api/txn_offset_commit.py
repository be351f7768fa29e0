"""TxnOffsetCommit (key 28), v0-v6: commits offsets of a group as part of a transaction (KIP-98, KIP-447, KIP-890).

The offsets count when the transaction is committed. From v5 on the request adds them to the transaction; before, the
producer must have sent AddOffsetsToTxn. From v6 on topics have ids.

Errors per partition; one of the group is repeated for each: TRANSACTIONAL_ID_AUTHORIZATION_FAILED; as for OffsetCommit,
but ILLEGAL_GENERATION for a group that does not exist and for a member epoch that is stale; INVALID_GROUP_ID (an empty
one), INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, INVALID_TXN_STATE, TRANSACTION_ABORTABLE (v4),
CONCURRENT_TRANSACTIONS.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from uuid import UUID

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.requests.commit_rules import CommitRules, errors_of
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.runtime.transactions.verification import TransactionalWrite, TransactionSupport
from kafka_groups.errors import (
    GroupAuthorizationFailedError,
    InvalidGroupIdError,
    TransactionalIdAuthorizationFailedError,
)
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommitValue
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.txn_offset_commit import (
    FIRST_THAT_ADDS,
    FIRST_WITH_TOPIC_IDS,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafka_groups.types import TopicPartition

__all__ = ["handle"]

_FIRST_ABORTABLE = 4
_FIRST_WITH_LOADING = 2


async def handle(request: TxnOffsetCommitRequest, context: RequestContext) -> TxnOffsetCommitResponse:
    """Return one result for each partition."""
    each = context.turns.each
    rules = CommitRules(
        context=context,
        has_topic_ids=context.version >= FIRST_WITH_TOPIC_IDS,
        committed=partial(_committed, context),
        store=partial(_store, request, context),
    )
    try:
        context.require(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.transactional_id)
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        errors = await errors_of(request.topics, rules)
    except (GroupAuthorizationFailedError, TransactionalIdAuthorizationFailedError) as error:
        errors = [code_of(error) for topic in request.topics for _ in topic.partitions]
    left = iter([_for_old(error, context.version) for error in errors])
    return TxnOffsetCommitResponse(topics=tuple([_topic(topic, left) async for topic in each(request.topics)]))


def _topic(topic: TxnOffsetCommitRequestTopic, errors: Iterator[ErrorCode]) -> TxnOffsetCommitResponseTopic:
    partitions = [
        TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
        for each, error in zip(topic.partitions, errors, strict=False)
    ]
    return TxnOffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=tuple(partitions))


async def _store(
    request: TxnOffsetCommitRequest, context: RequestContext, offsets: Mapping[TopicPartition, OffsetCommitValue]
) -> None:
    # OffsetCommit accepts an empty group id, for clients of long ago. TxnOffsetCommit never did.
    if not request.group_id:
        raise InvalidGroupIdError("The group id is empty.")
    committer = OffsetCommitter(
        request.member_id, request.group_instance_id, request.generation_id, is_transactional=True
    )
    producer = Producer(request.producer_id, request.producer_epoch)
    write = TransactionalWrite(request.transactional_id, producer, _support(context.version))
    await context.services.coordinators.commit_in_transaction(request.group_id, committer, offsets, write)


def _support(version: int) -> TransactionSupport:
    # See AddPartitionsToTxnManager.txnOffsetCommitRequestVersionToTransactionSupportedOperation in Kafka.
    if version >= FIRST_THAT_ADDS:
        return TransactionSupport.ADDS
    return TransactionSupport.ABORTABLE if version >= _FIRST_ABORTABLE else TransactionSupport.FIRST


def _committed(
    context: RequestContext, partition: TxnOffsetCommitRequestPartition, topic_id: UUID
) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=context.wall_ms,
        topic_id=topic_id,
    )


def _for_old(error: ErrorCode, version: int) -> ErrorCode:
    """Return an error as the sender knows it: the first producers crash if a coordinator is loading."""
    is_unknown = version < _FIRST_WITH_LOADING and error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if is_unknown else error
