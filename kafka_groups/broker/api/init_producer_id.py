"""InitProducerId (key 22), v0-v5: hands out an id to an idempotent producer, always a new one with epoch 0.

There are no transactions: a transactional id is answered with UNSUPPORTED_VERSION. The Java producer takes that for
fatal and reports it at once, librdkafka when `init_transactions` times out. An empty transactional id is an
INVALID_REQUEST, as in Kafka.
"""

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

__all__ = ["handle"]

_FIRST_EPOCH = 0
_NO_EPOCH = -1


async def handle(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    """A producer id."""
    if request.transactional_id is None:
        producer_id = context.services.logs.new_producer_id()
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=_FIRST_EPOCH)
    error = ErrorCode.UNSUPPORTED_VERSION if request.transactional_id else ErrorCode.INVALID_REQUEST
    return InitProducerIdResponse(error_code=error, producer_epoch=_NO_EPOCH)
