"""A member's metadata in the format of confluent-kafka's transactional producer.

`Producer.send_offsets_to_transaction` takes the result of `Consumer.consumer_group_metadata`: bytes in a private format
of librdkafka. A member of a streams group has no such consumer, so this module encodes the bytes. A test compares them
with librdkafka's own. It also reads them, for producers of our own.
"""

import struct
from typing import Final

from attrs import frozen

from kafka_groups.protocol.messages.offset_commit import NO_GENERATION

__all__ = ["NOBODY", "AsMember", "GroupMetadata", "group_metadata_bytes", "read_group_metadata"]

_MAGIC: Final = b"CGMDv2:"
_EPOCH: Final = struct.Struct("=i")
"""In the byte order of the machine: librdkafka copies the number as it is."""


@frozen
class AsMember:
    """The member that commits or fetches offsets.

    Attributes:
        member_id: The member, or an empty string for nobody in the group.
        epoch: Its epoch.
        instance_id: The id of a static member, or None.
    """

    member_id: str = ""
    epoch: int = NO_GENERATION
    instance_id: str | None = None


NOBODY: Final = AsMember()
"""Somebody who is not in the group."""


@frozen
class GroupMetadata:
    """The group and the member that commit offsets in a transaction (KIP-447).

    Attributes:
        group_id: The group.
        member: The member that owns the partitions, with the epoch that fences its commits.
    """

    group_id: str
    member: AsMember


def group_metadata_bytes(group_id: str, member: AsMember) -> bytes:
    """Return the metadata of a member.

    Args:
        group_id: The group.
        member: The member, with the epoch that fences its commits.
    """
    # librdkafka has a flag for "no instance id", and leaves the string out then.
    has_no_instance = b"\x01" if member.instance_id is None else b"\x00"
    instance = b"" if member.instance_id is None else _text(member.instance_id)
    return _MAGIC + _EPOCH.pack(member.epoch) + _text(group_id) + _text(member.member_id) + has_no_instance + instance


def read_group_metadata(data: bytes) -> GroupMetadata:
    """Return what `group_metadata_bytes` has encoded.

    Raises:
        ValueError: It is something else.
    """
    if not data.startswith(_MAGIC):
        raise ValueError(f"{data!r} is not the metadata of a group's member.")
    (epoch,) = _EPOCH.unpack_from(data, len(_MAGIC))
    # Neither Kafka's ids nor librdkafka's strings contain a zero byte, so each of them ends at the next one.
    group_id, member_id, instance = data[len(_MAGIC) + _EPOCH.size :].split(b"\x00", 2)
    instance_id = None if instance[:1] == b"\x01" else instance[1:-1].decode()
    return GroupMetadata(group_id.decode(), AsMember(member_id.decode(), epoch, instance_id))


def _text(text: str) -> bytes:
    return text.encode() + b"\x00"
