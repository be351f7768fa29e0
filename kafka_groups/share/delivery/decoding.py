"""Turns the bytes of a fetch response into deliveries: checksums, gaps, control batches, deserialisers."""

from collections.abc import Iterable, Iterator, Sequence

from attrs import field, frozen

from kafka_groups.client.events import Area, Events
from kafka_groups.errors import CorruptRecordError, KafkaGroupsError, RecordDeserializationError
from kafka_groups.errors.texts import counted, named, sentences
from kafka_groups.protocol.record_batch import DecodedRecord, RecordBatch, foreign_errors, iter_batches
from kafka_groups.serdes.contexts import DeserializationContext, takes_context
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import DeserializedRecord, Deserializer
from kafka_groups.types import AcknowledgeType

__all__ = ["Decoder"]


@frozen
class Decoder:
    """Decodes the records of fetch responses.

    Attributes:
        check_crcs: Whether the checksum of every batch is compared (`check.crcs`).
        key_deserializer: Makes keys out of bytes, or None to leave them as they are.
        value_deserializer: Makes values out of bytes, or None to leave them as they are. Either may take a context as
            well, which is found out once.
        events: Receives events for the log.
        raise_errors: Whether a record that cannot be deserialised ends the delivery with its error, as Kafka's
            own client has it, instead of being delivered with the error and without a value.
    """

    check_crcs: bool = True
    key_deserializer: Deserializer | None = None
    value_deserializer: Deserializer | None = None
    raise_errors: bool = False
    events: Events = field(factory=Events)
    _key_takes_context: bool = field(init=False)
    _value_takes_context: bool = field(init=False)

    @_key_takes_context.default
    def _of_keys(self) -> bool:
        return takes_context(self.key_deserializer)

    @_value_takes_context.default
    def _of_values(self) -> bool:
        return takes_context(self.value_deserializer)

    def split(
        self, acquired: DeliveredRecords, blob: bytes | None, records: int
    ) -> tuple[list[DeliveredRecords], CorruptRecordError | None]:
        """Return the deliveries of a response in order, and the error to raise after them.

        Offsets without a record are marked as gaps, and corrupt batches as rejected.

        Args:
            acquired: What was acquired.
            blob: Its record batches.
            records: A delivery ends with the batch that completes this number.
        """
        batches, error = self._readable(acquired, blob)
        return _pieces(acquired, batches, records), error

    def deserialize(self, acquired: DeliveredRecords) -> list[DeliveredRecords | KafkaGroupsError]:
        """Deserialise the records of a delivery. Return it in parts, with the errors to raise between them.

        Records that cannot be deserialised are marked as released.
        """
        if acquired.is_deserialized or (self.key_deserializer is None and self.value_deserializer is None):
            return [acquired]
        raws = [record._raw for record in acquired]
        error, acquired.undecodable = acquired.undecodable, None
        deliveries = list(self._deserialize(acquired, raws))
        return deliveries if error is None else [*deliveries, error]

    # ------------------------------------------------------------------------------------- batches

    def _readable(
        self, acquired: DeliveredRecords, blob: bytes | None
    ) -> tuple[list[RecordBatch], CorruptRecordError | None]:
        batches: list[RecordBatch] = []
        first_error: CorruptRecordError | None = None
        next_offset, last_acquired, read_bytes = acquired.first_offset, acquired.last_offset, 0
        has_holes = acquired.has_holes
        try:
            for batch in iter_batches(blob):  # one step for each batch, and many producers send small ones
                read_bytes += len(batch.data)
                base_offset, after = batch.header.base_offset, batch.header.next_offset
                # Batches in front of and behind the acquired range.
                if after <= acquired.first_offset or base_offset > last_acquired:
                    continue  # not acquired: the broker reads more of the log than it gives
                # KIP-932, "Fetching and acknowledging records": the broker acquires ranges without knowing which
                # offsets have records, and the consumer tells it about gaps with the type GAP
                # (ShareInFlightBatch.addGap in Kafka's client).
                if base_offset > next_offset:
                    acquired.mark_open(next_offset, base_offset - 1, AcknowledgeType.GAP)
                next_offset = after
                if has_holes and not acquired.holds_any(batch):
                    continue  # acquired by another member: ignore it, corrupt or not
                error = self._add(batch, acquired, batches)
                first_error = first_error or error
        except CorruptRecordError as error:
            # The framing itself is broken, so no further batch can be found in these bytes.
            first_error = first_error or error
        # Offsets after the last batch have no record. But if unreadable bytes are left over, they may have one: they
        # are released instead of being lost.
        complete = read_bytes == len(blob or b"")
        rest = AcknowledgeType.GAP if complete else AcknowledgeType.RELEASE
        if next_offset <= last_acquired:
            acquired.mark_open(next_offset, last_acquired, rest)
        return batches, first_error

    def _add(
        self, batch: RecordBatch, acquired: DeliveredRecords, batches: list[RecordBatch]
    ) -> CorruptRecordError | None:
        """Add a batch to the readable ones, unless it is a control batch or corrupt. Return the error."""
        try:
            # KIP-932, "Handling bad records": a batch with a wrong checksum is rejected as a whole and never delivered
            # again, and the poll raises the error.
            if self.check_crcs:
                batch.check_crc()
            # Transaction markers are not records of the application. They are acknowledged as gaps, so that the start
            # offset can move past them. Kafka's client skips control batches as well
            # (ShareCompletedFetch.nextFetchedRecord).
            if batch.header.is_control:
                acquired.mark_batch(batch, AcknowledgeType.GAP)
                return None
            # A compacted batch keeps its offsets but not all of its records (KIP-932, "Log compaction"). Only such a
            # batch has to be decompressed here.
            if not batch.header.is_dense:
                _mark_gaps(acquired, batch)
        except CorruptRecordError as error:
            acquired.mark_batch(batch, AcknowledgeType.REJECT)
            return error
        batches.append(batch)
        return None

    # ------------------------------------------------------------------------------- deserialisers

    def _deserialize(
        self, acquired: DeliveredRecords, raws: Iterable[DecodedRecord]
    ) -> Iterator[DeliveredRecords | KafkaGroupsError]:
        current, records = acquired, list[DeserializedRecord]()
        for raw in raws:
            record = self._deserialize_one(raw, current)
            if record.error is not None:
                # KIP-932, "Handling bad records": the consumer releases a record that it cannot deserialise, and the
                # application can acknowledge it differently.
                current.mark_open(raw.offset, raw.offset, AcknowledgeType.RELEASE)
            # There are two modes. By default the record is delivered with its error, and the rest of the batch with it.
            # With on_deserialization_error="raise", records before it are delivered first, then the error is raised,
            # then the rest, as in Kafka's client (ShareCompletedFetch.fetchRecords).
            if record.error is None or not self.raise_errors:
                records.append(record)
                continue
            # The record itself comes after its error, so that the application can still acknowledge its offset.
            # None if the record is the first of its delivery: then there is nothing before it to deliver.
            failed = current.split_after(raw.offset - 1) if raw.offset > current.first_offset else None
            if failed is not None:
                current.hand_out_deserialized(records)
                yield current
                current, records = failed, []
            rest = current.split_after(raw.offset)
            current.hand_out_deserialized([])
            yield record.error
            yield current
            if rest is None:
                return
            current = rest
        current.hand_out_deserialized(records)
        self._warn([record.error for record in records if record.error is not None])
        yield current

    def _warn(self, errors: Sequence[RecordDeserializationError]) -> None:
        if errors:
            failed = f"{counted(len(errors), 'record')} of {errors[0].topic}-{errors[0].partition}"
            text = f"Could not decode {failed}; the first: {errors[0]}"
            outcome = "The consumer releases records that it cannot decode unless you acknowledge them"
            self.events.warn(Area.RECORDS, f"undecodable {errors[0].topic}", sentences(text, outcome))

    def _deserialize_one(self, raw: DecodedRecord, acquired: DeliveredRecords) -> DeserializedRecord:
        key, value = raw.key, raw.value
        error: RecordDeserializationError | None = None
        if key is not None and self.key_deserializer is not None:
            try:
                key = (
                    self.key_deserializer(key, DeserializationContext(acquired.topic, "key", raw.headers))
                    if self._key_takes_context
                    else self.key_deserializer(key)
                )
            except Exception as cause:  # the user's deserializer may raise anything; the record carries the error
                key, error = None, _deserialization_error("key", raw, acquired, cause)
        if value is not None and self.value_deserializer is not None:
            try:
                value = (
                    self.value_deserializer(value, DeserializationContext(acquired.topic, "value", raw.headers))
                    if self._value_takes_context
                    else self.value_deserializer(value)
                )
            except Exception as cause:  # the user's deserializer may raise anything; the record carries the error
                value, error = None, error or _deserialization_error("value", raw, acquired, cause)
        return DeserializedRecord(raw, acquired, key, value, error)


def _pieces(acquired: DeliveredRecords, batches: Sequence[RecordBatch], records: int) -> list[DeliveredRecords]:
    """Split the delivery into parts of whole batches."""
    pieces = [acquired]
    start = 0
    for number, batch in enumerate(batches[:-1], start=1):
        end = batch.header.next_offset
        # A part ends with the batch that completes a poll. Batches are not split: a poll returns whole batches, as the
        # broker acquires them.
        if acquired.open_before(end) < records:
            continue
        rest = acquired.split_after(end - 1)
        if rest is None:
            break
        acquired.hand_out(batches[start:number])
        pieces.append(rest)
        acquired, start = rest, number
    acquired.hand_out(batches[start:])
    return pieces


def _deserialization_error(
    what: str, raw: DecodedRecord, acquired: DeliveredRecords, cause: Exception
) -> RecordDeserializationError:
    error = RecordDeserializationError(
        f"the {what} of the record {acquired.topic_partition}@{raw.offset} cannot be deserialised: {named(cause)}",
        topic=acquired.topic,
        partition=acquired.partition,
        offset=raw.offset,
    )
    error.key, error.value = raw.key, raw.value
    error.__cause__ = cause
    return error


def _mark_gaps(acquired: DeliveredRecords, batch: RecordBatch) -> None:
    """Mark the offsets of a compacted batch that have no record."""
    first = max(batch.header.base_offset, acquired.first_offset)
    last = min(batch.header.last_offset, acquired.last_offset)
    present = bytearray(max(0, last - first + 1))
    try:
        for raw in batch.compiled():
            if first <= raw.offset <= last:
                present[raw.offset - first] = 1
    except foreign_errors() as error:
        raise batch.corrupt(error) from error
    for start, end in m.runs_of(present, 0):
        acquired.mark_open(first + start, first + end, AcknowledgeType.GAP)
