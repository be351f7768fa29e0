"""InitProducerId (key 22), v0-v5: assigns id and epoch of an idempotent or transactional producer (KIP-98, KIP-360).

Without a transactional id the id is always new and has epoch 0. With one, the coordinator of the transactional id
increases the epoch, and aborts the transaction that an earlier producer has left open.

Errors: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST (an empty
transactional id, or an id without epoch), INVALID_TRANSACTION_TIMEOUT, CONCURRENT_TRANSACTIONS, PRODUCER_FENCED (before
v4 INVALID_PRODUCER_EPOCH).
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.transactions.transaction import NO_EPOCH, NO_PRODUCER
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.transactional_ids import check_transactional_id, code_for_producers
from kafka_groups.errors import BrokerError, ClusterAuthorizationFailedError, InvalidRequestError
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

__all__ = ["handle"]

_FIRST_EPOCH = 0
_FIRST_WITH_FENCED = 4


async def handle(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    """Return a producer id and an epoch."""
    try:
        producer = await _initialised(request, context)
    except BrokerError as error:
        code = code_for_producers(error, context.version, _FIRST_WITH_FENCED)
        return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER, producer_epoch=NO_EPOCH)
    return InitProducerIdResponse(producer_id=producer.producer_id, producer_epoch=producer.epoch)


def _check_rights(request: InitProducerIdRequest, context: RequestContext) -> None:
    if request.transactional_id is not None:
        context.require(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.transactional_id)
        return
    # Whoever may write to some topic may be idempotent there (KIP-679).
    if not (
        context.may(AclOperation.IDEMPOTENT_WRITE, AclResourceType.CLUSTER)
        or context.may_on_any(AclOperation.WRITE, AclResourceType.TOPIC)
    ):
        raise ClusterAuthorizationFailedError


async def _initialised(request: InitProducerIdRequest, context: RequestContext) -> Producer:
    _check_rights(request, context)
    # Either both are given, by a producer that continues (KIP-360), or neither.
    if (request.producer_id == NO_PRODUCER) != (request.producer_epoch == NO_EPOCH):
        raise InvalidRequestError("A producer id needs an epoch, and an epoch a producer id.")
    # An idempotent producer needs no coordinator: nobody can fence it, and a new id cannot collide with an old one
    # (TransactionCoordinator.handleInitProducerId in Kafka).
    if request.transactional_id is None:
        return Producer(context.services.cluster.logs.new_producer_id(), _FIRST_EPOCH)
    check_transactional_id(request.transactional_id)
    expected = None if request.producer_id == NO_PRODUCER else Producer(request.producer_id, request.producer_epoch)
    initialise = context.services.coordinators.transactions.initialise
    return await initialise(request.transactional_id, request.transaction_timeout_ms, expected)
