"""ListTransactions (key 66), v0-v2: the transactional ids that a broker coordinates (KIP-664, KIP-994, KIP-1152)."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class ListTransactionsRequest:
    """Filters. Empty ones, a duration of -1, and no pattern let everything through.

    Attributes:
        state_filters: Names of states.
        producer_id_filters: Producers.
        duration_filter: Only transactions that have been open for longer, in milliseconds.
        transactional_id_pattern: A regular expression that whole ids match.
    """

    state_filters: tuple[str, ...] = ()
    producer_id_filters: tuple[int, ...] = ()
    duration_filter: int = -1  # v1+
    transactional_id_pattern: str | None = None  # v2+


@frozen(kw_only=True)
class ListedTransaction:
    """One transactional id: its producer, and the name of its state."""

    transactional_id: str
    producer_id: int
    transaction_state: str


@frozen(kw_only=True)
class ListTransactionsResponse:
    """The ids, and the names in the filter that are not states."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    unknown_state_filters: tuple[str, ...] = ()
    transaction_states: tuple[ListedTransaction, ...] = ()
