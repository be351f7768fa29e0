"""Kafka's consumer protocol: what consumers put into JoinGroup, and the coordinator into their assignments."""

import struct
from collections.abc import Mapping, Sequence

from attrs import frozen

__all__ = ["ClassicSubscription", "read_assignment", "read_subscription", "subscription_version", "written_assignment"]

_SHORT, _INT = struct.Struct(">h"), struct.Struct(">i")
_FIRST_WITH_OWNED, _FIRST_WITH_GENERATION, _FIRST_WITH_RACK = 1, 2, 3
_NULL = -1
_NEWEST = 3

Partitions = dict[str, tuple[int, ...]]


@frozen
class ClassicSubscription:
    """The subscription of a consumer.

    Attributes:
        version: The version of its format.
        topics: The names of the topics.
        owned: The partitions that it owns, by topic. Consumers that give up everything before they join own nothing.
        rack: Its rack, or None.
    """

    version: int
    topics: tuple[str, ...]
    owned: Partitions
    rack: str | None = None


class _Reader:
    """Reads one value after the other.

    Raises:
        ValueError: The data end too early, or are not text.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, form: struct.Struct) -> int:
        return int(form.unpack(self._taken(form.size))[0])

    def version(self) -> int:
        version = self.number(_SHORT)
        # Kafka's ConsumerProtocol.checkSubscriptionVersion reads versions that it does not know yet like the newest,
        # but rejects negative ones.
        if version < 0:
            raise ValueError(f"version {version}")
        return version

    def text(self) -> str:
        return self._taken(self.number(_SHORT)).decode()

    def text_or_null(self) -> str | None:
        size = self.number(_SHORT)
        return None if size == _NULL else self._taken(size).decode()

    def skip_bytes(self) -> None:
        size = self.number(_INT)
        self._taken(0 if size == _NULL else size)

    def texts(self) -> tuple[str, ...]:
        return tuple(self.text() for _ in self._items())

    def partitions(self) -> Partitions:
        return {self.text(): tuple(self.number(_INT) for _ in self._items()) for _ in self._items()}

    def _items(self) -> range:
        count = self.number(_INT)
        if count < 0:
            raise ValueError(f"{count} items")
        return range(count)

    def _taken(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._at:
            raise ValueError(f"{size} bytes at {self._at} of {len(self._data)}")
        self._at += size
        return self._data[self._at - size : self._at]


def read_subscription(data: bytes) -> ClassicSubscription:
    """Read a subscription. Bytes after the fields of its version are not read.

    Raises:
        ValueError: It cannot be read.
    """
    reader = _Reader(data)
    version, topics = reader.version(), reader.texts()
    reader.skip_bytes()
    # A newer version only adds fields at the end (ConsumerProtocolSubscription), so the known ones can be read in any
    # version.
    owned = reader.partitions() if version >= _FIRST_WITH_OWNED else {}
    if version >= _FIRST_WITH_GENERATION:
        reader.number(_INT)
    rack = reader.text_or_null() if version >= _FIRST_WITH_RACK else None
    return ClassicSubscription(version, topics, owned, rack)


def subscription_version(data: bytes) -> int:
    """Return the version of a subscription, even if the rest cannot be read."""
    return int.from_bytes(data[: _SHORT.size], "big")


def read_assignment(data: bytes) -> Partitions:
    """Read an assignment. No bytes are an empty one.

    Raises:
        ValueError: It cannot be read.
    """
    # A member that has not received an assignment yet has empty bytes in the record of its group.
    if not data:
        return {}
    reader = _Reader(data)
    reader.version()
    partitions = reader.partitions()
    reader.skip_bytes()
    return partitions


def written_assignment(partitions: Mapping[str, Sequence[int]], version: int) -> bytes:
    """Return an assignment as consumers read it, in the version of their subscription."""
    # The member must be able to read the version. An assignment has the same fields in all versions so far.
    parts = [_SHORT.pack(min(version, _NEWEST)), _INT.pack(len(partitions))]
    for topic, numbers in partitions.items():
        name = topic.encode()
        parts += [_SHORT.pack(len(name)), name, _INT.pack(len(numbers)), *map(_INT.pack, numbers)]
    return b"".join([*parts, _INT.pack(_NULL)])
