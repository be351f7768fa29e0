"""The records of all groups as Kafka stores them in `__consumer_offsets`, and back."""

from kafka_groups.broker.coordinators.groups.classic import stored_records as classic
from kafka_groups.broker.coordinators.groups.classic.records import ClassicGroupMetadata
from kafka_groups.broker.coordinators.groups.consumer import stored_records as consumer
from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerGroupRecord
from kafka_groups.broker.coordinators.groups.offsets import stored_records as offsets
from kafka_groups.broker.coordinators.groups.offsets.records import OffsetCommitted
from kafka_groups.broker.coordinators.groups.records import GroupRecord
from kafka_groups.broker.coordinators.groups.share import stored_records as share
from kafka_groups.broker.coordinators.groups.streams import stored_records as streams
from kafka_groups.broker.coordinators.groups.streams.records import StreamsGroupRecord
from kafka_groups.errors import UnknownRecordTypeError
from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord

__all__ = ["StoredGroupRecords"]


class StoredGroupRecords:
    """Encodes and decodes the records of groups, for `InternalLog`."""

    topic = CONSUMER_OFFSETS.topic

    def encode(self, record: GroupRecord) -> tuple[bytes, bytes | None]:
        """Return the bytes of the key and the value. A tombstone has no value."""
        return CONSUMER_OFFSETS.encode(_to_stored(record))

    def most_bytes(self, record: GroupRecord) -> int:
        """Return how many bytes the key and the value have together."""
        key, value = self.encode(record)
        return len(key) + len(value or b"")

    def decode(self, key: bytes, value: bytes | None) -> GroupRecord:
        """Return the record with this key and value.

        Raises:
            UnknownRecordTypeError: The record is of a type of group that is not built.
            MalformedRecordError: The bytes are not a record of their type and version.
        """
        record = CONSUMER_OFFSETS.decode(key, value)
        readers = (
            share.from_stored, consumer.from_stored, offsets.from_stored, classic.from_stored, streams.from_stored,
        )  # fmt: skip
        found = next((found for read in readers if (found := read(record)) is not None), None)
        if found is None:
            raise UnknownRecordTypeError(self.topic, int.from_bytes(key[:2], "big"))
        return found


def _to_stored(record: GroupRecord) -> CoordinatorRecord:
    if isinstance(record, OffsetCommitted):
        return offsets.to_stored(record)
    if isinstance(record, ClassicGroupMetadata):
        return classic.to_stored(record)
    if isinstance(record, StreamsGroupRecord):
        return streams.to_stored(record)
    return consumer.to_stored(record) if isinstance(record, ConsumerGroupRecord) else share.to_stored(record)
