"""What is counted of a coordinator's work."""

from kafka_groups.broker.coordinators.groups.consumer.records import ConsumerGroupMetadata
from kafka_groups.broker.coordinators.groups.offsets.records import OffsetCommitted
from kafka_groups.broker.coordinators.groups.share.records import ShareGroupMetadata
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.runtime.groups.group_figures import GroupFigures
from kafka_groups.protocol.coordinator_records.consumer_group import ConsumerGroupMetadataValue
from kafka_groups.protocol.coordinator_records.share_group import ShareGroupMetadataValue
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeResponseGroup
from kafka_groups.protocol.messages.topology_description import DescribedTopology

OFFSETS = Result(None, tuple(OffsetCommitted("g", "t", number, None) for number in range(3)))


def test_heartbeats_count_if_they_begin_an_epoch() -> None:
    figures = GroupFigures()
    figures.heard(Result(None))
    figures.heard(OFFSETS)
    assert figures == GroupFigures()
    figures.heard(Result(None, (ShareGroupMetadata("g", ShareGroupMetadataValue(epoch=2, metadata_hash=0)),)))
    figures.heard(Result(None, (ConsumerGroupMetadata("g", ConsumerGroupMetadataValue(epoch=2, metadata_hash=0)),)))
    assert figures == GroupFigures(share_rebalances=1, consumer_rebalances=1)


def test_descriptions_of_topologies_count_when_they_are_stored_and_shown() -> None:
    figures = GroupFigures()
    figures.stored(Result(None))
    figures.described(Result(StreamsGroupDescribeResponseGroup(group_id="g")))
    figures.described(Result(StreamsGroupDescribeResponseGroup(group_id="g", topology_description=DescribedTopology())))
    assert figures == GroupFigures(descriptions_stored=1, descriptions_shown=1)


def test_every_offset_counts_and_every_round() -> None:
    figures = GroupFigures()
    figures.committed(OFFSETS)
    figures.deleted(OFFSETS)
    figures.synced(Result(None))
    figures.synced(OFFSETS)
    assert figures == GroupFigures(offset_commits=3, offset_deletions=3, classic_rebalances=1)
