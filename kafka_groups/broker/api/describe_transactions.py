"""DescribeTransactions (key 65), v0: the state of transactional ids (KIP-664).

Topics that the client may not describe are left out.

Errors per id: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_REQUEST (an
empty id), TRANSACTIONAL_ID_NOT_FOUND.
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.transactions.records import by_topic
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.transactional_ids import check_transactional_id
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.describe_transactions import (
    DescribedTransaction,
    DescribedTransactionTopic,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)

__all__ = ["handle"]


async def handle(request: DescribeTransactionsRequest, context: RequestContext) -> DescribeTransactionsResponse:
    """Return one description for each id."""
    ids = context.turns.each(request.transactional_ids)
    return DescribeTransactionsResponse(transaction_states=tuple([await _described(id_, context) async for id_ in ids]))


async def _described(transactional_id: str, context: RequestContext) -> DescribedTransaction:
    try:
        context.require(AclOperation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, transactional_id)
        check_transactional_id(transactional_id)
        known = await context.services.coordinators.transactions.described(transactional_id)
    except BrokerError as error:
        return DescribedTransaction(transactional_id=transactional_id, error_code=code_of(error))
    by_name = by_topic(known.partitions)
    visible = context.visible(AclOperation.DESCRIBE, AclResourceType.TOPIC, by_name)
    topics = (DescribedTransactionTopic(topic=topic, partitions=by_name[topic]) for topic in visible)
    return DescribedTransaction(
        transactional_id=transactional_id,
        transaction_state=known.state.value,
        transaction_timeout_ms=known.timeout_ms,
        transaction_start_time_ms=known.start_ms,
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        topics=tuple(topics),
    )
