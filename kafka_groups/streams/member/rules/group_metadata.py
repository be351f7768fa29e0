"""A member's metadata in the format of confluent-kafka's transactional producer.

`Producer.send_offsets_to_transaction` takes the result of `Consumer.consumer_group_metadata`: bytes in a private format
of librdkafka. A member of a streams group has no such consumer, so this module encodes the bytes. A test compares them
with librdkafka's own.
"""

import struct
from typing import Final

from kafka_groups.admin.rules.group_offsets import AsMember

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
