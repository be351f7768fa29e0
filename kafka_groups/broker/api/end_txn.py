"""EndTxn (key 26), v0-v5: commits or aborts a transaction (KIP-98, KIP-890).

The response comes when the decision is stored. The partitions get their markers afterwards. From v5 on it has the
producer's next id and epoch.

Errors: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST (an empty id),
INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (before v2 INVALID_PRODUCER_EPOCH), INVALID_TXN_STATE,
CONCURRENT_TRANSACTIONS.
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.transactions.ending import EndRequest
from kafka_groups.broker.coordinators.transactions.transaction import FIRST_WITH_NEW_EPOCHS
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.transactional_ids import check_transactional_id, code_for_producers
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.end_txn import FIRST_WITH_NEW_EPOCHS as FIRST_VERSION_WITH_NEW_EPOCHS
from kafka_groups.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

__all__ = ["handle"]


async def handle(request: EndTxnRequest, context: RequestContext) -> EndTxnResponse:
    """End the transaction."""
    # A client that sends this version takes part in transactions of version 2
    # (TransactionVersion.transactionVersionForEndTxn in Kafka).
    has_new_epochs = context.version >= FIRST_VERSION_WITH_NEW_EPOCHS
    producer = Producer(request.producer_id, request.producer_epoch)
    end = EndRequest(producer, request.committed, FIRST_WITH_NEW_EPOCHS if has_new_epochs else 0)
    try:
        context.require(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.transactional_id)
        check_transactional_id(request.transactional_id)
        following = await context.services.coordinators.transactions.end(request.transactional_id, end)
    except BrokerError as error:
        return EndTxnResponse(error_code=code_for_producers(error, context.version))
    # Older versions have no fields for the next id and epoch.
    if not has_new_epochs:
        return EndTxnResponse()
    return EndTxnResponse(producer_id=following.producer_id, producer_epoch=following.epoch)
