"""AddOffsetsToTxn (key 25), v0-v4: adds the committed offsets of a group to a transaction (KIP-98).

That is the partition of `__consumer_offsets` that keeps the group. Producers of `transaction.version` 2 need not ask.

Errors: as for AddPartitionsToTxn; GROUP_AUTHORIZATION_FAILED.
"""

from functools import partial

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, partition_of_key
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.transactional_ids import check_transactional_id, code_for_producers
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafka_groups.types import TopicPartition

__all__ = ["handle"]

_OLD_VERSION = 0


async def handle(request: AddOffsetsToTxnRequest, context: RequestContext) -> AddOffsetsToTxnResponse:
    """Add the offsets."""
    services = context.services
    producer = Producer(request.producer_id, request.producer_epoch)
    try:
        context.require(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.transactional_id)
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        check_transactional_id(request.transactional_id)
        # The offsets of a group are records in one partition of this topic, which takes part in the transaction like
        # any other. The topic may be created by this request.
        topic = services.coordinators.groups.topic.ensured()
        partition = TopicPartition(GROUP_TOPIC, partition_of_key(request.group_id, topic.num_partitions))
        add = services.coordinators.transactions.add_partitions
        await outcome_of(partial(add, request.transactional_id, producer, [partition], _OLD_VERSION))
    except BrokerError as error:
        return AddOffsetsToTxnResponse(error_code=code_for_producers(error, context.version))
    return AddOffsetsToTxnResponse()
