"""Counters of one broker's group coordinator since the broker started, per request."""

from attrs import define

from kafka_groups.broker.coordinators.groups.records import GroupRecord
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.protocol.coordinator_records.consumer_group import ConsumerGroupMetadata
from kafka_groups.protocol.coordinator_records.share_group import ShareGroupMetadata
from kafka_groups.protocol.coordinator_records.streams_group import StreamsGroupMetadata
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeResponseGroup

__all__ = ["GroupCounters"]


@define
class GroupCounters:
    """Counters of the group coordinator, since the broker started.

    Attributes:
        offset_commits: Offsets that were committed.
        offset_deletions: Offsets that an administrator deleted.
        classic_rebalances: Rounds of classic groups that ended with assignments.
        consumer_rebalances: Heartbeats of consumer groups that began a new epoch of the group. As in Kafka, those of
            members that leave do not count.
        share_rebalances: The same for share groups.
        streams_rebalances: The same for streams groups.
        descriptions_stored: Descriptions of topologies that were stored.
        descriptions_shown: Descriptions of topologies that were read for StreamsGroupDescribe.
    """

    offset_commits: int = 0
    offset_deletions: int = 0
    classic_rebalances: int = 0
    consumer_rebalances: int = 0
    share_rebalances: int = 0
    streams_rebalances: int = 0
    descriptions_stored: int = 0
    descriptions_shown: int = 0

    def heard(self, result: Result[object, GroupRecord]) -> None:
        """Note a heartbeat of a member that stays."""
        for record in result.records:
            self.share_rebalances += isinstance(record, ShareGroupMetadata)
            self.consumer_rebalances += isinstance(record, ConsumerGroupMetadata)
            self.streams_rebalances += isinstance(record, StreamsGroupMetadata)

    def stored(self, _result: Result[None, GroupRecord]) -> None:
        """Note the description of a topology."""
        self.descriptions_stored += 1

    def described(self, result: Result[StreamsGroupDescribeResponseGroup, GroupRecord]) -> None:
        """Note what StreamsGroupDescribe shows of a group."""
        self.descriptions_shown += result.response.topology_description is not None

    def synced(self, result: Result[object, GroupRecord]) -> None:
        """Note a SyncGroup request. It has records if it is the leader's."""
        self.classic_rebalances += bool(result.records)

    def deleted(self, result: Result[object, GroupRecord]) -> None:
        """Note deleted offsets."""
        self.offset_deletions += len(result.records)

    def committed(self, result: Result[object, GroupRecord]) -> None:
        """Note a commit."""
        self.offset_commits += len(result.records)
