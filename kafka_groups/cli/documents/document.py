"""JSON of commands: a document of items and errors, or an object a line. Schemas are generated from their classes."""

import inspect
import json
import re
import types
from collections.abc import Mapping, Sequence
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

__all__ = [
    "BytesEntry",
    "ErrorEntry",
    "JsonBytes",
    "document_text",
    "json_bytes",
    "line_schema_of",
    "line_text",
    "schema_of",
]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_PLAIN: Final[Mapping[Any, str]] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


@frozen
class ErrorEntry:
    """An error.

    Attributes:
        resource: What it is about, such as a topic or a record.
        code: Kafka's name of the error, or null.
        message: What happened.
        remedy: What to do, or null if the message says it.
    """

    resource: str
    code: str | None
    message: str
    remedy: str | None


@frozen
class BytesEntry:
    """Bytes that are not UTF-8.

    Attributes:
        base64: The bytes, in base64.
    """

    base64: str


JsonBytes = str | BytesEntry | None
"""Bytes of a record: text if they are UTF-8."""


def json_bytes(data: bytes | None) -> JsonBytes:
    """Return bytes of a record as documents have them."""
    from kafka_groups.serdes.json_values import bytes_to_json  # noqa: PLC0415 - help texts need no serdes

    shown = None if data is None else bytes_to_json(data)
    return BytesEntry(**shown) if isinstance(shown, dict) else shown


def document_text(items: Sequence[Any], errors: Sequence[ErrorEntry]) -> str:
    """Return a document as text. The items are objects of one class of documents."""
    document = {"items": [attrs.asdict(each) for each in items], "errors": [attrs.asdict(each) for each in errors]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def line_text(line: Any) -> str:
    """Return an object of a class of documents as one line."""
    return json.dumps(attrs.asdict(line))


# ------------------------------------------------------------------------------------------------ schemas


def schema_of(item: type[Any]) -> dict[str, Any]:
    """Return the JSON schema of the documents whose items are objects of a class."""
    properties = {"items": _list_of(_schema(item)), "errors": _list_of(_schema(ErrorEntry))}
    return {
        "$schema": _DIALECT,
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def line_schema_of(line: type[Any]) -> dict[str, Any]:
    """Return the JSON schema of lines that are objects of a class."""
    return {"$schema": _DIALECT, **_schema(line)}


def _list_of(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}


def _schema(kind: Any) -> dict[str, Any]:
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if get_origin(kind) in (Union, types.UnionType):
        return _any_of([_schema(each) for each in get_args(kind)])
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind))
    if get_origin(kind) is Mapping:
        return {"type": "object", "additionalProperties": _schema(get_args(kind)[1])}
    return _object(kind)


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    if all(each.keys() == {"type"} for each in schemas):
        return {"type": [each["type"] for each in schemas]}
    return {"anyOf": schemas}


def _tuple(kinds: tuple[Any, ...]) -> dict[str, Any]:
    if kinds[-1] is Ellipsis:
        return _list_of(_schema(kinds[0]))
    return {
        "type": "array",
        "prefixItems": [_schema(each) for each in kinds],
        "minItems": len(kinds),
        "maxItems": len(kinds),
    }


def _object(kind: type[Any]) -> dict[str, Any]:
    hints, told = get_type_hints(kind), _descriptions(kind)
    properties = {
        field.name: {"description": told[field.name], **_schema(hints[field.name])} for field in attrs.fields(kind)
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _descriptions(kind: type[Any]) -> Mapping[str, str]:
    """Return the descriptions of attributes in a docstring, those of the classes above included."""
    texts = [inspect.cleandoc(each.__doc__ or "") for each in reversed(kind.__mro__)]
    return {name: " ".join(text.split()) for each in texts for name, text in _ATTRIBUTE.findall(each)}
