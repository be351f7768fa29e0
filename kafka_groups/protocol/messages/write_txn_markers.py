"""WriteTxnMarkers (key 27), v1-v2: writes the markers that end transactions (KIP-98, KIP-1228).

Transaction coordinators send it to the leaders of partitions, and admin clients to abort a hanging transaction.
"""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class WritableTxnMarkerTopic:
    """Partitions of one topic."""

    name: str
    partition_indexes: tuple[int, ...] = ()


@frozen(kw_only=True)
class WritableTxnMarker:
    """The end of a producer's transaction.

    Attributes:
        producer_id: The producer.
        producer_epoch: Its epoch. In `transaction.version` 2 it is newer than that of the records.
        transaction_result: Whether the transaction is committed. Otherwise it is aborted.
        topics: The partitions that get the marker.
        coordinator_epoch: The leader epoch of the coordinator's partition. An older one is refused.
        transaction_version: The version of transactions that the producer uses.
    """

    producer_id: int
    producer_epoch: int
    transaction_result: bool
    topics: tuple[WritableTxnMarkerTopic, ...] = ()
    coordinator_epoch: int
    transaction_version: int = 0  # v2+


@frozen(kw_only=True)
class WriteTxnMarkersRequest:
    """Markers of any number of producers."""

    markers: tuple[WritableTxnMarker, ...] = ()


@frozen(kw_only=True)
class WritableTxnMarkerPartitionResult:
    """The result for one partition."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class WritableTxnMarkerTopicResult:
    """Results of one topic."""

    name: str
    partitions: tuple[WritableTxnMarkerPartitionResult, ...] = ()


@frozen(kw_only=True)
class WritableTxnMarkerResult:
    """Results of one producer."""

    producer_id: int
    topics: tuple[WritableTxnMarkerTopicResult, ...] = ()


@frozen(kw_only=True)
class WriteTxnMarkersResponse:
    """One result for each partition of each producer."""

    markers: tuple[WritableTxnMarkerResult, ...] = ()
