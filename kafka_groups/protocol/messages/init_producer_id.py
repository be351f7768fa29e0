"""InitProducerId (key 22), v0-v6: assigns id and epoch of an idempotent or transactional producer (KIP-98, KIP-360).

Version 6 is for two-phase commits (KIP-939). Releases up to 4.4 serve it only if the broker's configuration enables it.
"""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class InitProducerIdRequest:
    """`transactional_id` is None for an idempotent producer. An id and epoch of -1 request new ones."""

    transactional_id: str | None = None
    transaction_timeout_ms: int
    producer_id: int = -1  # v3+
    producer_epoch: int = -1  # v3+
    enable2_pc: bool = False  # v6+
    keep_prepared_txn: bool = False  # v6+


@frozen(kw_only=True)
class InitProducerIdResponse:
    """The id and epoch to produce with, or -1 if there is an error."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    producer_id: int = -1
    producer_epoch: int
    ongoing_txn_producer_id: int = -1  # v6+
    ongoing_txn_producer_epoch: int = -1  # v6+
