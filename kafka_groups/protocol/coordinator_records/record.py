"""The types of the records that coordinators write to one topic, and the bytes of keys and values.

The class of a record has the fields of its key, and then `value`. A key starts with the number of its type and a value
with the version of its schema, both as int16. A record without a value is a tombstone, which deletes the state that
earlier records with the same key have set.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from attrs import frozen

from kafka_groups.errors import MalformedFrameError, MalformedRecordError, ProtocolError, UnknownRecordTypeError
from kafka_groups.protocol.binding import Binding, bind
from kafka_groups.protocol.schemas.derivation import derived_schema

__all__ = ["CoordinatorRecord", "RecordTable", "RecordType", "ValueForm"]

_INT16 = struct.Struct(">h")


class CoordinatorRecord(Protocol):
    """One record of an internal topic. Its class identifies its type."""

    @property
    def value(self) -> object | None:
        """The value, or None in a tombstone."""
        ...


R = TypeVar("R", bound=CoordinatorRecord)


def _unchanged(value: Any) -> Any:
    return value


def _version_0(_value: object) -> int:
    return 0


@frozen
class ValueForm:
    """The form in which a coordinator has the values of one type: sets and maps, for example.

    Attributes:
        write: Returns the message of a value.
        read: Returns the value of a message.
    """

    write: Callable[[Any], object] = _unchanged
    read: Callable[[Any], object] = _unchanged


class RecordType:
    """A type of record: its number, its class, and the message class of its values.

    The schemas are derived from the classes, and bound on first use, as those of messages are. Keys are never flexible.

    Args:
        number: The number that keys start with.
        record_class: The class of records.
        value_class: The message class of values.
        versions: The versions of values that can be read.
        flexible_since: The first version with compact lengths and tagged fields (KIP-482).
        version_of: Returns the version in which a message is written.
    """

    def __init__(
        self,
        number: int,
        record_class: type[Any],
        value_class: type[Any],
        *,
        versions: Iterable[int] = (0,),
        flexible_since: int = 0,
        version_of: Callable[[Any], int] = _version_0,
    ) -> None:
        self.number = number
        self.record_class = record_class
        self.value_class = value_class
        self.versions = tuple(versions)
        self.key_start = _INT16.pack(number)
        self.version_of = version_of
        self.form = ValueForm()
        self._flexible_since = flexible_since
        self._value_bindings: dict[int, Binding] = {}

    def __repr__(self) -> str:
        return f"<RecordType {self.number}: {self.value_class.__name__}>"

    def with_form(self, form: ValueForm) -> "RecordType":
        """Return the type with values in another form than their message class."""
        changed = copy(self)
        changed.form = form
        return changed

    @cached_property
    def key_binding(self) -> Binding:
        """The binding of the record class to the fields of the key."""
        return bind(self.record_class, derived_schema(self.record_class, is_flexible=False, without="value"))

    def value_binding(self, version: int) -> Binding:
        """Return the binding of the value class to one version."""
        known = self._value_bindings.get(version)
        if known is None:
            schema = derived_schema(self.value_class, version, is_flexible=version >= self._flexible_since)
            known = self._value_bindings[version] = bind(self.value_class, schema)
        return known


class RecordTable(Generic[R]):
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
        most_bytes: Callable[[R], int] | None = None,
    ) -> None:
        self.topic = topic
        self.most_bytes = most_bytes or self._bytes_of
        self.types = tuple(types)
        self._by_number = {each.number: each for each in self.types}
        self._by_class = {each.record_class: each for each in self.types}

    def __repr__(self) -> str:
        return f"<RecordTable of {self.topic} with types {sorted(self._by_number)}>"

    def with_forms(self, forms: Mapping[type[Any], ValueForm]) -> "RecordTable[Any]":
        """Return a table of the same types, with the values of some record classes in other forms."""
        types = (each.with_form(forms.get(each.record_class, each.form)) for each in self.types)
        return RecordTable(self.topic, types)

    def encode(self, record: R) -> tuple[bytes, bytes | None]:
        """Return the bytes of the key and the value. A tombstone has no value.

        Raises:
            ProtocolError: The record does not belong to this topic, the value does not belong to the record, or a
                number does not fit its field.
        """
        record_type = self._by_class.get(type(record))
        if record_type is None:
            raise ProtocolError(f"{type(record).__name__} is not a record of {self.topic}.")
        key = _encoded(record_type.key_start, record_type.key_binding, record)
        if record.value is None:
            return key, None
        message = record_type.form.write(record.value)
        if type(message) is not record_type.value_class:
            raise ProtocolError(f"{type(message).__name__} is not the value of a {type(record).__name__}.")
        version = record_type.version_of(message)
        return key, _encoded(_INT16.pack(version), record_type.value_binding(version), message)

    def _bytes_of(self, record: R) -> int:
        key, value = self.encode(record)
        return len(key) + len(value or b"")

    def decode(self, key: bytes, value: bytes | None) -> R:
        """Return the record with this key and value.

        Raises:
            UnknownRecordTypeError: The type is not in the table. Kafka skips such a record when it loads a partition.
            MalformedRecordError: The bytes are not a record of their type and version, or the version is unknown.
        """
        record_type = self._by_number.get(_number(key, "key", self.topic))
        if record_type is None:
            raise UnknownRecordTypeError(self.topic, _number(key, "key", self.topic))
        record: R = _decoded(record_type.key_binding, key, "Key")
        if value is not None:
            # Nobody has seen the record without its value yet, so that this costs less than to make another one.
            object.__setattr__(record, "value", record_type.form.read(_decoded_value(record_type, value)))
        return record


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


def _decoded(binding: Binding, data: bytes, part: str = "") -> Any:
    try:
        return binding.decode(data, _INT16.size)
    except MalformedFrameError as error:
        raise MalformedRecordError(f"Invalid {binding.message_class.__name__}{part}: {error}") from error


def _number(data: bytes, part: str, where: str) -> int:
    if len(data) < _INT16.size:
        raise MalformedRecordError(f"A {part} of {len(data)} byte(s) in {where} is too short.")
    number: int = _INT16.unpack_from(data)[0]
    return number
