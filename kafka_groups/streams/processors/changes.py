"""Changes of tables on repartition topics: their bytes, and the operator that regroups them."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.errors import DeserializationError
from kafka_groups.serdes import Serde
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["RegroupTable", "change_deserializer", "change_serializer"]

_OLD, _NEW, _BOTH = b"\x00", b"\x01", b"\x02"


@frozen
class RegroupTable:
    """Turns each change of a table into changes of the keys that a function of key and value returns.

    The old value goes to its key before the new one goes to its own, or with it if the keys are equal. `is_versioned`
    says whether the table is versioned.
    """

    function: Callable[[Any, Any], tuple[Any, Any]]
    is_versioned: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, function = node.forward, node.failed, self.function
        is_versioned, record = self.is_versioned, node.record

        def step(key: Any, new: Any, old: Any, timestamp_ms: int, headers: Headers) -> None:
            # Java ends the thread (KTableRepartitionMap.process). Here it is one dropped record.
            if key is None:
                node.dropped("its key is null")
                return
            # Groups have the newest versions. Java does not count such a change as dropped (KTableRepartitionMap).
            if is_versioned and not record.is_latest:
                return
            try:
                # The user's function is not called for a deleted row (KTableRepartitionMap.process).
                new_key, new_value = (None, None) if new is None else function(key, new)
                old_key, old_value = (None, None) if old is None else function(key, old)
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, new, timestamp_ms, headers)
                return
            # A row whose new key or value is null is in no group, and is left out of the result
            # (KTableRepartitionMap.process).
            has_new = new_key is not None and new_value is not None
            has_old = old_key is not None and old_value is not None
            # A group that changes itself gets one record with both values, so that its aggregate is never seen without
            # either. Java compares keys in the same place, and sent two records up to 3.4.
            if has_new and has_old and new_key == old_key:
                forward(new_key, new_value, old_value, timestamp_ms, headers)
                return
            # Otherwise the old group loses the row before the new group gets it.
            if has_old:
                forward(old_key, None, old_value, timestamp_ms, headers)
            if has_new:
                forward(new_key, new_value, None, timestamp_ms, headers)

        return step


def change_serializer(serde: Serde[Any], topic: str) -> Callable[[Any, Any, list[Any]], bytes]:
    """Return a function of new value, old value and headers that writes a change."""
    write = serde.serializer(topic, is_key=False)

    def written(new: Any, old: Any, headers: list[Any]) -> bytes:
        # The three forms of ChangedSerializer.serialize in Kafka: the last byte tells which. It comes last, so that a
        # reader of one value can cut it off.
        if new is None:
            return write(old, headers) + _OLD
        new_bytes = write(new, headers)
        if old is None:
            return new_bytes + _NEW
        return _varint(len(new_bytes)) + new_bytes + write(old, headers) + _BOTH

    return written


def change_deserializer(serde: Serde[Any], topic: str) -> Callable[[bytes, Headers], tuple[Any, Any]]:
    """Return a function of bytes and headers that reads a change as new and old value."""
    read = serde.deserializer(topic, is_key=False)

    def found(data: bytes, headers: Headers) -> tuple[Any, Any]:
        kind, body = data[-1:], data[:-1]
        if kind == _OLD:
            return None, read(body, headers)
        if kind == _NEW:
            return read(body, headers), None
        # Later formats may have other numbers, and a program in another language may write to this topic.
        if kind != _BOTH:
            raise DeserializationError(f"A change of a table on {topic} ends with {kind!r}. Expected 0, 1 or 2.")
        length, start = _read_varint(body)
        return read(body[start : start + length], headers), read(body[start + length :], headers)

    return found


def _varint(number: int) -> bytes:
    """Return a length as Kafka's zigzag varint."""
    rest, written = number << 1, bytearray()
    while rest > 0x7F:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    written.append(rest)
    return bytes(written)


def _read_varint(data: bytes) -> tuple[int, int]:
    """Return the length at the beginning of bytes, and how many bytes it takes."""
    number = 0
    for index, byte in enumerate(data[:5]):
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return number >> 1, index + 1
    raise DeserializationError("A change of a table begins with a broken length.")
