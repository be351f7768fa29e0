"""The documents of `kafka-groups groups`."""

from attrs import frozen

__all__ = [
    "AssignedTopicEntry",
    "DeletedGroupEntry",
    "DeletedStreamsEntry",
    "GroupContents",
    "GroupEntry",
    "GroupMemberEntry",
    "GroupOffsetEntry",
]


@frozen
class GroupEntry:
    """A group in a list.

    Attributes:
        group: The group.
        type: `classic`, `consumer`, `share` or `streams`; null before Kafka 3.8, where all groups are classic.
        state: Its state, such as `Stable` or `Empty`, or null before Kafka 2.6.
    """

    group: str
    type: str | None
    state: str | None


@frozen
class AssignedTopicEntry:
    """The partitions of a topic that a member has.

    Attributes:
        topic: The topic.
        partitions: The numbers of the partitions.
    """

    topic: str
    partitions: tuple[int, ...]


@frozen
class GroupMemberEntry:
    """A member of a group.

    Attributes:
        member: Its id.
        instance: The instance id of a static member, or null.
        client: The name of its client.
        host: The address that it connects from.
        rack: Its rack, or null.
        epoch: Its member epoch, or null in a classic group.
        topics: The topics that it subscribes to. Empty in a streams group.
        assigned: The partitions that it has. Empty in a streams group.
        tasks: The active tasks that it has in a streams group, such as `0_1`, or null in other groups.
    """

    member: str
    instance: str | None
    client: str
    host: str
    rack: str | None
    epoch: int | None
    topics: tuple[str, ...]
    assigned: tuple[AssignedTopicEntry, ...]
    tasks: tuple[str, ...] | None


@frozen
class GroupOffsetEntry:
    """The progress of a group in a partition.

    Attributes:
        topic: The topic.
        partition: The partition.
        offset: The committed offset, or the start offset of a share-partition; null if there is none.
        end: The offset of the next record that will be written, or null if it is unknown, as in share groups.
        lag: The records that the group has not finished, or null if it is unknown.
    """

    topic: str
    partition: int
    offset: int | None
    end: int | None
    lag: int | None


@frozen
class GroupContents(GroupEntry):
    """A group.

    Attributes:
        protocol: The protocol that the members of a classic group have chosen, such as `range`, or null.
        assignor: The assignor, or null if the group has none.
        epoch: The group epoch, or null in a classic group.
        assignment_epoch: The group epoch that the assignment is for, or null in a classic group.
        lag: The sum of the lags, or null if one of them is unknown, or if there are none.
        lag_error: The reason why the lag is missing, or null.
        members: The members.
        offsets: The progress in each partition, or null without `--offsets`.
    """

    protocol: str | None
    assignor: str | None
    epoch: int | None
    assignment_epoch: int | None
    lag: int | None
    lag_error: str | None
    members: tuple[GroupMemberEntry, ...]
    offsets: tuple[GroupOffsetEntry, ...] | None


@frozen
class DeletedGroupEntry:
    """A group that was deleted.

    Attributes:
        group: The group.
    """

    group: str


@frozen
class DeletedStreamsEntry:
    """A streams group, or an internal topic of one, that was deleted.

    Attributes:
        kind: The text `group` or `topic`.
        name: The name of the group or the topic.
    """

    kind: str
    name: str
