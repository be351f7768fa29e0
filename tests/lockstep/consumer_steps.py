"""Steps of members of consumer groups (KIP-848). The clients `one`, `two` and `three` are static members."""

import enum
from typing import Any

from attrs import frozen

from kafka_groups.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
)
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest
from tests.lockstep.consumer_members import NOTHING, ConsumerState, Owned
from tests.lockstep.epoch_members import CONSUMERS, instance_sent, remember
from tests.lockstep.offset_steps import CommitOffsets, FetchOffsets
from tests.lockstep.side import Side
from tests.lockstep.steps import GROUP, Change, Question


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
        return ConsumerGroupHeartbeatRequest(
            group_id=side.group_id(self.group),
            member_id=CONSUMERS.id_of(side, self.by if self.of is None else self.of),
            member_epoch=(state.epoch if self.epoch is None else self.epoch) + self.shift,
            instance_id=instance_sent(self.by, self.instance),
            rack_id=self.rack,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            subscribed_topic_names=None if self.topics is None else tuple(map(side.topic_name, self.topics)),
            subscribed_topic_regex=self._regex(side),
            server_assignor=self.assignor,
            topic_partitions=self._claimed(side, state),
        )

    def note(self, side: Side, response: Any) -> None:
        """Remember what the response says, as a client does."""
        if not self.is_odd:
            remember(side.consumers[self.by], response)

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
        return CONSUMERS.removing(side, self.members)

    def note(self, side: Side, response: Any) -> None:
        """The clients hear of it with their next heartbeats."""


@frozen(kw_only=True, repr=False)
class ConsumerCommit(CommitOffsets):
    """OffsetCommit from a member of a consumer group."""

    def request(self, side: Side) -> Any:
        """The request."""
        made: OffsetCommitRequest = CommitOffsets.request(self, side)
        return made if self.outside else CONSUMERS.committing(made, side, self.by, self.shift)


@frozen(kw_only=True, repr=False)
class ConsumerFetchOffsets(FetchOffsets):
    """OffsetFetch from a member of a consumer group, which must know its epoch."""

    shift: int = 0
    version: int | None = 9

    def request(self, side: Side) -> Any:
        """The request."""
        return CONSUMERS.fetching(FetchOffsets.request(self, side), side, self.by, self.shift)


@frozen(kw_only=True, repr=False)
class DescribeConsumerGroup(Question):
    """ConsumerGroupDescribe."""

    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        return ConsumerGroupDescribeRequest(group_ids=(side.group_id(self.group),), include_authorized_operations=False)
