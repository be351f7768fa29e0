"""What a leader checks in a batch that a producer sends.

It looks at the header; records are decoded only for compacted topics, which want keys. Kafka decodes the records of
every batch that is not compressed, and so also refuses one that is malformed under a valid checksum.
"""

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

_LENGTH_AT = 8
_OLD_OVERHEAD_BYTES = 14  # what a message of the older formats has at least


def sole_batch(records: bytes | memoryview | None) -> RecordBatch:
    """The one batch that a producer may send to a partition in one request.

    Raises:
        InvalidRecordError: There is none, or more than one.
        CorruptMessageError: The bytes are no batch.
    """
    if _is_of_old_format(records):
        raise InvalidRecordError(f"records of an older format than {MAGIC} are not accepted")
    try:
        batches = list(iter_batches(records))
    except CorruptRecordError as error:
        raise CorruptMessageError(str(error)) from error
    if len(batches) != 1:
        raise InvalidRecordError(f"a produce request holds exactly one record batch per partition, not {len(batches)}")
    return batches[0]


def _is_of_old_format(records: bytes | memoryview | None) -> bool:
    if records is None or len(records) <= MAGIC_AT or records[MAGIC_AT] >= MAGIC:
        return False
    return int.from_bytes(records[_LENGTH_AT : _LENGTH_AT + 4], "big", signed=True) >= _OLD_OVERHEAD_BYTES


def checked_batch(batch: RecordBatch, rules: AppendRules, wall_ms: int) -> BatchHeader:
    """The header of a batch that a leader accepts.

    Raises:
        MessageTooLargeError: It is larger than `max.message.bytes`.
        CorruptMessageError: The checksum differs, or the compression is unknown.
        InvalidRecordError: The header contradicts itself, the batch is one that producers do not write, or the topic
            is compacted and a record has no key.
        InvalidTimestampError: The largest timestamp lies too far in the future.
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
    _check_timestamp(header, rules, wall_ms)
    if rules.is_compacted:
        _check_keys(batch)
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
    if header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0:
        raise InvalidRecordError(
            f"producer {header.producer_id} gives epoch {header.producer_epoch} and sequence {header.base_sequence}"
        )


def _check_timestamp(header: BatchHeader, rules: AppendRules, wall_ms: int) -> None:
    if not rules.log_append_time and header.max_timestamp_ms - wall_ms > rules.timestamp_after_max_ms:
        raise InvalidTimestampError(
            f"timestamp {header.max_timestamp_ms} is more than {rules.timestamp_after_max_ms} ms after the broker's "
            f"time ({wall_ms})"
        )


def _check_keys(batch: RecordBatch) -> None:
    try:
        if any(record.key is None for record in batch.records()):
            raise InvalidRecordError("a compacted topic takes no record without a key")
    except CorruptRecordError as error:
        raise InvalidRecordError(str(error)) from error
