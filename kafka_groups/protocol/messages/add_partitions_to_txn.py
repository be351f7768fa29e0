"""AddPartitionsToTxn (key 24), v0-v5: adds partitions to a transaction (KIP-98, KIP-890).

Producers send the versions up to v3, for one transaction. Later versions are for brokers: they ask about any number of
transactions, and may only verify that a partition is in one.
"""

from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode

FIRST_OF_BROKERS: Final = 4
"""Version from which the request is for brokers."""


@frozen(kw_only=True)
class AddPartitionsToTxnTopic:
    """Partitions of one topic."""

    name: str
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class AddPartitionsToTxnTransaction:
    """One transaction. With `verify_only`, nothing is added."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool = False
    topics: tuple[AddPartitionsToTxnTopic, ...] = ()


@frozen(kw_only=True)
class AddPartitionsToTxnRequest:
    """Transactions (v4+), or the fields of a single one (v0-v3)."""

    transactions: tuple[AddPartitionsToTxnTransaction, ...] = ()  # v4+
    v3_and_below_transactional_id: str = ""  # v0-v3
    v3_and_below_producer_id: int = 0  # v0-v3
    v3_and_below_producer_epoch: int = 0  # v0-v3
    v3_and_below_topics: tuple[AddPartitionsToTxnTopic, ...] = ()  # v0-v3


@frozen(kw_only=True)
class AddPartitionsToTxnPartitionResult:
    """The result for one partition."""

    partition_index: int
    partition_error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class AddPartitionsToTxnTopicResult:
    """Results of one topic."""

    name: str
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...] = ()


@frozen(kw_only=True)
class AddPartitionsToTxnResult:
    """Results of one transaction."""

    transactional_id: str
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...] = ()


@frozen(kw_only=True)
class AddPartitionsToTxnResponse:
    """One result for each partition. An error of a transaction is repeated for each of its partitions."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE  # v4+
    results_by_transaction: tuple[AddPartitionsToTxnResult, ...] = ()  # v4+
    results_by_topic_v3_and_below: tuple[AddPartitionsToTxnTopicResult, ...] = ()  # v0-v3
