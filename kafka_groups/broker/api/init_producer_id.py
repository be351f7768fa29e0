"""InitProducerId (key 22), v0-v5: assigns an id to an idempotent producer. The id is always new and has epoch 0.

Transactions are not supported: a transactional id gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED, which ends producers at
once. Most of them have learnt it, and why, from FindCoordinator before. As in Kafka, an empty transactional id gets
INVALID_REQUEST.
"""

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

__all__ = ["handle"]

_FIRST_EPOCH = 0
_NO_EPOCH = -1


async def handle(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    """Return a producer id."""
    if request.transactional_id is None:
        producer_id = context.services.cluster.logs.new_producer_id()
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=_FIRST_EPOCH)
    refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    error = refused if request.transactional_id else ErrorCode.INVALID_REQUEST
    return InitProducerIdResponse(error_code=error, producer_epoch=_NO_EPOCH)
