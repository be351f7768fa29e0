"""The group coordinator: a shard, its journal, and the share coordinator that it uses.

Every operation has the same steps: the shard returns a response and records, the journal stores the records, the shard
replays them, and then the coordinator returns the response.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

from kafka_groups.broker.coordinators.groups.records import GroupRecord, StatePartitions
from kafka_groups.broker.coordinators.groups.sessions import MemberKey
from kafka_groups.broker.coordinators.groups.shard import GroupShard
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.groups.share.members import MemberClient
from kafka_groups.broker.coordinators.groups.share.responses import describe_group
from kafka_groups.broker.coordinators.groups.share.state_partitions import pending_initializations, share_partitions
from kafka_groups.broker.coordinators.groups.topics import ShareState, TopicsImage
from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.config.broker import ShareGroupConfig
from kafka_groups.protocol.messages.share_group_describe import DescribedGroup
from kafka_groups.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

__all__ = ["GroupCoordinator", "GroupJournal", "MemberClient"]

Response = TypeVar("Response")


class GroupJournal(Protocol):
    """Stores records. `GroupLogs` implements this."""

    def append(self, records: Sequence[GroupRecord]) -> None:
        """Store the records of one operation."""
        ...

    def __iter__(self) -> Iterator[GroupRecord]:
        """Return records from which the state can be made again, in the order in which they were appended."""
        ...


class GroupCoordinator:
    """All share groups of a broker, or of a cluster whose brokers share it.

    Args:
        topics: The topics of the cluster.
        share_state: The share coordinator, which initialises and deletes the state of share-partitions.
        config_of: Returns the effective configuration of a group id.
        max_size: Maximum number of members in a group (`group.share.max.size`).
        journal: Stores the records. To take over from another coordinator, pass its journal and call `load`.
        profile: The release that it acts as.
    """

    def __init__(
        self,
        topics: TopicsImage,
        share_state: ShareState,
        config_of: Callable[[str], ShareGroupConfig],
        max_size: int,
        journal: GroupJournal,
        profile: Profile = DEFAULT_PROFILE,
    ) -> None:
        self._topics = topics
        self._share_state = share_state
        self._journal = journal
        self._shard = GroupShard(topics, config_of, max_size, profile)

    def __repr__(self) -> str:
        return f"<GroupCoordinator of {self._shard!r}>"

    def load(self, now_ms: int) -> None:
        """Replay the journal and give every member a full session."""
        for record in self._journal:
            self._shard.replay(record)
        self._shard.start_sessions(now_ms)

    # -------------------------------------------------------------------------------------- questions

    @property
    def groups(self) -> Mapping[str, ShareGroup]:
        """The groups by id. Do not modify them."""
        return self._shard.groups

    def describe(self, group_id: str) -> DescribedGroup:
        """Return a group as ShareGroupDescribe shows it.

        Raises:
            GroupIdNotFoundError: The group does not exist.
        """
        return describe_group(self._shard.group(group_id), self._topics)

    def initialized_partitions(self, group_id: str) -> Mapping[UUID, frozenset[int]]:
        """Return the share-partitions of a group that have state, by topic id. Empty if the group does not exist."""
        group = self._shard.groups.get(group_id)
        return {} if group is None else group.state_partitions.initialized

    # ------------------------------------------------------------------------------------- operations

    def heartbeat(
        self, request: ShareGroupHeartbeatRequest, client: MemberClient, now_ms: int
    ) -> ShareGroupHeartbeatResponse:
        """Handle a heartbeat: a member joins, stays or leaves.

        The state of new share-partitions is initialised after the response is made, so they are assigned with a
        later heartbeat.

        Raises:
            InvalidRequestError: The request is malformed.
            GroupIdNotFoundError: The group does not exist, and the member is not joining.
            UnknownMemberIdError: The group does not have the member, and the member is not joining.
            FencedMemberEpochError: The epoch is neither the member's current epoch nor its previous one.
            GroupMaxSizeReachedError: The group is full.
        """
        response = self._commit(self._shard.heartbeat(request, client, now_ms))
        self._settle_share_state(request.group_id)
        return response

    def delete_group(self, group_id: str) -> None:
        """Delete a group and the state of its share-partitions.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        deletion = self._shard.delete_group(group_id)
        state = self._shard.group(group_id).state_partitions
        for topics in (state.initialized, state.initializing, state.deleting):
            self._delete_share_state(group_id, topics)
        self._commit(deletion)

    def alter_start_offsets(
        self, group_id: str, offsets: Mapping[tuple[UUID, int], int], names: Mapping[UUID, str]
    ) -> None:
        """Begin the states of share-partitions afresh, with these start offsets. A group that does not exist is made.

        Args:
            group_id: The group.
            offsets: Start offset by topic id and partition, which all exist.
            names: The names of the topics.

        Raises:
            NonEmptyGroupError: The group has members.
        """
        numbers: dict[UUID, set[int]] = {}
        for topic_id, partition in offsets:
            numbers.setdefault(topic_id, set()).add(partition)
        partitions = {topic_id: frozenset(of_topic) for topic_id, of_topic in numbers.items()}
        epoch = self._commit(self._shard.begin_restart(group_id, partitions, names))
        for (topic_id, partition), offset in offsets.items():
            self._share_state.restart(group_id, topic_id, partition, offset, state_epoch=epoch)
        self._settle_share_state(group_id)

    def delete_start_offsets(self, group_id: str, topic_ids: Collection[UUID]) -> frozenset[UUID]:
        """Delete the states of all share-partitions of topics, and return the topics that had some.

        Raises:
            GroupIdNotFoundError: The group does not exist.
            NonEmptyGroupError: The group has members.
        """
        forgotten = self._shard.forget_topics(group_id, topic_ids)
        self._delete_share_state(group_id, forgotten.response)
        return frozenset(self._commit(forgotten))

    def metadata_changed(self, delta: MetadataDelta) -> None:
        """Delete the share state of deleted topics, group by group in the order in which the groups were created.

        New topics and new partitions are noticed with a member's next heartbeat, as in Kafka.
        """
        deleted = frozenset(topic.topic_id for topic in delta.deleted)
        for group_id in self._shard.groups_with_state_of(deleted):
            self._commit(self._shard.drop_deleted_topics(group_id))
            self._settle_share_state(group_id)

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `expire` has something to do, or None if no group has members."""
        return self._shard.next_deadline_ms()

    def expire(self, now_ms: int) -> tuple[MemberKey, ...]:
        """Remove the members whose session timed out, and return them."""
        return self._commit(self._shard.expire(now_ms))

    # ---------------------------------------------------------------------------------------- insides

    def _commit(self, result: Result[Response, GroupRecord]) -> Response:
        self._journal.append(result.records)
        for record in result.records:
            self._shard.replay(record)
        return result.response

    def _settle_share_state(self, group_id: str) -> None:
        state = self._shard.group(group_id).state_partitions
        if not state.initializing and not state.deleting:
            return
        self._initialize_share_state(group_id, state)
        self._delete_share_state(group_id, state.deleting)
        self._commit(self._shard.share_state_settled(group_id))

    def _initialize_share_state(self, group_id: str, state: StatePartitions) -> None:
        epoch = self._shard.group(group_id).epoch
        for pending in pending_initializations(state):
            self._share_state.initialize(
                group_id, pending.topic_id, pending.partition, pending.start_offset, state_epoch=epoch
            )

    def _delete_share_state(self, group_id: str, topics: Mapping[UUID, frozenset[int]]) -> None:
        for topic_id, partition in share_partitions(topics):
            self._share_state.delete(group_id, topic_id, partition)
