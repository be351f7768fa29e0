"""Steps of members of consumer groups (KIP-848). The clients `one`, `two` and `three` are static members."""

import enum
from typing import Any

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    LEAVE_STATIC_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.lockstep.classic_steps import STATIC
from tests.lockstep.consumer_members import NOTHING, ConsumerState, Owned, partitions_in
from tests.lockstep.offset_steps import CommitOffsets, FetchOffsets
from tests.lockstep.side import Side
from tests.lockstep.steps import GROUP, Change, Question

REBALANCE_MS = 600_000
_FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNRELEASED_INSTANCE_ID)


class Claim(enum.Enum):
    """Which partitions a member says that it owns."""

    UNCHANGED = enum.auto()
    """It says nothing."""
    ASSIGNED = enum.auto()
    """Those that it was told to own, so that it has revoked all others."""
    NOTHING = enum.auto()
    EVERYTHING = enum.auto()
    """Also those of others, which no client would say."""

    def __repr__(self) -> str:
        return f"Claim.{self.name}"


@frozen(kw_only=True, repr=False)
class ConsumerHeartbeat(Change):
    """ConsumerGroupHeartbeat, with what the client remembers.

    Attributes:
        epoch: The member epoch, if it is not the one that the client remembers.
        shift: What to add to the epoch.
        fresh: Whether the client has been started again, with another member id.
        topics: The topics that it subscribes to from now on.
        regex: The regular expression that it subscribes to from now on.
        assignor: The server assignor that it wants from now on.
        claim: Which partitions it says that it owns.
        instance: The instance id, if it is not that of the client; empty for none.
        of: Another client, whose member id is sent.
        rebalance_timeout_ms: As in the request.
        group: The group.
    """

    epoch: int | None = None
    shift: int = 0
    fresh: bool = False
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    rack: str | None = None
    claim: Claim = Claim.UNCHANGED
    instance: str | None = None
    of: str | None = None
    rebalance_timeout_ms: int = -1
    group: str = GROUP

    @property
    def is_odd(self) -> bool:
        """Whether a client would not send this, so that it remembers nothing of the response."""
        return self.instance is not None or self.of is not None or self.group != GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        state = side.consumers[self.by]
        if self.fresh and not self.is_odd:
            state = side.consumers[self.by] = ConsumerState(life=state.life + 1)
        own = self.by if self.by in STATIC else None
        return ConsumerGroupHeartbeatRequest(
            group_id=side.group_id(self.group),
            member_id=consumer_id(side, self.by if self.of is None else self.of),
            member_epoch=(state.epoch if self.epoch is None else self.epoch) + self.shift,
            instance_id=own if self.instance is None else self.instance or None,
            rack_id=self.rack,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            subscribed_topic_names=None if self.topics is None else tuple(map(side.topic_name, self.topics)),
            subscribed_topic_regex=self._regex(side),
            server_assignor=self.assignor,
            topic_partitions=self._claimed(side, state),
        )

    def note(self, side: Side, response: Any) -> None:
        """Remember what the response says, as a client does."""
        if self.is_odd:
            return
        state = side.consumers[self.by]
        if response.error_code in _FENCED or (response.error_code is ErrorCode.NONE and response.member_epoch <= 0):
            state.left()
        elif response.error_code is ErrorCode.NONE:
            state.epoch = response.member_epoch
            state.assigned = state.assigned if response.assignment is None else partitions_in(response.assignment)

    def _regex(self, side: Side) -> str | None:
        """An expression that ends with a hyphen gets the end of this run's names, so that it finds only its topics."""
        if self.regex is None or not self.regex.endswith("-"):
            return self.regex
        return f"{self.regex}{side.suffix}"

    def _claimed(self, side: Side, state: ConsumerState) -> tuple[ConsumerGroupHeartbeatTopicPartitions, ...] | None:
        match self.claim:
            case Claim.UNCHANGED:
                return None
            case Claim.ASSIGNED:
                return _listed(state.assigned)
            case Claim.NOTHING:
                return _listed(NOTHING)
            case Claim.EVERYTHING:
                return _listed(
                    frozenset((topic.topic_id, number) for topic in side.topics.values() for number in (0, 1))
                )


def _listed(owned: Owned) -> tuple[ConsumerGroupHeartbeatTopicPartitions, ...]:
    topics = sorted({topic_id for topic_id, _ in owned})
    return tuple(
        ConsumerGroupHeartbeatTopicPartitions(
            topic_id=topic_id, partitions=tuple(sorted(number for each, number in owned if each == topic_id))
        )
        for topic_id in topics
    )


@frozen(kw_only=True, repr=False)
class RemoveConsumers(Change):
    """LeaveGroup with static members of the consumer group: by member id, instance id, or both."""

    members: tuple[tuple[str | None, str | None], ...]

    def request(self, side: Side) -> Any:
        """The request."""
        members = tuple(
            LeaveGroupRequestMember(
                member_id="" if name is None else consumer_id(side, name), group_instance_id=instance
            )
            for name, instance in self.members
        )
        return LeaveGroupRequest(group_id=side.group_id(GROUP), members=members)

    def note(self, side: Side, response: Any) -> None:
        """The clients hear of it with their next heartbeats."""


@frozen(kw_only=True, repr=False)
class ConsumerCommit(CommitOffsets):
    """OffsetCommit from a member of a consumer group."""

    def request(self, side: Side) -> Any:
        """The request."""
        made: OffsetCommitRequest = CommitOffsets.request(self, side)
        own = self.by if self.by in STATIC else None
        return OffsetCommitRequest(
            group_id=made.group_id,
            generation_id_or_member_epoch=-1 if self.outside else side.consumers[self.by].epoch + self.shift,
            member_id="" if self.outside else consumer_id(side, self.by),
            group_instance_id=None if self.outside else own,
            topics=made.topics,
        )


@frozen(kw_only=True, repr=False)
class ConsumerFetchOffsets(FetchOffsets):
    """OffsetFetch from a member of a consumer group, which must know its epoch."""

    shift: int = 0
    version: int | None = 9

    def request(self, side: Side) -> Any:
        """The request."""
        made: OffsetFetchRequest = FetchOffsets.request(self, side)
        (group,) = made.groups
        asked = OffsetFetchRequestGroup(
            group_id=group.group_id,
            member_id=consumer_id(side, self.by),
            member_epoch=side.consumers[self.by].epoch + self.shift,
            topics=group.topics,
        )
        return OffsetFetchRequest(groups=(asked,))


@frozen(kw_only=True, repr=False)
class DescribeConsumerGroup(Question):
    """ConsumerGroupDescribe."""

    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        return ConsumerGroupDescribeRequest(group_ids=(side.group_id(self.group),), include_authorized_operations=False)


def consumer_id(side: Side, name: str) -> str:
    """The member id that a client has in its present life."""
    return side.member(f"{name} {side.consumers[name].life}").member_id


def is_pause(step: object) -> bool:
    """Whether a static member leaves for a while."""
    return isinstance(step, ConsumerHeartbeat) and step.epoch == LEAVE_STATIC_EPOCH
