"""Declare schemas that kio lacks, in the form that kio's reader and our writers expect.

A schema is declared with one line for each field, in wire order and with our names (names of times end in `_ms`).
"""

import dataclasses
import enum
from typing import Any
from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.protocol.schemas.plain_schema import Schema

__all__ = [
    "BOOLEAN",
    "BYTES",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "NULLABLE_STRING",
    "STRING",
    "UUID_",
    "FieldType",
    "array_of",
    "fixed",
    "flexible",
    "nullable",
    "request",
    "response",
    "tagged",
]


@frozen
class FieldType:
    """The type of a field.

    Attributes:
        annotation: The Python type, or the schema of a structure.
        kafka_type: Kafka's name of a scalar type, also for the elements of an array.
        tag: The tag of a tagged field.
        default: The value of a tagged field that is left out.
    """

    annotation: Any
    kafka_type: str | None = None
    tag: int | None = None
    default: Any = dataclasses.MISSING


BOOLEAN = FieldType(bool, "bool")
INT8 = FieldType(int, "int8")
INT16 = FieldType(int, "int16")
INT32 = FieldType(int, "int32")
INT64 = FieldType(int, "int64")
STRING = FieldType(str, "string")
BYTES = FieldType(bytes, "bytes")
NULLABLE_STRING = FieldType(str | None, "string")
UUID_ = FieldType(UUID | None, "uuid")


def array_of(element: FieldType | Schema) -> FieldType:
    """Return the type of an array of scalars or structures."""
    if isinstance(element, FieldType):
        return evolve(element, annotation=_tuple_of(element.annotation))
    return FieldType(_tuple_of(element))


def nullable(field_type: FieldType | Schema) -> FieldType:
    """Return the type of a field that may be null: a structure or an array."""
    known = field_type if isinstance(field_type, FieldType) else FieldType(field_type)
    return evolve(known, annotation=known.annotation | None)


def tagged(tag: int, field_type: FieldType, *, default: object) -> FieldType:
    """Return the type of a tagged field, which is left out if it has its default."""
    return evolve(field_type, tag=tag, default=default)


def flexible(name: str, version: int = 0, /, **fields: FieldType) -> Schema:
    """Declare the schema of a flexible version (KIP-482): compact lengths, and tagged fields at the end."""
    return _declare(name, fields, __version__=version, __flexible__=True)


def fixed(name: str, version: int = 0, /, **fields: FieldType) -> Schema:
    """Declare the schema of a version that is not flexible."""
    return _declare(name, fields, __version__=version, __flexible__=False)


class _EntityType(enum.Enum):
    """The kinds of schemas, by kio's names. Declaring a schema must not load kio: an idle broker does not need it."""

    request = enum.auto()
    response = enum.auto()
    data = enum.auto()


def request(name: str, version: int, /, **fields: FieldType) -> Schema:
    """Declare the schema of a request, in a flexible version."""
    return _declare(name, fields, __type__=_EntityType.request, __version__=version, __flexible__=True)


def response(name: str, version: int, /, **fields: FieldType) -> Schema:
    """Declare the schema of a response, in a flexible version."""
    return _declare(name, fields, __type__=_EntityType.response, __version__=version, __flexible__=True)


def _declare(name: str, fields: dict[str, FieldType], **attributes: object) -> Schema:
    return dataclasses.make_dataclass(
        name,
        [(field_name, field_type.annotation, _field(field_type)) for field_name, field_type in fields.items()],
        kw_only=True,
        slots=True,
        eq=False,
        namespace={"__type__": _EntityType.data, **attributes},
    )


def _field(field_type: FieldType) -> Any:
    metadata = {"kafka_type": field_type.kafka_type, "tag": field_type.tag}
    present = {name: value for name, value in metadata.items() if value is not None}
    return dataclasses.field(default=field_type.default, metadata=present)


def _tuple_of(annotation: Any) -> Any:
    return tuple.__class_getitem__((annotation, ...))
