"""Derive schemas from the annotated fields of our classes, in wire order.

Strings, bytes, ids and booleans have one form on the wire. Numbers say theirs with a type of `protocol/fields.py`, and
`wire_field` declares tags and the versions of a field.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, get_args, get_origin, get_type_hints
from uuid import UUID

import attrs

from kafka_groups.protocol.fields import wire_field_of
from kafka_groups.protocol.memo import cached
from kafka_groups.protocol.schemas.declarations import (
    BOOLEAN,
    BYTES,
    STRING,
    UUID_,
    FieldType,
    array_of,
    fixed,
    flexible,
    nullable,
    tagged,
)
from kafka_groups.protocol.schemas.plain_schema import Schema, without_none

__all__ = ["derived_schema"]

_SCALARS: Mapping[Any, FieldType] = MappingProxyType({bool: BOOLEAN, str: STRING, bytes: BYTES, UUID: UUID_})


@cached
def derived_schema(of: type[Any], version: int = 0, *, is_flexible: bool = True, without: str | None = None) -> Schema:
    """Return the schema of a class in one version, without one of its fields if that is given."""
    hints = get_type_hints(of, include_extras=True)
    fields: dict[str, FieldType] = {}
    for field in attrs.fields(of):
        declared = wire_field_of(field)
        if declared.is_in(version) and field.name != without:
            known = _type_of(hints[field.name], version, is_flexible=is_flexible)
            fields[field.name] = known if declared.tag is None else tagged(declared.tag, known, default=field.default)
    declare = flexible if is_flexible else fixed
    return declare(of.__name__, version, **fields)


def _type_of(annotation: Any, version: int, *, is_flexible: bool) -> FieldType:
    present, may_be_null = without_none(annotation)
    if get_origin(present) is tuple:
        known = array_of(_type_of(get_args(present)[0], version, is_flexible=is_flexible))
    elif get_origin(present) is Annotated:
        known = FieldType(*get_args(present))
    elif present in _SCALARS:
        known = _SCALARS[present]
    else:
        known = FieldType(derived_schema(present, version, is_flexible=is_flexible))
    return nullable(known) if may_be_null else known
