"""Steps that commit, fetch and delete offsets, for members of classic groups and from outside of a group."""

from typing import Any

from attrs import frozen

from kafka_groups.protocol.messages.offset_commit import (
    NO_GENERATION,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_groups.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafka_groups.protocol.messages.offset_fetch import (
    FIRST_WITH_GROUPS,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from tests.lockstep.classic_steps import STATIC
from tests.lockstep.side import Side
from tests.lockstep.steps import GROUP, Change, Place, Question

_FIRST_WITH_INSTANCES = 7


@frozen(kw_only=True, repr=False)
class CommitOffsets(Change):
    """OffsetCommit, from a member with what it remembers, or from outside of the group.

    Attributes:
        places: The partitions.
        offset: The offset for each of them.
        metadata_size: How many characters of metadata each of them gets; None for no metadata.
        outside: Whether the sender is not a member.
        instance: The instance id, if it is not that of the client; empty for none.
        shift: What to add to the generation.
        group: The group.
    """

    places: tuple[Place, ...]
    offset: int
    metadata_size: int | None = 0
    outside: bool = False
    instance: str | None = None
    shift: int = 0
    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        state = side.classic[self.by]
        return OffsetCommitRequest(
            group_id=side.group_id(self.group),
            generation_id_or_member_epoch=self.generation(side),
            member_id="" if self.outside else state.member_id,
            group_instance_id=None if self.outside else self._instance_id(),
            topics=tuple(self._topic(side, name) for name in dict.fromkeys(name for name, _ in self.places)),
        )

    def generation(self, side: Side) -> int:
        """The generation that is sent."""
        return NO_GENERATION if self.outside else side.classic[self.by].generation + self.shift

    def _instance_id(self) -> str | None:
        if self.version is not None and self.version < _FIRST_WITH_INSTANCES:
            return None
        own = self.by if self.by in STATIC else None
        return own if self.instance is None else self.instance or None

    def _topic(self, side: Side, topic: str) -> OffsetCommitRequestTopic:
        partitions = tuple(
            OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=self.offset,
                committed_leader_epoch=index,
                committed_metadata=None if self.metadata_size is None else "x" * self.metadata_size,
            )
            for name, index in self.places
            if name == topic
        )
        return OffsetCommitRequestTopic(
            name=side.topic_name(topic), topic_id=side.topic_id(topic), partitions=partitions
        )


@frozen(kw_only=True, repr=False)
class FetchOffsets(Question):
    """OffsetFetch; without places, of all partitions."""

    places: tuple[Place, ...] | None = None
    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        names = dict.fromkeys(name for name, _ in self.places or ())
        topics = None if self.places is None else tuple(self._topic(side, name) for name in names)
        group_id = side.group_id(self.group)
        if self.version is not None and self.version < FIRST_WITH_GROUPS:
            return OffsetFetchRequest(group_id=group_id, topics=topics)
        return OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group_id, topics=topics),))

    def _topic(self, side: Side, topic: str) -> OffsetFetchRequestTopic:
        indexes = tuple(index for name, index in self.places or () if name == topic)
        return OffsetFetchRequestTopic(
            name=side.topic_name(topic), topic_id=side.topic_id(topic), partition_indexes=indexes
        )


@frozen(kw_only=True, repr=False)
class DeleteOffsets(Change):
    """OffsetDelete."""

    places: tuple[Place, ...]
    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        names = dict.fromkeys(name for name, _ in self.places)
        return OffsetDeleteRequest(
            group_id=side.group_id(self.group), topics=tuple(self._topic(side, name) for name in names)
        )

    def _topic(self, side: Side, topic: str) -> OffsetDeleteRequestTopic:
        partitions = (
            OffsetDeleteRequestPartition(partition_index=index) for name, index in self.places if name == topic
        )
        return OffsetDeleteRequestTopic(name=side.topic_name(topic), partitions=tuple(partitions))
