"""EndTxn (key 26), v0-v5: commits or aborts a transaction (KIP-98, KIP-890)."""

from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode

FIRST_WITH_NEW_EPOCHS: Final = 5
"""Version from which the epoch increases with each transaction (`transaction.version` 2)."""


@frozen(kw_only=True)
class EndTxnRequest:
    """The producer, and whether its transaction is committed. Otherwise it is aborted."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool


@frozen(kw_only=True)
class EndTxnResponse:
    """The id and epoch for the producer's next transaction, from v5 on: -1 if there is an error."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    producer_id: int = -1  # v5+
    producer_epoch: int = -1  # v5+
