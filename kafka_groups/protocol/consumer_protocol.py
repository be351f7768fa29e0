"""Kafka's consumer protocol, versions 0 to 3: what members put into JoinGroup, and leaders into SyncGroup."""

from collections.abc import Mapping
from typing import Final, Self

from attrs import field, frozen

from kafka_groups.protocol.member_data import INT16, INT32, MemberDataReader, MemberDataWriter

__all__ = [
    "LATEST_CONSUMER_PROTOCOL",
    "NO_GENERATION",
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "PartitionsByName",
    "subscribed_topics",
    "subscription_version",
]

LATEST_CONSUMER_PROTOCOL: Final = 3
"""The latest version. Later ones only add fields at the end, so that they are read like this one."""

NO_GENERATION: Final = -1
"""The generation of a member that owns nothing yet."""

PartitionsByName = Mapping[str, tuple[int, ...]]
"""Partitions by the names of their topics, in the order of the bytes."""

_FIRST_WITH_OWNED: Final = 1
_FIRST_WITH_GENERATION: Final = 2
_FIRST_WITH_RACK: Final = 3
_LEAST_TEXT: Final = INT16.size
_LEAST_TOPIC: Final = _LEAST_TEXT + INT32.size
_SUBSCRIPTION: Final = "ConsumerProtocolSubscription"
_ASSIGNMENT: Final = "ConsumerProtocolAssignment"


@frozen
class ConsumerProtocolSubscription:
    """The subscription of a member.

    Attributes:
        topics: The names of the topics.
        user_data: Bytes for the leader's assignor, or None.
        owned_partitions: The partitions that the member owns, by topic. Version 1+.
        generation_id: The generation in which it got them, or -1. Version 2+.
        rack_id: Its rack, or None. Version 3+.
        version: The version of the bytes. A subscription that was read may have one above `LATEST_CONSUMER_PROTOCOL`.
    """

    topics: tuple[str, ...] = ()
    user_data: bytes | None = None
    owned_partitions: PartitionsByName = field(factory=dict)
    generation_id: int = NO_GENERATION
    rack_id: str | None = None
    version: int = LATEST_CONSUMER_PROTOCOL

    def encode(self) -> bytes:
        """Return the bytes in the subscription's version, or in `LATEST_CONSUMER_PROTOCOL` if it is above that.

        Raises:
            MemberDataError: A value does not fit its field.
        """
        version = min(self.version, LATEST_CONSUMER_PROTOCOL)
        writer = MemberDataWriter(_SUBSCRIPTION)
        writer.number(INT16, version, "version")
        writer.number(INT32, len(self.topics), "topics")
        for topic in self.topics:
            writer.text(INT16, topic, "topics")
        writer.sized(INT32, self.user_data, "userData")
        if version >= _FIRST_WITH_OWNED:
            _write_partitions(writer, self.owned_partitions, "ownedPartitions")
        if version >= _FIRST_WITH_GENERATION:
            writer.number(INT32, self.generation_id, "generationId")
        if version >= _FIRST_WITH_RACK:
            writer.text_or_null(INT16, self.rack_id, "rackId")
        return writer.written()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read a subscription. Bytes after the fields of its version are ignored.

        Raises:
            MemberDataError: It cannot be read.
        """
        reader = MemberDataReader(_SUBSCRIPTION, data)
        version = _version(reader)
        return cls(
            version=version,
            topics=_topics(reader),
            user_data=reader.bytes_or_null(INT32, "userData"),
            owned_partitions=_partitions(reader, "ownedPartitions") if version >= _FIRST_WITH_OWNED else {},
            generation_id=reader.number(INT32, "generationId") if version >= _FIRST_WITH_GENERATION else NO_GENERATION,
            rack_id=reader.text_or_null(INT16, "rackId") if version >= _FIRST_WITH_RACK else None,
        )


@frozen
class ConsumerProtocolAssignment:
    """The assignment of a member.

    Attributes:
        assigned_partitions: The partitions by topic.
        user_data: Bytes of the leader's assignor, or None.
        version: The version of the bytes. All versions so far have the same fields.
    """

    assigned_partitions: PartitionsByName = field(factory=dict)
    user_data: bytes | None = None
    version: int = LATEST_CONSUMER_PROTOCOL

    def encode(self) -> bytes:
        """Return the bytes in the assignment's version, or in `LATEST_CONSUMER_PROTOCOL` if it is above that.

        Raises:
            MemberDataError: A value does not fit its field.
        """
        writer = MemberDataWriter(_ASSIGNMENT)
        writer.number(INT16, min(self.version, LATEST_CONSUMER_PROTOCOL), "version")
        _write_partitions(writer, self.assigned_partitions, "assignedPartitions")
        writer.sized(INT32, self.user_data, "userData")
        return writer.written()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read an assignment. No bytes are an assignment of nothing, without user data.

        Raises:
            MemberDataError: It cannot be read.
        """
        # A member that has not received an assignment yet has empty bytes in SyncGroup and in the record of its group.
        if not data:
            return cls()
        reader = MemberDataReader(_ASSIGNMENT, data)
        return cls(
            version=_version(reader),
            assigned_partitions=_partitions(reader, "assignedPartitions"),
            user_data=reader.bytes_or_null(INT32, "userData"),
        )


def subscribed_topics(data: bytes) -> tuple[str, ...]:
    """Read the topics of a subscription, which come first in every version. The rest is not read.

    Raises:
        MemberDataError: They cannot be read.
    """
    reader = MemberDataReader(_SUBSCRIPTION, data)
    reader.number(INT16, "version")
    return _topics(reader)


def subscription_version(data: bytes) -> int:
    """Return the version of a subscription, even if the rest cannot be read."""
    return int.from_bytes(data[: INT16.size], "big")


def _version(reader: MemberDataReader) -> int:
    version = reader.number(INT16, "version")
    # Kafka's ConsumerProtocol.checkSubscriptionVersion reads versions that it does not know yet like the latest,
    # but rejects negative ones.
    if version < 0:
        reader.fail("version", f"it is {version}")
    return version


def _topics(reader: MemberDataReader) -> tuple[str, ...]:
    return tuple(reader.text(INT16, "topics") for _ in reader.items(_LEAST_TEXT, "topics"))


def _partitions(reader: MemberDataReader, field_name: str) -> PartitionsByName:
    partitions: dict[str, list[int]] = {}
    for _ in reader.items(_LEAST_TOPIC, field_name):
        # Kafka's reader adds the partitions of a topic that is named twice.
        partitions.setdefault(reader.text(INT16, field_name), []).extend(reader.int32s(field_name))
    return {topic: tuple(numbers) for topic, numbers in partitions.items()}


def _write_partitions(writer: MemberDataWriter, partitions: PartitionsByName, field_name: str) -> None:
    writer.number(INT32, len(partitions), field_name)
    for topic, numbers in partitions.items():
        writer.text(INT16, topic, field_name)
        writer.int32s(numbers, field_name)
