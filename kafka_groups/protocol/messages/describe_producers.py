"""DescribeProducers (key 61), v0: the idempotent and transactional producers of partitions (KIP-664)."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DescribeProducersRequestTopic:
    """Partitions of one topic."""

    name: str
    partition_indexes: tuple[int, ...] = ()


@frozen(kw_only=True)
class DescribeProducersRequest:
    """The partitions."""

    topics: tuple[DescribeProducersRequestTopic, ...] = ()


@frozen(kw_only=True)
class ActiveProducer:
    """A producer that a partition remembers.

    Attributes:
        producer_id: The producer.
        producer_epoch: Its epoch.
        last_sequence: Sequence number of its last record, or -1 if there is none since its last marker.
        last_timestamp: Time of its last batch or marker, in milliseconds since the epoch, or -1.
        coordinator_epoch: Epoch of the coordinator that wrote its last marker, or -1.
        current_txn_start_offset: Where its open transaction begins, or -1 if no transaction is open.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int
    current_txn_start_offset: int = -1


@frozen(kw_only=True)
class DescribeProducersResponsePartition:
    """The producers of one partition."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    active_producers: tuple[ActiveProducer, ...] = ()


@frozen(kw_only=True)
class DescribeProducersResponseTopic:
    """Results of one topic."""

    name: str
    partitions: tuple[DescribeProducersResponsePartition, ...] = ()


@frozen(kw_only=True)
class DescribeProducersResponse:
    """One result for each partition."""

    throttle_time_ms: int = 0
    topics: tuple[DescribeProducersResponseTopic, ...] = ()
