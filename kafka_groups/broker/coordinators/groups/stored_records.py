"""The records of all groups as Kafka stores them in `__consumer_offsets`, and back."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.broker.coordinators.groups.classic.records import ClassicGroupMetadata
from kafka_groups.broker.coordinators.groups.consumer.stored_records import CONSUMER_GROUP_FORMS
from kafka_groups.broker.coordinators.groups.offsets.records import OffsetCommitted
from kafka_groups.broker.coordinators.groups.records import GroupRecord
from kafka_groups.broker.coordinators.groups.share.stored_records import SHARE_GROUP_FORMS
from kafka_groups.broker.coordinators.groups.stored_form import StoredForm
from kafka_groups.broker.coordinators.groups.streams.stored_records import STREAMS_GROUP_FORMS
from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.offsets import (
    GroupMetadataKey,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord

__all__ = ["FORMS", "StoredGroupRecords", "from_stored", "to_stored"]


def _from_legacy(value: LegacyOffsetCommitValue) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=value.offset, metadata=value.metadata, commit_timestamp_ms=value.commit_timestamp_ms
    )


FORMS = (
    StoredForm(ClassicGroupMetadata, GroupMetadataKey),
    StoredForm(OffsetCommitted, LegacyOffsetCommitKey, read=_from_legacy),
    StoredForm(OffsetCommitted, OffsetCommitKey),
    *SHARE_GROUP_FORMS,
    *CONSUMER_GROUP_FORMS,
    *STREAMS_GROUP_FORMS,
)
"""The forms of all records. Of two for the same record, the last one is written; the others are only read."""

_BY_RECORD: Mapping[type[Any], StoredForm] = MappingProxyType({form.record: form for form in FORMS})
_BY_KEY: Mapping[type[Any], StoredForm] = MappingProxyType({form.key: form for form in FORMS})


def to_stored(record: GroupRecord) -> CoordinatorRecord:
    """Return a record as Kafka stores it."""
    return _BY_RECORD[type(record)].to_stored(record)


def from_stored(stored: CoordinatorRecord) -> GroupRecord:
    """Return a record that Kafka or `to_stored` made."""
    record: GroupRecord = _BY_KEY[type(stored.key)].from_stored(stored)
    return record


class StoredGroupRecords:
    """Encodes and decodes the records of groups, for `InternalLog`."""

    topic = CONSUMER_OFFSETS.topic

    def encode(self, record: GroupRecord) -> tuple[bytes, bytes | None]:
        """Return the bytes of the key and the value. A tombstone has no value."""
        return CONSUMER_OFFSETS.encode(to_stored(record))

    def most_bytes(self, record: GroupRecord) -> int:
        """Return how many bytes the key and the value have together."""
        key, value = self.encode(record)
        return len(key) + len(value or b"")

    def decode(self, key: bytes, value: bytes | None) -> GroupRecord:
        """Return the record with this key and value.

        Raises:
            UnknownRecordTypeError: The record is of an unknown type.
            MalformedRecordError: The bytes are not a record of their type and version.
        """
        return from_stored(CONSUMER_OFFSETS.decode(key, value))
