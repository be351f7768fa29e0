"""AddOffsetsToTxn (key 25), v0-v4: adds the committed offsets of a group to a transaction (KIP-98)."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class AddOffsetsToTxnRequest:
    """The producer, and the group whose offsets it is going to commit."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str


@frozen(kw_only=True)
class AddOffsetsToTxnResponse:
    """The offsets are part of the transaction now, unless there is an error."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
