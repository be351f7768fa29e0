"""All record types of internal topics that we know, and hypothesis strategies for their records."""

from hypothesis import strategies as st

from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord, RecordTable, RecordType
from kafka_groups.protocol.coordinator_records.share_group_state import SHARE_GROUP_STATE
from tests.support.protocol_messages import messages_of

TABLES = (CONSUMER_OFFSETS, SHARE_GROUP_STATE)
RECORD_TYPES: tuple[tuple[RecordTable, RecordType], ...] = tuple(
    (table, each) for table in TABLES for each in table.types
)


def records_of(record_type: RecordType) -> st.SearchStrategy[CoordinatorRecord]:
    """Records of one type; some are tombstones."""
    keys = messages_of(record_type.key_class, record_type.key_binding.schema)
    values = messages_of(record_type.value_class, record_type.value_binding.schema)
    return st.builds(CoordinatorRecord, keys, st.none() | values)
