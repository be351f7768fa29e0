"""The records of all groups, and their bytes in `__consumer_offsets`."""

from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerGroupRecord
from kafka_groups.broker.coordinators.groups.consumer.stored_records import CONSUMER_GROUP_FORMS
from kafka_groups.broker.coordinators.groups.share.records import ShareGroupRecord
from kafka_groups.broker.coordinators.groups.share.stored_records import SHARE_GROUP_FORMS
from kafka_groups.broker.coordinators.groups.streams.records import StreamsGroupRecord
from kafka_groups.broker.coordinators.groups.streams.stored_records import STREAMS_GROUP_FORMS
from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.offsets import ClassicGroupMetadata, OffsetCommit
from kafka_groups.protocol.coordinator_records.record import RecordTable

__all__ = ["GROUP_RECORDS", "GroupRecord"]

GroupRecord = ShareGroupRecord | ConsumerGroupRecord | StreamsGroupRecord | OffsetCommit | ClassicGroupMetadata

GROUP_RECORDS: RecordTable[GroupRecord] = CONSUMER_OFFSETS.with_forms(
    {**SHARE_GROUP_FORMS, **CONSUMER_GROUP_FORMS, **STREAMS_GROUP_FORMS}
)
"""Encodes and decodes the records, with values in the forms that the rules need."""
