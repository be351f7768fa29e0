"""Keys and values of stores as JSON, and keys as texts in an address."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import attrs

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import named, sentences
from kafka_groups.serdes import Serde

__all__ = ["json_text", "read_key", "read_number"]

_MOST_DIGITS = 20


def read_key(text: str, serde: Serde[Any], parameter: str) -> Any:
    """Return a key of a store: the text itself if its keys are texts, base64 for bytes, and JSON for all others.

    Args:
        text: What the address has.
        serde: The serde of the store's keys.
        parameter: The name of the parameter.

    Raises:
        ConfigurationError: It is not of that form, or the serde does not take it.
    """
    try:
        key = _decoded(text, serde)
        serde.serializer("", is_key=True)(key, [])
    except Exception as error:  # a serde may be the user's, and raise anything about a key that does not fit
        what = f"{parameter}={text[:200]!r} is not a key of this store: {named(error)}"
        remedy = "Write texts as they are, bytes in base64, and all other keys as JSON, such as 7"
        raise ConfigurationError(sentences(what, remedy)) from error
    return key


def _decoded(text: str, serde: Serde[Any]) -> Any:
    if serde is serdes.string:
        return text
    return base64.b64decode(text, validate=True) if serde is serdes.bytes_ else json.loads(text)


def read_number(text: str, parameter: str) -> int:
    """Return a whole number.

    Raises:
        ConfigurationError: It is none, or has more digits than any time.
    """
    if len(text) > _MOST_DIGITS or not text.removeprefix("-").isdecimal():
        raise ConfigurationError(f"{parameter}={text[:200]!r} is not a whole number, such as 1767225600000.")
    return int(text)


def json_text(found: object) -> bytes:
    """Return something as JSON. Bytes are in base64, and attrs objects are objects.

    Raises:
        TypeError: It has a value that JSON cannot show.
    """
    try:
        return json.dumps(found, default=_shown, allow_nan=False, ensure_ascii=False).encode()
    except ValueError as error:  # not a number, an infinity, half of a surrogate pair, or a value that contains itself
        raise TypeError(f"a value has no form in JSON: {error}") from error


def _shown(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    kind = type(value)
    if attrs.has(kind):
        return {each.name: getattr(value, each.name) for each in attrs.fields(kind)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {kind.__name__} has no form in JSON")
