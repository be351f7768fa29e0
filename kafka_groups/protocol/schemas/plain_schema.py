"""kio's wire schemas, with special value types replaced by plain integers.

kio decodes error codes into an enumeration (and fails on unknown numbers), and times into `timedelta` and `datetime`. A
*plain schema* is the same dataclass with those fields declared as integers and with our names (names of times end in
`_ms`), so that kio's own reader and writer do the rest.
"""

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from kafka_groups.protocol.memo import cached

__all__ = ["Schema", "is_nullable_structure", "plain_schema", "without_none"]

Schema = type[Any]
"""A dataclass like kio's: `fields()` in wire order, with `kafka_type` and `tag` in their metadata."""

_TIMES: Mapping[str, str] = {"timedelta_i32": "int32", "timedelta_i64": "int64", "datetime_i64": "int64"}
_PLAIN: Mapping[str, str] = {**_TIMES, "error_code": "int16"}
_CLASS_ATTRIBUTES = ("__type__", "__version__", "__flexible__", "__api_key__", "__header_schema__")


@cached
def plain_schema(schema: Schema) -> Schema:
    """Convert a schema to plain integers for error codes and times, and our names for its fields."""
    namespace = {name: getattr(schema, name) for name in _CLASS_ATTRIBUTES if hasattr(schema, name)}
    namespace |= {"__eq__": _equal_by_fields, "__hash__": object.__hash__}
    fields = [_plain_field(field) for field in dataclasses.fields(schema)]
    return dataclasses.make_dataclass(schema.__name__, fields, kw_only=True, slots=True, eq=False, namespace=namespace)


def without_none(annotation: Any) -> tuple[Any, bool]:
    """Return the annotation without null, and whether the value may be null."""
    if get_origin(annotation) is types.UnionType:
        return next(part for part in get_args(annotation) if part is not types.NoneType), True
    return annotation, False


def is_nullable_structure(field: "dataclasses.Field[Any]") -> bool:
    """Return whether a field is a tagged structure that may be null. Kafka writes such a field even if it is null."""
    annotation, may_be_null = without_none(field.type)
    return may_be_null and "tag" in field.metadata and dataclasses.is_dataclass(annotation)


def _equal_by_fields(self: Any, other: object) -> bool:
    # kio leaves out a tagged field that equals its default. Our messages are other classes with the same fields.
    names = [field.name for field in dataclasses.fields(self)]
    missing = object()
    return all(getattr(self, name) == getattr(other, name, missing) for name in names)


def _plain_field(field: "dataclasses.Field[Any]") -> tuple[str, Any, Any]:
    kafka_type = field.metadata.get("kafka_type", "")
    metadata = dict(field.metadata)
    if kafka_type in _PLAIN:
        metadata["kafka_type"] = _PLAIN[kafka_type]
    default = _plain_default(field.default, kafka_type)
    name = f"{field.name}_ms" if kafka_type in _TIMES and not field.name.endswith("_ms") else field.name
    annotation = int if kafka_type in _PLAIN else _plain_annotation(field.type)
    return name, annotation, dataclasses.field(default=default, metadata=metadata)


def _plain_default(default: Any, kafka_type: str) -> Any:
    if default is dataclasses.MISSING:
        return default
    if kafka_type == "error_code":
        return int(default)
    if kafka_type in _TIMES:
        return -1 if default is None else round(default.total_seconds() * 1000)
    if dataclasses.is_dataclass(default):
        return plain_schema(type(default))(**{f.name: getattr(default, f.name) for f in dataclasses.fields(default)})
    return default


def _plain_annotation(annotation: Any) -> Any:
    if dataclasses.is_dataclass(annotation):
        return plain_schema(annotation)  # type: ignore[arg-type]
    if get_origin(annotation) is tuple:
        return tuple.__class_getitem__((_plain_annotation(get_args(annotation)[0]), ...))
    if get_origin(annotation) is types.UnionType:
        inner = next(part for part in get_args(annotation) if part is not types.NoneType)
        return _plain_annotation(inner) | None
    return annotation
