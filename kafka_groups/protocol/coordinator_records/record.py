"""Keys and values of the records that coordinators write, and the table of the record types of one topic.

A key starts with the number of its type and a value with the version of its schema, both as int16. A record without a
value is a tombstone, which deletes the state that earlier records with the same key have set.
"""

import struct
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from attrs import frozen

from kafka_groups.errors import MalformedFrameError, MalformedRecordError, ProtocolError, UnknownRecordTypeError
from kafka_groups.protocol.binding import Binding, bind
from kafka_groups.protocol.schemas.plain import Schema

__all__ = ["CoordinatorRecord", "RecordTable", "RecordType"]

_INT16 = struct.Struct(">h")


def _version_0(_value: object) -> int:
    return 0


@frozen
class CoordinatorRecord:
    """One record of an internal topic. The class of the key identifies its type. A tombstone has no value."""

    key: Hashable
    value: object | None


class RecordType:
    """A type of record: its number, and the classes of its keys and values with their schemas.

    The schemas are bound on first use, as those of messages are.

    Args:
        number: The number that keys start with.
        key: The class of keys and its schema.
        value: The class of values and its schema in each version.
        version_of: Returns the version in which a value is written.
    """

    def __init__(
        self,
        number: int,
        key: tuple[type[Any], Schema],
        value: tuple[type[Any], Mapping[int, Schema]],
        version_of: Callable[[Any], int] = _version_0,
    ) -> None:
        self.number = number
        self.key_class, self._key_schema = key
        self.value_class, self._value_schemas = value
        self.key_start = _INT16.pack(number)
        self.version_of = version_of

    def __repr__(self) -> str:
        return f"<RecordType {self.number}: {self.value_class.__name__}>"

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of values that can be read."""
        return tuple(self._value_schemas)

    @property
    def key_binding(self) -> Binding:
        """The binding of the key class."""
        return bind(self.key_class, self._key_schema)

    def value_binding(self, version: int) -> Binding:
        """Return the binding of the value class to one version."""
        return bind(self.value_class, self._value_schemas[version])


class RecordTable:
    """The types of the records in one internal topic.

    Args:
        topic: Name of the topic.
        types: Its record types.
        most_bytes: Returns how many bytes the key and the value of a record have together, at the most.
    """

    def __init__(
        self,
        topic: str,
        types: Iterable[RecordType],
        most_bytes: Callable[[CoordinatorRecord], int] | None = None,
    ) -> None:
        self.topic = topic
        self.most_bytes = most_bytes or self._bytes_of
        self.types = tuple(types)
        self._by_number = {each.number: each for each in self.types}
        self._by_key_class = {each.key_class: each for each in self.types}

    def __repr__(self) -> str:
        return f"<RecordTable of {self.topic} with types {sorted(self._by_number)}>"

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Return the bytes of the key and the value. A tombstone has no value.

        Raises:
            ProtocolError: The key does not belong to this topic, the value does not belong to the key, or a number does
                not fit its field.
        """
        key, value = record.key, record.value
        record_type = self._by_key_class.get(type(key))
        if record_type is None:
            raise ProtocolError(f"{type(key).__name__} is not a key of {self.topic}.")
        if value is None:
            return _encoded(record_type.key_start, record_type.key_binding, key), None
        if type(value) is not record_type.value_class:
            raise ProtocolError(f"{type(value).__name__} is not the value of a {type(key).__name__}.")
        version = record_type.version_of(value)
        return (
            _encoded(record_type.key_start, record_type.key_binding, key),
            _encoded(_INT16.pack(version), record_type.value_binding(version), value),
        )

    def _bytes_of(self, record: CoordinatorRecord) -> int:
        key, value = self.encode(record)
        return len(key) + len(value or b"")

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord:
        """Return the record with this key and value.

        Raises:
            UnknownRecordTypeError: The type is not in the table. Kafka skips such a record when it loads a partition.
            MalformedRecordError: The bytes are not a record of their type and version, or the version is unknown.
        """
        record_type = self._by_number.get(_number(key, "key", self.topic))
        if record_type is None:
            raise UnknownRecordTypeError(self.topic, _number(key, "key", self.topic))
        return CoordinatorRecord(
            _decoded(record_type.key_binding, key),
            None if value is None else _decoded_value(record_type, value),
        )


def _encoded(start: bytes, binding: Binding, message: object) -> bytes:
    parts = [start]
    binding.write(message, parts.append)
    return b"".join(parts)


def _decoded_value(record_type: RecordType, value: bytes) -> Any:
    name = record_type.value_class.__name__
    version = _number(value, "value", name)
    if version not in record_type.versions:
        known = ", ".join(map(str, record_type.versions))
        raise MalformedRecordError(f"Unknown version {version} of {name}. Known versions: {known}.")
    return _decoded(record_type.value_binding(version), value)


def _decoded(binding: Binding, data: bytes) -> Any:
    try:
        return binding.decode(data, _INT16.size)
    except MalformedFrameError as error:
        raise MalformedRecordError(f"Invalid {binding.message_class.__name__}: {error}") from error


def _number(data: bytes, part: str, where: str) -> int:
    if len(data) < _INT16.size:
        raise MalformedRecordError(f"A {part} of {len(data)} byte(s) in {where} is too short.")
    number: int = _INT16.unpack_from(data)[0]
    return number
