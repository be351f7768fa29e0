"""DescribeTransactions (key 65), v0: the state of transactional ids (KIP-664)."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DescribeTransactionsRequest:
    """The transactional ids."""

    transactional_ids: tuple[str, ...] = ()


@frozen(kw_only=True)
class DescribedTransactionTopic:
    """Partitions of one topic in a transaction."""

    topic: str
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class DescribedTransaction:
    """One transactional id.

    Attributes:
        error_code: The error, if the id could not be described.
        transactional_id: The id.
        transaction_state: The name of its state.
        transaction_timeout_ms: The longest time that a transaction may take.
        transaction_start_time_ms: When the current transaction began, in milliseconds since the epoch, or -1.
        producer_id: The producer.
        producer_epoch: Its epoch.
        topics: The partitions of the current transaction. When it ends, those that still have to get the marker.
    """

    error_code: ErrorCode = ErrorCode.NONE
    transactional_id: str
    transaction_state: str = ""
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    topics: tuple[DescribedTransactionTopic, ...] = ()


@frozen(kw_only=True)
class DescribeTransactionsResponse:
    """One description for each id."""

    throttle_time_ms: int = 0
    transaction_states: tuple[DescribedTransaction, ...] = ()
