"""The records of all groups in `__consumer_offsets`. Each type of group has its own; committed offsets have theirs."""

from kafka_groups.broker.coordinators.groups.classic.records import ClassicGroupMetadata
from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerGroupRecord
from kafka_groups.broker.coordinators.groups.offsets.records import OffsetCommitted
from kafka_groups.broker.coordinators.groups.share.records import ShareGroupRecord
from kafka_groups.broker.coordinators.groups.streams.records import StreamsGroupRecord

__all__ = ["GroupRecord"]

GroupRecord = ShareGroupRecord | ConsumerGroupRecord | StreamsGroupRecord | OffsetCommitted | ClassicGroupMetadata
