"""Metadata of committed offsets: the partition's stream time, in the bytes of Kafka Streams.

Members in Java and in Python take over each other's tasks, so the form is Java's. The text is Base64 of the version
as a byte and the partition's time as int64. In version 2 the times of processors follow, if there are any: their number
as int32, and for each the length of its name as int32, its name, and its time as int64. Without times of processors,
version 1 is written, which all releases of Kafka Streams read that can share a group.
"""

import base64
import binascii
import logging
import struct
from collections.abc import Mapping
from functools import cache

from attrs import field, frozen

from kafka_groups.errors.texts import counted

__all__ = ["CommitMetadata", "bounded_metadata", "read_commit_metadata"]

_log = logging.getLogger(__name__)

_PLAIN, _VERSION = 1, 2
_MOST_CHARACTERS = 4_096
_NO_TIME = -1
_HEAD = struct.Struct(">Bq")
_NUMBER = struct.Struct(">i")
_TIME = struct.Struct(">q")


@frozen(kw_only=True)
class CommitMetadata:
    """The times that a task commits with an offset of a partition.

    Attributes:
        partition_time_ms: The highest timestamp that was taken from the partition, or -1 if none is known.
        processor_times_ms: A time for each processor that keeps one, by its name. Java's emit-on-close stores keep the
            close time that they emitted last.
        problem: Why the metadata, or a part of it, could not be read: a sentence for the log. None if it could.
    """

    partition_time_ms: int = _NO_TIME
    processor_times_ms: Mapping[str, int] = field(factory=dict)
    problem: str | None = None

    def encode(self) -> str:
        """Return the text to commit."""
        # Java writes version 2 always (TopicPartitionMetadata.encode). Kafka Streams 3.1 and older ignore that version
        # (StreamTask.decodeTimestamp), and a task that moves to them would have no time and take late records.
        version = _VERSION if self.processor_times_ms else _PLAIN
        data = _HEAD.pack(version, self.partition_time_ms) + _encoded(self.processor_times_ms)
        return base64.b64encode(data).decode("ascii")


def bounded_metadata(partition_time_ms: int, processor_times_ms: Mapping[str, int]) -> str:
    """Return the text to commit, without the times of processors if it would be too long for a broker."""
    # Names of operators come from the user, and brokers refuse a commit whose metadata is longer than
    # offset.metadata.max.bytes. A commit without the times is better than none: only the drop of late records after a
    # restart depends on them. Java does not shorten what it writes.
    text = CommitMetadata(partition_time_ms=partition_time_ms, processor_times_ms=processor_times_ms).encode()
    if len(text) <= _MOST_CHARACTERS:
        return text
    _warn_of_length(len(processor_times_ms))
    return CommitMetadata(partition_time_ms=partition_time_ms).encode()


@cache
def _warn_of_length(count: int) -> None:
    _log.warning(
        "The times of %s do not fit into the metadata of an offset (%d characters, Kafka's default for "
        "offset.metadata.max.bytes). After a restart, these operators take late records that they would have dropped. "
        "Give the operators shorter names, or split the sub-topology with repartition().",
        counted(count, "operator"),
        _MOST_CHARACTERS,
    )


def read_commit_metadata(text: str | None) -> CommitMetadata:
    """Read the metadata of a committed offset.

    Text of another program is not an error, as in Java: times are unknown then, and `problem` says why.

    Args:
        text: The metadata as the group coordinator returns it. librdkafka ends it with a NUL.
    """
    written = (text or "").removesuffix("\0")
    # A commit by another client, or before there was a time, has no metadata. That is not worth a warning, as in
    # TopicPartitionMetadata.decode.
    if not written:
        return CommitMetadata()
    try:
        data = _decoded(written)
        version, time_ms = _HEAD.unpack_from(data)
    except (ValueError, struct.error) as error:
        return CommitMetadata(problem=_unreadable(written, str(error)))
    # Version 1 has the partition's time only. TopicPartitionMetadata.decode in Kafka also reads both, and ignores later
    # versions with a warning.
    if version not in (_PLAIN, _VERSION):
        return CommitMetadata(
            problem=_unreadable(written, f"its version is {version}, and this client supports 1 and 2")
        )
    return _with_processors(written, time_ms, data[_HEAD.size :] if version == _VERSION else b"")


def _with_processors(written: str, time_ms: int, data: bytes) -> CommitMetadata:
    try:
        return CommitMetadata(partition_time_ms=time_ms, processor_times_ms=_times(data))
    except (ValueError, struct.error) as error:
        # The partition's time stands before the part that cannot be read, so it is kept: TopicPartitionMetadata.decode
        # also takes it first.
        return CommitMetadata(partition_time_ms=time_ms, problem=_unreadable(written, str(error)))


def _encoded(times_ms: Mapping[str, int]) -> bytes:
    # Without times there are no bytes after the partition's time, as in Java (ProcessorMetadata.serialize).
    if not times_ms:
        return b""
    names = ((name.encode(), time_ms) for name, time_ms in sorted(times_ms.items()))
    each = (_NUMBER.pack(len(name)) + name + _TIME.pack(time_ms) for name, time_ms in names)
    return _NUMBER.pack(len(times_ms)) + b"".join(each)


def _times(data: bytes) -> dict[str, int]:
    if not data:
        return {}
    (count,) = _NUMBER.unpack_from(data)
    if count < 0:
        raise ValueError(f"it has {count} times")
    times_ms, place = {}, _NUMBER.size
    for _ in range(count):
        (length,) = _NUMBER.unpack_from(data, place)
        if length < 0:
            raise ValueError(f"a name has {length} bytes")
        end = place + _NUMBER.size + length
        (time_ms,) = _TIME.unpack_from(data, end)
        times_ms[data[place + _NUMBER.size : end].decode("utf-8", errors="replace")] = time_ms
        place = end + _TIME.size
    return times_ms


def _decoded(written: str) -> bytes:
    # Java reads Base64 without its padding, too.
    padding = "=" * (-len(written) % 4)
    if padding and "=" in written:
        raise ValueError("wrong padding")
    return binascii.a2b_base64(written + padding, strict_mode=True)


def _unreadable(written: str, why: str) -> str:
    return (
        f"The metadata of a committed offset was not written by Kafka Streams, and is ignored: {written[:80]!r}: {why}"
    )
