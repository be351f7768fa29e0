"""What a log tells about its batches and about its answers."""

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
        record_count: Records in it; fewer than its offsets when compaction took some away.
        max_timestamp_ms: The largest timestamp of its records, -1 when they have none.
        leader_epoch: Epoch of the leader that appended it.
        is_control: Whether it holds transaction markers, which no application sees.
        is_transactional: Whether it belongs to a transaction.
        producer_id: The idempotent producer that wrote it, -1 without one.
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

    @classmethod
    def of(cls, header: BatchHeader, base_offset: int, leader_epoch: int, max_timestamp_ms: int) -> "BatchInfo":
        """What a header says, with what the leader assigned."""
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
    """What a topic's configuration says about appends.

    Attributes:
        max_message_bytes: The largest batch (`max.message.bytes`).
        log_append_time: Whether the broker sets the timestamps (`message.timestamp.type`).
        timestamp_after_max_ms: How far a producer's timestamps may be ahead (`message.timestamp.after.max.ms`).
        is_compacted: Whether every record needs a key (`cleanup.policy`).
        producer_expiration_ms: When an idle producer's sequence numbers are forgotten (`producer.id.expiration.ms`).
    """

    max_message_bytes: int = 1_048_588
    log_append_time: bool = False
    timestamp_after_max_ms: int = 3_600_000
    is_compacted: bool = False
    producer_expiration_ms: int = 86_400_000


@frozen
class AppendResult:
    """Where a batch went.

    Attributes:
        base_offset: Offset of its first record.
        last_offset: Offset of its last record.
        log_append_time_ms: The time that the broker gave its records, -1 when they keep the producer's.
        log_start_offset: First offset of the log.
        is_duplicate: Whether the producer had sent the batch before, so that nothing was appended.
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
        records: Their bytes; the first batch may begin before the offset that was asked for.
        batches: One entry per batch in `records`.
        high_watermark: The offset after the last one that may be read.
        log_start_offset: The first offset of the log.
        last_stable_offset: The offset after the last one that no open transaction holds back.
    """

    records: bytes
    batches: tuple[BatchInfo, ...]
    high_watermark: int
    log_start_offset: int
    last_stable_offset: int


@frozen
class OffsetAndTimestamp:
    """A record that a search by time found: where, when and in which leader epoch it was written."""

    offset: int
    timestamp_ms: int
    leader_epoch: int
