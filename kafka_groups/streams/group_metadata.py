"""A member's metadata in the form in which confluent-kafka's transactional producer takes it.

`Producer.send_offsets_to_transaction` takes what `Consumer.consumer_group_metadata` returns: bytes in a format that is
private to librdkafka. A member of a streams group is no such consumer, so this module writes the bytes. A test compares
them with librdkafka's own.
"""

import struct
from typing import Final

from kafka_groups.admin.group_offsets import AsMember

__all__ = ["group_metadata_bytes"]

_MAGIC: Final = b"CGMDv2:"
_EPOCH: Final = struct.Struct("=i")
"""In the byte order of the machine: librdkafka copies the number as it is."""


def group_metadata_bytes(group_id: str, member: AsMember) -> bytes:
    """Return the metadata of a member.

    Args:
        group_id: The group.
        member: The member, with the epoch that fences its commits.
    """
    has_no_instance = b"\x01" if member.instance_id is None else b"\x00"
    instance = b"" if member.instance_id is None else _text(member.instance_id)
    return _MAGIC + _EPOCH.pack(member.epoch) + _text(group_id) + _text(member.member_id) + has_no_instance + instance


def _text(text: str) -> bytes:
    return text.encode() + b"\x00"
