"""Types of values, as serdes see them: classes to check values with, and whether values can change."""

import dataclasses
import datetime
import decimal
import enum
import types
import typing
import uuid
from typing import Any

import attrs

__all__ = ["classes_of", "is_immutable_type", "listed", "shown_type"]

_ATOMS = (
    str, int, float, complex, bytes, type(None), enum.Enum, uuid.UUID, decimal.Decimal,
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
)  # fmt: skip
"""Classes of values that cannot change; `bool` is an `int`, and `datetime` is a `date`."""

_UNIONS = (typing.Union, types.UnionType)


def shown_type(of: object) -> str:
    """Return the name of a type for errors: `Order`, `list[int]`."""
    return of.__name__ if isinstance(of, type) and typing.get_origin(of) is None else str(of).replace("typing.", "")


def listed(classes: tuple[type, ...]) -> str:
    """Return the names of classes for errors: `int or str`."""
    return " or ".join(each.__name__ for each in classes)


def classes_of(of: Any) -> tuple[type, ...]:
    """Return the classes that a value of a type is an instance of, without what is inside of it.

    A type that says nothing about it, such as `Any` or a protocol, gives `object`.
    """
    if isinstance(of, typing.NewType):
        return classes_of(of.__supertype__)
    origin = typing.get_origin(of)
    if origin in _UNIONS:
        return tuple(each for member in typing.get_args(of) for each in classes_of(member))
    if origin is typing.Annotated:
        return classes_of(typing.get_args(of)[0])
    if typing.is_typeddict(of):
        return (dict,)
    if of is float:
        return (float, int)
    found = origin or of
    says_nothing = found is Any or getattr(found, "_is_protocol", False) or not isinstance(found, type)
    return (object,) if says_nothing else (found,)


def is_immutable_type(of: Any, above: frozenset[Any] = frozenset()) -> bool:
    """Return True if no value of a type can change, nor anything inside of it.

    Args:
        of: The type.
        above: The classes that have a field of this type, so that a class may contain itself.
    """
    if of in above:
        return True
    if isinstance(of, typing.NewType):
        return is_immutable_type(of.__supertype__, above)
    origin, inner = typing.get_origin(of), typing.get_args(of)
    if origin is typing.Literal:
        return True
    if origin is typing.Annotated:
        return is_immutable_type(inner[0], above)
    if origin in (*_UNIONS, tuple, frozenset):
        return all(each is Ellipsis or is_immutable_type(each, above) for each in inner)
    if not isinstance(of, type) or origin is not None:
        return of is None
    if issubclass(of, _ATOMS):
        return True
    return _is_frozen(of) and all(is_immutable_type(each, above | {of}) for each in _field_types(of))


def _field_types(of: type) -> list[Any]:
    """Return the types of a class's fields; `object` for one whose type is not known."""
    described: Any = of
    if _is_model(of):
        return [field.annotation for field in described.model_fields.values()]
    try:
        hints = typing.get_type_hints(of, include_extras=True)
    except NameError:  # a class made in a function, with a name that only the function knows
        return [object]
    if attrs.has(of):
        return [hints.get(field.name, object) for field in attrs.fields(of)]
    return [hint for hint in hints.values() if typing.get_origin(hint) is not typing.ClassVar]


def _is_frozen(of: type) -> bool:
    """Return True if the fields of a class cannot be assigned: dataclass, attrs, msgspec, pydantic, NamedTuple."""
    if attrs.has(of):
        return _is_frozen_attrs(of)
    described: Any = of
    if dataclasses.is_dataclass(of):
        return bool(described.__dataclass_params__.frozen)
    if hasattr(of, "__struct_config__"):
        return bool(described.__struct_config__.frozen)
    if _is_model(of):
        config = described.model_config
        return bool(config.get("frozen")) and config.get("extra") != "allow" and not described.__private_attributes__
    return issubclass(of, tuple) and hasattr(of, "_fields")


def _is_model(of: type) -> bool:
    """Return True for a pydantic model."""
    return hasattr(of, "model_fields") and hasattr(of, "model_config")


def _is_frozen_attrs(of: type) -> bool:
    """Try it: attrs has no question for it in the oldest release that this package allows."""
    probe: object = object.__new__(of)
    for each in attrs.fields(of):
        try:
            setattr(probe, each.name, None)
        except attrs.exceptions.FrozenError:
            continue
        except Exception:
            # Of a validator or a `__setattr__` of the user's: the attribute can be set, so the class is not frozen.
            return False
        return False
    return True
