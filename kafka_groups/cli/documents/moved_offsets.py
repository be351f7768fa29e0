"""The documents of commands that print, move and delete offsets of groups."""

from attrs import frozen

from kafka_groups.cli.documents.described_groups import GroupOffsetEntry

__all__ = [
    "DeletedOffsetEntry",
    "ForgottenTopicEntry",
    "ListedOffsetEntry",
    "MovedOffsetEntry",
    "StreamsResetEntry",
]


@frozen
class ListedOffsetEntry(GroupOffsetEntry):
    """The progress of a group in a partition.

    Attributes:
        group: The group.
    """

    group: str


@frozen
class MovedOffsetEntry:
    """An offset to which a group was moved, or would be.

    Attributes:
        group: The group.
        topic: The topic.
        partition: The partition.
        offset: The offset at which the group continues.
    """

    group: str
    topic: str
    partition: int
    offset: int


@frozen
class StreamsResetEntry:
    """A partition in which a streams group was moved, or would be, or an internal topic that was deleted after that.

    Attributes:
        group: The group.
        topic: The topic.
        partition: The partition, or null for a topic that was deleted.
        offset: The offset at which the group continues, or null for a topic that was deleted.
        deleted: Whether the topic was deleted.
    """

    group: str
    topic: str
    partition: int | None
    offset: int | None
    deleted: bool


@frozen
class DeletedOffsetEntry:
    """A committed offset that was deleted, or would be.

    Attributes:
        group: The group.
        topic: The topic.
        partition: The partition.
    """

    group: str
    topic: str
    partition: int


@frozen
class ForgottenTopicEntry:
    """A topic whose offsets a share group has forgotten, or would forget.

    Attributes:
        group: The group.
        topic: The topic.
    """

    group: str
    topic: str
