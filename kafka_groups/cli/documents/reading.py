"""Read JSON of other programs of this package into classes of documents, and refuse what does not fit."""

import types
from collections.abc import Mapping
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs

__all__ = ["UnfitDocumentError", "read_document"]

T = TypeVar("T")

_LARGEST: Final = 2**63
_PLAIN: Final = (str, bool, type(None))


class UnfitDocumentError(Exception):
    """JSON does not have the fields of a class of documents."""


def read_document(kind: type[T], given: object, name: str = "the document") -> T:
    """Return an object of a class of documents, given what a JSON parser has returned.

    Fields that the class does not have are ignored, as newer releases add some. Fields with a default may be missing.

    Raises:
        UnfitDocumentError: A field is missing or has another type. The text has no values.
    """
    if not isinstance(given, Mapping):
        raise UnfitDocumentError(f"{name} is not an object")
    hints, values = get_type_hints(kind), {}
    described: Any = kind
    for field in attrs.fields(described):
        if field.name in given:
            values[field.name] = _read(hints[field.name], given[field.name], f"{field.name} of {name}")
        elif field.default is attrs.NOTHING:
            raise UnfitDocumentError(f"{name} has no {field.name}")
    return kind(**values)


def _read(kind: Any, given: object, name: str) -> Any:
    if kind in _PLAIN:
        return _checked(given, name, fits=type(given) is kind)
    if kind is int:
        return _checked(given, name, fits=type(given) is int and abs(given) < _LARGEST)
    if kind is float:
        return float(_checked(given, name, fits=type(given) is float or (type(given) is int and abs(given) < _LARGEST)))
    if get_origin(kind) in (Union, types.UnionType):
        return _read_optional(kind, given, name)
    if get_origin(kind) is tuple:
        items = _checked(given, name, fits=isinstance(given, list))
        return tuple(_read(get_args(kind)[0], each, name) for each in items)
    return read_document(kind, given, name)


def _read_optional(kind: Any, given: object, name: str) -> Any:
    (other,) = (each for each in get_args(kind) if each is not type(None))
    return None if given is None else _read(other, given, name)


def _checked(given: Any, name: str, *, fits: bool) -> Any:
    if not fits:
        raise UnfitDocumentError(f"{name} has another type")
    return given
