"""The values that the admin client returns about groups of any type."""

from collections.abc import Mapping

from attrs import field, frozen

from kafka_groups.errors import KafkaGroupsError

__all__ = ["GroupList", "GroupListing"]


@frozen
class GroupListing:
    """A group of any type in a list.

    Attributes:
        group_id: The group.
        type: `classic`, `consumer`, `share` or `streams`; empty before Kafka 3.8, where all groups are classic.
        protocol_type: The type of the members' protocol, such as `consumer`. Empty for a classic group without members
            that only commits offsets.
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
