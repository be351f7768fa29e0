"""The values that the admin client returns about groups of any type."""

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen

from kafka_groups.admin.rules.returned_values import ShareGroupDescription, total_lag
from kafka_groups.admin.rules.streams_values import StreamsGroupDescription
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TopicPartition

__all__ = [
    "ClassicGroupDescription",
    "ClassicGroupMember",
    "ConsumerGroupDescription",
    "ConsumerGroupMember",
    "ConsumerGroupOffset",
    "GroupDescription",
    "GroupList",
    "GroupListing",
]


@frozen
class GroupListing:
    """A group of any type in a list.

    Attributes:
        group_id: The group.
        type: `classic`, `consumer`, `share` or `streams`; empty before Kafka 3.8, where all groups are classic.
        protocol_type: The type of the members' protocol, such as `consumer`. Empty for a classic group that never had
            members.
        state: Its state, such as `Stable` or `Empty`; empty before Kafka 2.6.
    """

    group_id: str
    type: str
    protocol_type: str
    state: str


@frozen
class GroupList:
    """The groups of a cluster. Each broker lists those that it coordinates.

    Attributes:
        groups: The groups, sorted by id.
        errors: Brokers that did not answer, by node id. Their groups are missing.
    """

    groups: tuple[GroupListing, ...] = ()
    errors: Mapping[int, KafkaGroupsError] = field(factory=dict)


@frozen
class ConsumerGroupOffset:
    """The progress of a consumer group or a classic group in one partition.

    Attributes:
        offset: The committed offset, from which the group continues; None if it has not committed any.
        leader_epoch: The leader epoch of the last record before it; None if it is unknown.
        metadata: The text that was committed with it.
        end_offset: The offset of the next record that producers will write.
        lag: How many offsets lie between the two; None without a committed offset, because brokers do not know where
            the group would start.
    """

    offset: int | None
    leader_epoch: int | None
    metadata: str
    end_offset: int
    lag: int | None


@frozen(kw_only=True)
class ConsumerGroupMember:
    """A member of a consumer group (KIP-848).

    Attributes:
        member_id: Its id.
        instance_id: Its instance id; None for a dynamic member.
        rack: Its rack, or None.
        epoch: Its member epoch.
        client_id: The name of its client.
        client_host: The address that it connects from.
        topics: The topics that it subscribes to.
        pattern: The regular expression of the topics that it subscribes to, or None.
        assignment: The partitions that it has, also those that it has to give away.
        target_assignment: The partitions that it will have.
        is_classic: True if it speaks the classic protocol (KIP-1099); None if the broker does not tell.
    """

    member_id: str
    instance_id: str | None
    rack: str | None
    epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    pattern: str | None
    assignment: tuple[TopicPartition, ...]
    target_assignment: tuple[TopicPartition, ...]
    is_classic: bool | None


@frozen(kw_only=True)
class ConsumerGroupDescription:
    """A consumer group (KIP-848).

    Attributes:
        group_id: The group.
        state: `Empty`, `Assigning`, `Reconciling`, `Stable` or `Dead`.
        epoch: The group epoch, which grows with every change of members, subscriptions and topics.
        assignment_epoch: The group epoch that the target assignment is for.
        assignor: The name of the assignor.
        members: The members.
        lag: The lag of each partition with a committed offset; None if it is unknown.
        lag_error: Why the lag is missing, or None.
    """

    type: ClassVar[str] = "consumer"

    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[ConsumerGroupMember, ...]
    lag: Mapping[TopicPartition, int | None] = field(factory=dict)
    lag_error: KafkaGroupsError | None = None

    @property
    def total_lag(self) -> int | None:
        """The sum of the lags; None if there are no partitions, or if one lag is unknown."""
        return total_lag(self.lag)


@frozen(kw_only=True)
class ClassicGroupMember:
    """A member of a classic group.

    Attributes:
        member_id: Its id.
        instance_id: Its instance id; None for a dynamic member.
        client_id: The name of its client.
        client_host: The address that it connects from.
        topics: The topics that it subscribes to. Brokers show them while the group is Stable. Empty if the members are
            not consumers, or if the bytes cannot be read.
        assignment: The partitions that it has, likewise.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    assignment: tuple[TopicPartition, ...]


@frozen(kw_only=True)
class ClassicGroupDescription:
    """A classic group, of consumers or of others, such as Kafka Connect. Its members decide who gets what.

    Attributes:
        group_id: The group.
        state: `Empty`, `PreparingRebalance`, `CompletingRebalance`, `Stable` or `Dead`.
        protocol_type: The type of the members' protocol, such as `consumer`; empty if it never had members.
        protocol: The protocol that the members have chosen, such as `range`, or `stream` in a streams application;
            empty unless the group is Stable.
        members: The members.
        lag: The lag of each partition with a committed offset; None if it is unknown.
        lag_error: Why the lag is missing, or None.
    """

    type: ClassVar[str] = "classic"

    group_id: str
    state: str
    protocol_type: str
    protocol: str
    members: tuple[ClassicGroupMember, ...]
    lag: Mapping[TopicPartition, int | None] = field(factory=dict)
    lag_error: KafkaGroupsError | None = None

    @property
    def total_lag(self) -> int | None:
        """The sum of the lags; None if there are no partitions, or if one lag is unknown."""
        return total_lag(self.lag)


GroupDescription = ShareGroupDescription | StreamsGroupDescription | ConsumerGroupDescription | ClassicGroupDescription
"""A group of any type; the attribute `type` tells which."""
