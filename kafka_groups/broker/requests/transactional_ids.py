"""Code shared by the handlers of requests with a transactional id."""

from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError, InvalidRequestError, ProducerFencedError
from kafka_groups.protocol.error_codes import ErrorCode

__all__ = ["check_transactional_id", "code_for_producers"]

_FIRST_WITH_FENCED = 2


def check_transactional_id(transactional_id: str) -> None:
    """Check that there is a transactional id.

    Raises:
        InvalidRequestError: It is empty.
    """
    if not transactional_id:
        raise InvalidRequestError("The transactional id is empty.")


def code_for_producers(error: BrokerError, version: int, first_with_fenced: int = _FIRST_WITH_FENCED) -> ErrorCode:
    """Return the code of an error. Before one version, in most APIs 2, producers do not know PRODUCER_FENCED."""
    # See for example KafkaApis.handleEndTxnRequest in Kafka.
    if isinstance(error, ProducerFencedError) and version < first_with_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code_of(error)
