"""Writers that are built from wire schemas. They encode the values of a message in wire order.

A writer is built once for each schema. Consecutive fields of fixed size are packed with one call, and all parts are
joined once at the end, so that the records of a response are copied only once.
"""

import dataclasses
import struct
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, get_args, get_origin

from kafka_groups.errors import ProtocolError
from kafka_groups.protocol.memo import cached
from kafka_groups.protocol.schemas.plain_schema import Schema, is_nullable_structure, without_none

__all__ = ["Put", "Write", "fields_writer", "length_writer", "tags_writer", "writer"]

Put = Callable[[bytes], object]
"""Takes the next bytes of the message, such as `list.append`."""
Write = Callable[[Any, Put], None]
"""Writes a value or a message."""

_FORMATS = {
    "int8": "b", "bool": "?", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
    "float64": "d",
}  # fmt: skip
_IMPLICIT = {"string": "", "bytes": b"", "uuid": None}
_NO_UUID = bytes(16)
_ONE_BYTE = tuple(bytes([value]) for value in range(0x80))
_NULL_ENTITY, _NULL_TAGGED_ENTITY, _ENTITY = b"\xff", b"\x00", b"\x01"
_NEVER_LEFT_OUT: Any = object()


@cached
def writer(schema: Schema) -> Write:
    """Return a writer for messages with the fields of the schema.

    The writer raises `struct.error` if a number does not fit its field, and `ProtocolError` if a field is null that
    must not be null.
    """
    plain = [field for field in dataclasses.fields(schema) if "tag" not in field.metadata]
    steps = _steps(schema, plain)
    if schema.__flexible__:
        steps.append(tags_writer(schema))
    return _sequence(steps)


def fields_writer(schema: Schema, fields: Sequence["dataclasses.Field[Any]"]) -> Write:
    """Return a writer for some consecutive fields of the messages, which are not tagged."""
    return _sequence(_steps(schema, fields))


def length_writer(schema: Schema) -> Write:
    """Return a writer for the length of an array in the messages, or for null."""
    length_of = _compact_length if schema.__flexible__ else struct.Struct(">i").pack
    null = b"\x00" if schema.__flexible__ else struct.pack(">i", -1)
    return lambda values, put: put(null if values is None else length_of(len(values)))  # type: ignore[return-value]


def _sequence(steps: Sequence[Write]) -> Write:
    if len(steps) == 1:
        return steps[0]

    def write(message: Any, put: Put) -> None:
        for step in steps:
            step(message, put)

    return write


def _steps(schema: Schema, fields: Sequence["dataclasses.Field[Any]"]) -> list[Write]:
    steps: list[Write] = []
    run: list[tuple[str, str]] = []
    for field in fields:
        if _is_number(field):
            run.append((field.name, _FORMATS[field.metadata["kafka_type"]]))
            continue
        steps += [_numbers(run)] if run else []
        run = []
        steps.append(_field(field, schema))
    return steps + ([_numbers(run)] if run else [])


def _is_number(field: "dataclasses.Field[Any]") -> bool:
    return field.metadata.get("kafka_type") in _FORMATS and get_origin(without_none(field.type)[0]) is not tuple


def _numbers(run: Sequence[tuple[str, str]]) -> Write:
    take = attrgetter(*(name for name, _ in run))
    pack = struct.Struct(">" + "".join(letter for _, letter in run)).pack
    if len(run) == 1:
        return lambda message, put: put(pack(take(message)))  # type: ignore[return-value]
    return lambda message, put: put(pack(*take(message)))  # type: ignore[return-value]


def _field(field: "dataclasses.Field[Any]", schema: Schema) -> Write:
    take, write = attrgetter(field.name), _value(field, schema)

    def write_field(message: Any, put: Put) -> None:
        write(take(message), put)

    return write_field


def _value(field: "dataclasses.Field[Any]", schema: Schema) -> Write:
    """Return a writer for the field's value. Tagged fields are left out instead of null, unless they are structures."""
    annotation, may_be_null = without_none(field.type)
    is_tagged = "tag" in field.metadata
    nullable = may_be_null and not is_tagged
    name = f"{schema.__name__}.{field.name}"
    if get_origin(annotation) is tuple:
        return _array(get_args(annotation)[0], field, schema)
    if dataclasses.is_dataclass(annotation):
        write = writer(annotation)  # type: ignore[arg-type]
        return _nullable_entity(write, is_tagged=is_tagged) if may_be_null else write
    return _scalar(field.metadata["kafka_type"], schema, null_name=None if nullable else name)


def _scalar(kafka_type: str, schema: Schema, *, null_name: str | None) -> Write:
    if kafka_type in _FORMATS:
        pack = struct.Struct(">" + _FORMATS[kafka_type]).pack
        return lambda value, put: put(pack(value))  # type: ignore[return-value]
    if kafka_type == "uuid":
        return lambda value, put: put(_NO_UUID if value is None else value.bytes)  # type: ignore[return-value]
    if schema.__flexible__:
        return _sized(_compact_length, b"\x00", null_name)
    length = struct.Struct(">h" if kafka_type == "string" else ">i")
    return _sized(length.pack, length.pack(-1), null_name)


def _sized(length_of: Callable[[int], bytes], null: bytes, null_name: str | None) -> Write:
    def write(value: Any, put: Put) -> None:
        if value is None:
            if null_name is not None:
                raise ProtocolError(f"{null_name} must not be null")
            put(null)
            return
        data = value.encode() if isinstance(value, str) else value
        put(length_of(len(data)))
        put(data)

    return write


def _array(annotation: Any, field: "dataclasses.Field[Any]", schema: Schema) -> Write:
    annotation, _ = without_none(annotation)
    put_length = length_writer(schema)
    kafka_type = field.metadata.get("kafka_type", "")
    if kafka_type in _FORMATS:
        return _number_array(_FORMATS[kafka_type], put_length)
    if dataclasses.is_dataclass(annotation):
        element = writer(annotation)  # type: ignore[arg-type]
    else:
        element = _scalar(kafka_type, schema, null_name=f"an element of {schema.__name__}.{field.name}")

    def write(values: Any, put: Put) -> None:
        put_length(values, put)
        for value in values or ():
            element(value, put)

    return write


def _number_array(letter: str, put_length: Write) -> Write:
    def write(values: Any, put: Put) -> None:
        put_length(values, put)
        put(struct.pack(f">{len(values or ())}{letter}", *values or ()))

    return write


def _nullable_entity(write_entity: Write, *, is_tagged: bool) -> Write:
    null = _NULL_TAGGED_ENTITY if is_tagged else _NULL_ENTITY

    def write(value: Any, put: Put) -> None:
        if value is None:
            put(null)
            return
        put(_ENTITY)
        write_entity(value, put)

    return write


def tags_writer(schema: Schema) -> Write:
    """Return a writer for the tagged fields of flexible messages."""
    fields = sorted((f for f in dataclasses.fields(schema) if "tag" in f.metadata), key=lambda f: f.metadata["tag"])
    known = [(attrgetter(f.name), _default(f), _uvarint(f.metadata["tag"]), _value(f, schema)) for f in fields]
    if not known:
        return lambda _message, put: put(b"\x00")  # type: ignore[return-value]

    def write(message: Any, put: Put) -> None:
        present = [(tag, write, take(message)) for take, default, tag, write in known if take(message) != default]
        put(_uvarint(len(present)))
        for tag, write, value in present:
            parts: list[bytes] = []
            write(value, parts.append)
            content = b"".join(parts)
            put(tag + _uvarint(len(content)) + content)

    return write


def _default(field: "dataclasses.Field[Any]") -> Any:
    """Return the value that is left out: the schema's default, or the type's zero value.

    Kafka writes a structure that may be null even if it is.
    """
    if is_nullable_structure(field):
        return _NEVER_LEFT_OUT
    if field.default is not dataclasses.MISSING:
        return field.default
    if dataclasses.is_dataclass(field.type):
        inner = dataclasses.fields(field.type)
        return field.type(**{f.name: _default(f) for f in inner})  # type: ignore[operator]
    return _IMPLICIT.get(field.metadata["kafka_type"], 0)


def _compact_length(length: int) -> bytes:
    return _uvarint(length + 1)


def _uvarint(value: int) -> bytes:
    if value < 0x80:
        return _ONE_BYTE[value]
    groups = []
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
