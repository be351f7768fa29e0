"""Validation of batches that producers send.

It checks the header. It decodes records only for compacted topics, where every record needs a key, and to find those
with a timestamp too far in the future. Kafka decodes the records of every uncompressed batch, and so also refuses a
malformed batch with a valid checksum.
"""

from collections.abc import Iterator

from kafka_groups.broker.log.batches import AppendRules
from kafka_groups.broker.log.rejected_records import RejectedKeysError, RejectedRecord, RejectedTimestampsError
from kafka_groups.errors import (
    CorruptMessageError,
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
    RecordListTooLargeError,
)
from kafka_groups.protocol.record_batch import MAGIC, MAGIC_AT, NO_PRODUCER_ID, BatchHeader, RecordBatch, iter_batches

__all__ = ["checked_batch", "sole_batch"]

_LENGTH_AT = 8
_OLD_OVERHEAD_BYTES = 14  # the minimum size of a message in the older formats


def sole_batch(records: bytes | memoryview | None) -> RecordBatch:
    """Return the single batch that a produce request contains for a partition.

    Raises:
        InvalidRecordError: There is no batch, or more than one.
        CorruptMessageError: The bytes are not a batch.
    """
    # Batches of the older formats have another layout, and `iter_batches` could not read them. Kafka refuses them with
    # this error, too (ProduceRequest.validateRecords).
    if _is_of_old_format(records):
        raise InvalidRecordError(f"Records in a format older than {MAGIC} are not supported.")
    try:
        batches = list(iter_batches(records))
    except CorruptRecordError as error:
        raise CorruptMessageError(str(error)) from error
    # Kafka takes exactly one batch per partition, so the sequence numbers of a batch and the result for a partition
    # belong to each other (ProduceRequest.validateRecords).
    if len(batches) != 1:
        raise InvalidRecordError(
            f"Expected exactly one record batch per partition in a produce request, got {len(batches)}."
        )
    return batches[0]


def _is_of_old_format(records: bytes | memoryview | None) -> bool:
    if records is None or len(records) <= MAGIC_AT or records[MAGIC_AT] >= MAGIC:
        return False
    # A length that is too small for a message of that time is no old format but garbage, and is answered as a corrupt
    # batch.
    return int.from_bytes(records[_LENGTH_AT : _LENGTH_AT + 4], "big", signed=True) >= _OLD_OVERHEAD_BYTES


def checked_batch(batch: RecordBatch, rules: AppendRules, wall_ms: int) -> BatchHeader:
    """Validate a batch and return its header.

    Raises:
        MessageTooLargeError: The batch is larger than `max.message.bytes`.
        CorruptMessageError: The checksum does not match, or the compression is unknown.
        InvalidRecordError: The header is inconsistent, or producers may not write such a batch.
        RejectedKeysError: The topic is compacted and a record has no key.
        RejectedTimestampsError: A timestamp is too far in the future.
        RecordListTooLargeError: The batch is larger than a segment (`segment.bytes`).
    """
    header = batch.header
    # Kafka compares the size of a whole batch, as it is compressed, and not of a record
    # (UnifiedLog.analyzeAndValidateRecords).
    if header.size_bytes > rules.max_message_bytes:
        raise MessageTooLargeError(
            f"The record batch has {header.size_bytes} bytes, which is more than max.message.bytes "
            f"({rules.max_message_bytes})."
        )
    _check_integrity(batch)
    _check_offsets(header)
    _check_origin(header)
    _check_records(batch, rules, wall_ms)
    # Kafka looks at this last, and before the producer's numbers (UnifiedLog.append).
    if header.size_bytes > rules.segment_bytes:
        raise RecordListTooLargeError(
            f"The record batch has {header.size_bytes} bytes, which is more than segment.bytes ({rules.segment_bytes})."
        )
    return header


def _check_integrity(batch: RecordBatch) -> None:
    try:
        batch.check_crc()
        batch.header.compression  # noqa: B018 - raises when unknown
    except CorruptRecordError as error:
        raise CorruptMessageError(str(error)) from error


def _check_offsets(header: BatchHeader) -> None:
    # The leader assigns offsets, so a batch of a producer begins with 0 (UnifiedLog.analyzeAndValidateRecords).
    if header.base_offset != 0:
        raise InvalidRecordError(f"Invalid base offset {header.base_offset} of a produced batch: expected 0.")
    # Only compaction may make gaps, so the number of records must fit the offsets (LogValidator.validateBatch).
    if header.last_offset_delta < 0 or not header.is_dense:
        raise InvalidRecordError(
            f"The batch has {header.last_offset_delta + 1} offsets but a record count of {header.record_count}."
        )


def _check_origin(header: BatchHeader) -> None:
    # Markers come from brokers, by WriteTxnMarkers (LogValidator.validateBatch).
    if header.is_control:
        raise InvalidRecordError("Clients can't write control records.")
    # An idempotent producer needs a sequence number, or its batch could not be compared with others
    # (LogValidator.validateBatch).
    if header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0:
        raise InvalidRecordError(
            f"Producer {header.producer_id} sent epoch {header.producer_epoch} and sequence {header.base_sequence}."
        )


def _check_records(batch: RecordBatch, rules: AppendRules, wall_ms: int) -> None:
    header = batch.header
    # If the broker sets timestamps, it does not matter what the producer sent. Kafka compares the timestamp of each
    # record (LogValidator.validateTimestamp). Here the header's largest one decides whether records are decoded.
    is_late = not rules.log_append_time and header.max_timestamp_ms - wall_ms > rules.timestamp_after_max_ms
    if not is_late and not rules.is_compacted:
        return
    latest_ms = wall_ms + rules.timestamp_after_max_ms if is_late else None
    try:
        found = list(_rejected(batch, needs_keys=rules.is_compacted, latest_ms=latest_ms))
    except CorruptRecordError as error:
        raise InvalidRecordError(str(error)) from error
    # One bad timestamp decides about the error of the batch (LogValidator.processRecordErrors in Kafka).
    rejected = [each for each, _is_late in found]
    if any(is_late for _each, is_late in found):
        raise RejectedTimestampsError(rejected)
    if rejected:
        raise RejectedKeysError(rejected)
    if is_late:
        raise InvalidTimestampError(
            f"The header of the batch has timestamp {header.max_timestamp_ms}, and no record has."
        )


def _rejected(batch: RecordBatch, *, needs_keys: bool, latest_ms: int | None) -> Iterator[tuple[RejectedRecord, bool]]:
    """Yield the records that the topic does not take, and whether it is for their timestamp."""
    for index, record in enumerate(batch.records()):
        # A record without a key could never be superseded, so compaction would lose it or keep it forever. Kafka looks
        # at the key first, and names one reason for each record (LogValidator.validateRecord).
        if needs_keys and record.key is None:
            yield RejectedRecord(index, "Every record in a compacted topic needs a key."), False
        elif latest_ms is not None and record.timestamp is not None and record.timestamp > latest_ms:
            yield RejectedRecord(index, f"Timestamp {record.timestamp} is after {latest_ms}, the latest allowed."), True
