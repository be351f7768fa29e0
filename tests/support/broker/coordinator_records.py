"""All record types of internal topics that we know, and hypothesis strategies for their records."""

import struct
from typing import Any

from attrs import evolve
from hypothesis import strategies as st

from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord, RecordTable, RecordType
from kafka_groups.protocol.coordinator_records.share_group_state import SHARE_GROUP_STATE
from kafka_groups.protocol.coordinator_records.transaction_state import TRANSACTION_STATE
from tests.support.requests.protocol_messages import messages_of

TABLES = (CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE[-1])
RECORD_TYPES: tuple[tuple[RecordTable[Any], RecordType], ...] = tuple(
    (table, each) for table in TABLES for each in table.types
)


VERSIONS = tuple((table, each, version) for table, each in RECORD_TYPES for version in each.versions)


def records_of(record_type: RecordType) -> st.SearchStrategy[CoordinatorRecord]:
    """Records of one type, with the fields of any version; some are tombstones."""
    values = st.one_of([values_of(record_type, version) for version in record_type.versions])
    return st.builds(with_value, tombstones_of(record_type), st.none() | values)


def tombstones_of(record_type: RecordType) -> st.SearchStrategy[CoordinatorRecord]:
    """Records of one type that have a key and no value."""
    return messages_of(record_type.record_class, record_type.key_binding.schema)


def with_value(record: Any, value: object | None) -> CoordinatorRecord:
    """The record with another value."""
    found: CoordinatorRecord = evolve(record, value=value)
    return found


def tombstone(record: CoordinatorRecord) -> CoordinatorRecord:
    """The record without its value: its type and its key."""
    return with_value(record, None)


def values_of(record_type: RecordType, version: int) -> st.SearchStrategy[object]:
    """Values that one version can carry."""
    return messages_of(record_type.value_class, record_type.value_binding(version).schema)


def written_in(record_type: RecordType, version: int, value: object) -> bytes:
    """The value in a version, whether or not we write that version."""
    return struct.pack(">h", version) + record_type.value_binding(version).encode(value)
