"""What is counted of a coordinator's work."""

from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.runtime.groups.group_counters import GroupCounters
from kafka_groups.protocol.coordinator_records.consumer_group import ConsumerGroupMetadata, ConsumerGroupMetadataValue
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommit
from kafka_groups.protocol.coordinator_records.share_group import ShareGroupMetadata, ShareGroupMetadataValue
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeResponseGroup
from kafka_groups.protocol.messages.topology_description import DescribedTopology

OFFSETS = Result(None, tuple(OffsetCommit("g", "t", number, None) for number in range(3)))


def test_heartbeats_count_if_they_begin_an_epoch() -> None:
    counters = GroupCounters()
    counters.heard(Result(None))
    counters.heard(OFFSETS)
    assert counters == GroupCounters()
    counters.heard(Result(None, (ShareGroupMetadata("g", ShareGroupMetadataValue(epoch=2, metadata_hash=0)),)))
    counters.heard(Result(None, (ConsumerGroupMetadata("g", ConsumerGroupMetadataValue(epoch=2, metadata_hash=0)),)))
    assert counters == GroupCounters(share_rebalances=1, consumer_rebalances=1)


def test_descriptions_of_topologies_count_when_they_are_stored_and_shown() -> None:
    counters = GroupCounters()
    counters.stored(Result(None))
    counters.described(Result(StreamsGroupDescribeResponseGroup(group_id="g")))
    counters.described(
        Result(StreamsGroupDescribeResponseGroup(group_id="g", topology_description=DescribedTopology()))
    )
    assert counters == GroupCounters(descriptions_stored=1, descriptions_shown=1)


def test_every_offset_counts_and_every_round() -> None:
    counters = GroupCounters()
    counters.committed(OFFSETS)
    counters.deleted(OFFSETS)
    counters.synced(Result(None))
    counters.synced(OFFSETS)
    assert counters == GroupCounters(offset_commits=3, offset_deletions=3, classic_rebalances=1)
