"""Values that describe batches in a log, and results of operations on it."""

from attrs import frozen

from kafka_groups.protocol.record_batch import BatchHeader

__all__ = ["AppendResult", "AppendRules", "BatchInfo", "OffsetAndTimestamp", "ReadResult"]


@frozen
class BatchInfo:
    """One batch in a log.

    Attributes:
        base_offset: Its first offset.
        last_offset: Its last offset.
        size_bytes: Size of the whole batch.
        record_count: Number of records. Less than the number of offsets if compaction removed some.
        max_timestamp_ms: The largest timestamp of its records, or -1 if they have no timestamps.
        leader_epoch: Epoch of the leader that appended it.
        is_control: Whether it contains transaction markers, which applications don't see.
        is_transactional: Whether it belongs to a transaction.
        producer_id: The idempotent producer that wrote it, or -1.
        delete_horizon_ms: When its tombstones or its marker may go, or -1 if that is not known yet.
    """

    base_offset: int
    last_offset: int
    size_bytes: int
    record_count: int
    max_timestamp_ms: int
    leader_epoch: int
    is_control: bool = False
    is_transactional: bool = False
    producer_id: int = -1
    delete_horizon_ms: int = -1

    @classmethod
    def of(cls, header: BatchHeader, base_offset: int, leader_epoch: int, max_timestamp_ms: int) -> "BatchInfo":
        """Return the description of a batch from its header and the values that the leader assigned."""
        return cls(
            base_offset,
            base_offset + header.last_offset_delta,
            header.size_bytes,
            header.record_count,
            max_timestamp_ms,
            leader_epoch,
            header.is_control,
            header.is_transactional,
            header.producer_id,
        )


@frozen
class AppendRules:
    """A topic's configuration for appends.

    Attributes:
        max_message_bytes: The largest batch (`max.message.bytes`).
        log_append_time: Whether the broker sets the timestamps (`message.timestamp.type`).
        timestamp_after_max_ms: The highest lead of a timestamp over the clock (`message.timestamp.after.max.ms`).
        is_compacted: Whether every record needs a key (`cleanup.policy`).
        producer_expiration_ms: Time after which an idle producer is forgotten (`producer.id.expiration.ms`).
        verifies_transactions: Whether a transaction can only begin after the coordinator was asked
            (`transaction.partition.verification.enable`).
        segment_bytes: The largest size of a segment (`segment.bytes`).
        segment_ms: The longest time between the first record of a segment and the last (`segment.ms`).
    """

    max_message_bytes: int = 1_048_588
    log_append_time: bool = False
    timestamp_after_max_ms: int = 3_600_000
    is_compacted: bool = False
    producer_expiration_ms: int = 86_400_000
    verifies_transactions: bool = True
    segment_bytes: int = 1_073_741_824
    segment_ms: int = 604_800_000


@frozen
class AppendResult:
    """The result of an append.

    Attributes:
        base_offset: Offset of its first record.
        last_offset: Offset of its last record.
        log_append_time_ms: The timestamp that the broker assigned, or -1 if records keep the producer's timestamps.
        log_start_offset: First offset of the log.
        is_duplicate: Whether the producer had already sent the batch, so that nothing was appended.
    """

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    is_duplicate: bool = False


@frozen
class ReadResult:
    """Whole batches from a log.

    Attributes:
        records: Their bytes. The first batch may start before the requested offset.
        batches: One entry for each batch in `records`.
        high_watermark: The offset after the last readable one.
        log_start_offset: The first offset of the log.
        last_stable_offset: The first offset of an open transaction, or the end if there is none.
    """

    records: bytes
    batches: tuple[BatchInfo, ...]
    high_watermark: int
    log_start_offset: int
    last_stable_offset: int


@frozen
class OffsetAndTimestamp:
    """The result of a search by timestamp: the record's offset, timestamp and leader epoch."""

    offset: int
    timestamp_ms: int
    leader_epoch: int
