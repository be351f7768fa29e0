"""What a leader checks in a batch that a producer sends; it looks at the header and never decodes a record."""

from kafka_groups.broker.log.batches import AppendRules
from kafka_groups.errors import (
    CorruptMessageError,
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTxnStateError,
    MessageTooLargeError,
)
from kafka_groups.protocol.record_batch import MAGIC, MAGIC_AT, NO_PRODUCER_ID, BatchHeader, RecordBatch, iter_batches

__all__ = ["checked_batch", "sole_batch"]


def sole_batch(records: bytes | memoryview | None) -> RecordBatch:
    """The one batch that a producer may send to a partition in one request.

    Raises:
        InvalidRecordError: There is none, or more than one.
        CorruptMessageError: The bytes are no batch.
    """
    if records is not None and len(records) > MAGIC_AT and records[MAGIC_AT] != MAGIC:
        raise InvalidRecordError(f"records of format {records[MAGIC_AT]} are not accepted, only {MAGIC} is")
    try:
        batches = list(iter_batches(records))
    except CorruptRecordError as error:
        raise CorruptMessageError(str(error)) from error
    if len(batches) != 1:
        raise InvalidRecordError(f"a produce request holds exactly one record batch per partition, not {len(batches)}")
    return batches[0]


def checked_batch(batch: RecordBatch, rules: AppendRules) -> BatchHeader:
    """The header of a batch that a leader accepts.

    Raises:
        MessageTooLargeError: It is larger than `max.message.bytes`.
        CorruptMessageError: The checksum differs, or the compression is unknown.
        InvalidRecordError: The header contradicts itself, or the batch is one that producers do not write.
        InvalidTimestampError: The producer says that the broker had set the timestamps.
        InvalidTxnStateError: It belongs to a transaction.
    """
    header = batch.header
    if header.size_bytes > rules.max_message_bytes:
        raise MessageTooLargeError(
            f"the record batch has {header.size_bytes} bytes, which is more than max.message.bytes "
            f"({rules.max_message_bytes})"
        )
    _check_integrity(batch)
    _check_offsets(header)
    _check_origin(header)
    return header


def _check_integrity(batch: RecordBatch) -> None:
    try:
        batch.check_crc()
        batch.header.compression  # noqa: B018 - raises when unknown
    except CorruptRecordError as error:
        raise CorruptMessageError(str(error)) from error


def _check_offsets(header: BatchHeader) -> None:
    if header.base_offset != 0:
        raise InvalidRecordError(f"the base offset of a produced batch is 0, not {header.base_offset}")
    if header.last_offset_delta < 0 or not header.is_dense:
        raise InvalidRecordError(
            f"the batch covers {header.last_offset_delta + 1} offsets and announces {header.record_count} records"
        )


def _check_origin(header: BatchHeader) -> None:
    if header.is_control:
        raise InvalidRecordError("clients do not write control records")
    if header.is_transactional:
        raise InvalidTxnStateError("the producer has no transaction under way")
    if header.producer_id != NO_PRODUCER_ID and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise InvalidRecordError(
            f"producer {header.producer_id} gives epoch {header.producer_epoch} and sequence {header.base_sequence}"
        )
    if header.is_log_append_time:
        raise InvalidTimestampError("producers do not set the timestamp type to LogAppendTime")
