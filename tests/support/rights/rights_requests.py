"""Requests that are written down as fields with names, and the errors in their responses."""

import base64
import enum
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import attrs

from kafka_groups.protocol.apis import APIS
from kafka_groups.protocol.error_codes import ErrorCode
from tests.support.rights.recorded_rights import ErrorFound

__all__ = ["errors_in", "request_of"]

_BY_CLASS = {api.request_class.__name__: api.request_class for api in APIS.values()}
_WITH_SESSIONS = "session=org.apache.kafka"
"""A part of Kafka's texts that print the request, such as `Request Request(...) needs ALTER permission.`."""
_EMPTY: Mapping[Any, Any] = {str: "", int: 0, bool: False, bytes: b""}


def request_of(api: str, fields: Mapping[str, Any], placeholders: Mapping[str, object]) -> Any:
    """Return our request of an API. Texts such as `<id of orders>` stand for what the placeholders say."""
    return _message(_BY_CLASS[f"{api}Request"], fields, placeholders)


def _message(cls: type[Any], fields: Mapping[str, Any], placeholders: Mapping[str, object]) -> Any:
    hints = get_type_hints(cls)
    given = {name: _value(hints[name], value, placeholders) for name, value in fields.items()}
    for field in attrs.fields(cls):
        if field.name not in given and field.default is attrs.NOTHING:
            given[field.name] = _empty(hints[field.name])
    return cls(**given)


def _empty(hint: Any) -> Any:
    return () if get_origin(hint) is tuple else _EMPTY[_plain(hint)]


def _plain(hint: Any) -> Any:
    """Return the class of a value that may be null or has a range of numbers."""
    if get_origin(hint) in (Union, types.UnionType):
        return next(each for each in get_args(hint) if each is not type(None))
    return hint


def _value(hint: Any, value: Any, placeholders: Mapping[str, object]) -> Any:
    if isinstance(value, str) and value.startswith("<"):
        return placeholders[value]
    hint = _plain(hint)
    if isinstance(value, list):
        return tuple(_value(get_args(hint)[0], each, placeholders) for each in value)
    if isinstance(value, dict):
        if "base64" in value:
            return base64.b64decode(value["base64"])
        return _message(hint, value, placeholders)
    return value


def errors_in(response: Any, ids: Sequence[str]) -> tuple[ErrorFound, ...]:
    """Return codes and texts of errors with their places. Texts with ids or connections are left out."""
    left_out = (*ids, _WITH_SESSIONS)
    found = dict.fromkeys(_errors(response, ""))
    return tuple((place, text) for place, text in found if not any(each in text for each in left_out))


def _errors(message: Any, path: str) -> Iterator[ErrorFound]:
    for field in attrs.fields(type(message)):
        value, place = getattr(message, field.name), f"{path}{field.name}"
        if field.name.endswith("error_code") and value:
            yield place, ErrorCode(value).name
        elif field.name.endswith("error_message") and value:
            yield place, value
        elif isinstance(value, tuple):
            for each in value:
                if attrs.has(type(each)):
                    yield from _errors(each, f"{place}[].")
        elif attrs.has(type(value)) and not isinstance(value, UUID | enum.Enum):
            yield from _errors(value, f"{place}.")
