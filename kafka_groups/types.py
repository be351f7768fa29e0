"""Values that all layers share, such as names of partitions and types of acknowledgements."""

import base64
import enum
import random
import re
from typing import NamedTuple, Self
from uuid import UUID

from attrs import frozen

__all__ = [
    "AcknowledgeType",
    "ConsumerState",
    "FetchedRecord",
    "Header",
    "Headers",
    "OffsetAndMetadata",
    "RecordId",
    "RecordRow",
    "TaskId",
    "TopicIdPartition",
    "TopicPartition",
    "is_topic_name",
    "member_id_of",
    "random_uuid",
]

_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")

Header = tuple[str, bytes | None]
"""One record header: its key and its value (`None` is a null value)."""

Headers = tuple[Header, ...]
"""The headers of a record, in order."""


class FetchedRecord(NamedTuple):
    """A record as its partition has it. A tuple, because there is one for each record."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers = ()


RecordRow = tuple[int, bytes | None, bytes | None, int, Headers]
"""A record in the order of `FetchedRecord`'s fields: offset, key, value, timestamp in ms (-1 without one), headers."""


@frozen(order=True)
class TopicPartition:
    """A partition, identified by the topic's name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@frozen(order=False, eq=False)
class TopicIdPartition:
    """A partition of a topic, by the topic's id; the name is for people.

    Two of them are equal when topic id and partition are: a topic that was deleted and created again under
    the same name has another id, and so other partitions.
    """

    topic_id: UUID
    partition: int
    topic: str | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicIdPartition):
            return NotImplemented
        return self.partition == other.partition and self.topic_id.int == other.topic_id.int

    # The integers, as UUID's own comparison and hash are functions in Python and these are keys wherever records flow.
    def __hash__(self) -> int:
        return hash((self.topic_id.int, self.partition))

    def __str__(self) -> str:
        return f"{self.topic or self.topic_id}-{self.partition}"


RecordId = tuple[TopicIdPartition, int]
"""A record: its partition and offset."""


@frozen
class OffsetAndMetadata:
    """A committed offset of a group, or one to commit.

    Attributes:
        offset: The offset of the next record to process.
        leader_epoch: The leader epoch of the last record that was processed, or None if it is not known (KIP-320).
        metadata: Text of the application's own that is stored with the offset.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""


class TaskId(NamedTuple):
    """A task of a streams group: partition n of all topics that a sub-topology reads (KIP-1071)."""

    subtopology_id: str
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology_id}_{self.partition}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the task that Kafka Streams writes like this, for example `0_12`.

        Raises:
            ValueError: The text is not the id of a task.
        """
        subtopology_id, separator, partition = text.rpartition("_")
        if not (separator and subtopology_id and partition.isdecimal() and partition.isascii()):
            raise ValueError(f"Invalid task id {text!r}. Use the form <sub-topology>_<partition>, such as '0_12'.")
        return cls(subtopology_id, int(partition))


class ConsumerState(enum.IntEnum):
    """The states of a share consumer; `metrics()["state"]` is the number."""

    UNSUBSCRIBED = 0
    """Not subscribed to any topic, and not a member of the group."""
    JOINING = 1
    """Subscribed, and on the way into the group."""
    ACTIVE = 2
    """A member of the group."""
    UNREACHABLE = 3
    """No broker answers. The consumer keeps trying, and `poll` returns no records until one does."""
    POLL_OVERDUE = 4
    """Left the group because the program did not call `poll` for `max.poll.interval.ms`; the next `poll` rejoins."""
    FAILED = 5
    """Ended by an error that every `poll` and commit raises from now on."""
    CLOSED = 6
    """Closed by the program."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)


class AcknowledgeType(enum.IntEnum):
    """The ways to acknowledge a delivered record (KIP-932, KIP-1222).

    `GAP` says that an acquired offset holds no record (compaction, control batches); clients send it by
    themselves and applications never do.
    """

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


def random_uuid(rng: random.Random) -> UUID:
    """Return a version-4 UUID from a given random source, so that runs can be repeated."""
    return UUID(int=rng.getrandbits(128), version=4)


def uuid_text(uuid: UUID) -> str:
    """Return a UUID as Kafka writes it: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(uuid.bytes).rstrip(b"=").decode("ascii")


def is_topic_name(name: str) -> bool:
    """Return whether Kafka allows a topic with this name."""
    return name not in (".", "..") and _TOPIC_NAME.fullmatch(name) is not None


def member_id_of(uuid: UUID) -> str:
    """Return a UUID as a member id, in the form of Kafka's clients."""
    return uuid_text(uuid)
