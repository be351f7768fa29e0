"""TODO init_producer_id (key 22), versions 0-5."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class InitProducerIdRequest:
    """TODO."""

    transactional_id: str | None = None
    transaction_timeout_ms: int
    producer_id: int = -1  # v3+
    producer_epoch: int = -1  # v3+


@frozen(kw_only=True)
class InitProducerIdResponse:
    """TODO."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    producer_id: int = -1
    producer_epoch: int
