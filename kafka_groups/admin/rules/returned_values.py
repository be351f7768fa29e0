"""The values that the methods of an admin client return."""

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TopicPartition

__all__ = [
    "GroupConfigValue",
    "ListedShareGroup",
    "RemovedMember",
    "ShareGroupDescription",
    "ShareGroupList",
    "ShareGroupMember",
    "ShareOffset",
    "total_lag",
]


@frozen
class ListedShareGroup:
    """A share group in a list.

    Attributes:
        group_id: The group.
        state: `Empty`, `Stable` or `Dead`.
    """

    group_id: str
    state: str


@frozen
class ShareGroupList:
    """The share groups of a cluster. Each broker lists those that it coordinates.

    Attributes:
        groups: The groups, sorted by id.
        errors: Brokers that did not answer, by node id. Their groups are missing.
    """

    groups: tuple[ListedShareGroup, ...] = ()
    errors: Mapping[int, KafkaGroupsError] = field(factory=dict)


@frozen
class ShareGroupMember:
    """A member of a share group.

    Attributes:
        member_id: Its id.
        rack: Its rack, or None.
        epoch: Its member epoch.
        client_id: The name of its client.
        client_host: The address that it connects from.
        topics: The topics that it subscribes to.
        assignment: The partitions that it fetches from. Other members may have the same ones.
    """

    member_id: str
    rack: str | None
    epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    assignment: tuple[TopicPartition, ...]


@frozen
class ShareOffset:
    """The progress of a share group in one partition.

    Attributes:
        start_offset: The first offset that the group has not finished (SPSO), as it was last written; None if the group
            has no position yet. Brokers write it with later acknowledgements, so `lag` may be ahead of it.
        leader_epoch: The leader epoch of that offset; None if it is unknown.
        lag: How many records the group has not finished (KIP-1226). None if that is unknown: before the group's first
            acknowledgement, or before Kafka 4.2.
    """

    start_offset: int | None
    leader_epoch: int | None
    lag: int | None


@frozen
class ShareGroupDescription:
    """A share group.

    Attributes:
        group_id: The group.
        state: `Empty`, `Stable` or `Dead`.
        epoch: The group epoch, which grows with every change of members, subscriptions and topics.
        assignment_epoch: The group epoch that the assignment is for.
        assignor: The name of the assignor.
        members: The members.
        lag: The lag of each partition for which the group has state; None if it is unknown.
        lag_error: Why the lag is missing, or None.
    """

    type: ClassVar[str] = "share"

    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[ShareGroupMember, ...]
    lag: Mapping[TopicPartition, int | None] = field(factory=dict)
    lag_error: KafkaGroupsError | None = None

    @property
    def total_lag(self) -> int | None:
        """The sum of the lags; None if there are no partitions, or if one lag is unknown."""
        return total_lag(self.lag)


@frozen
class GroupConfigValue:
    """A configuration of a group.

    Attributes:
        value: The value as text; None if the broker does not show it.
        is_set: Whether the group has a value of its own. If not, it is the broker's.
    """

    value: str | None
    is_set: bool


@frozen
class RemovedMember:
    """A member that was removed from its group.

    Attributes:
        member_id: Its id; empty if you named it by its instance id and the broker did not say.
        instance_id: Its instance id; None for a dynamic member.
    """

    member_id: str
    instance_id: str | None


def total_lag(lags: Mapping[TopicPartition, int | None]) -> int | None:
    """Return the sum of the lags; None if there are no partitions, or if one lag is unknown."""
    known = [lag for lag in lags.values() if lag is not None]
    return sum(known) if lags and len(known) == len(lags) else None
