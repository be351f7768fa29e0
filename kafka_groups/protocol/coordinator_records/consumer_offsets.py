"""The records of `__consumer_offsets`, which the group coordinators write."""

from typing import Any

from kafka_groups.protocol.coordinator_records.consumer_group import CONSUMER_GROUP_RECORDS
from kafka_groups.protocol.coordinator_records.offsets import OFFSET_RECORDS
from kafka_groups.protocol.coordinator_records.record import RecordTable
from kafka_groups.protocol.coordinator_records.share_group import SHARE_GROUP_RECORDS
from kafka_groups.protocol.coordinator_records.streams_group import STREAMS_GROUP_RECORDS

__all__ = ["CONSUMER_OFFSETS"]

CONSUMER_OFFSETS: RecordTable[Any] = RecordTable(
    "__consumer_offsets", (*OFFSET_RECORDS, *CONSUMER_GROUP_RECORDS, *SHARE_GROUP_RECORDS, *STREAMS_GROUP_RECORDS)
)
"""The record types."""
