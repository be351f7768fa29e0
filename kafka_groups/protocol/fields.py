"""Types of numbers on the wire, and markers on fields, for the binding and for derived schemas."""

from typing import Annotated, TypeVar

import attrs

__all__ = [
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "UInt16",
    "WireField",
    "ignorable",
    "is_ignorable",
    "wire_field",
    "wire_field_of",
]

T = TypeVar("T")

Int8 = Annotated[int, "int8"]
Int16 = Annotated[int, "int16"]
UInt16 = Annotated[int, "uint16"]
Int32 = Annotated[int, "int32"]
Int64 = Annotated[int, "int64"]

_IGNORABLE = "kafka_groups.ignorable"
_WIRE_FIELD = "kafka_groups.wire_field"


@attrs.frozen
class WireField:
    """The versions that have a field, and its tag in flexible ones.

    Attributes:
        since: The first version.
        until: The last version, or None if all later ones have it.
        tag: The tag, or None if the field is not tagged.
    """

    since: int = 0
    until: int | None = None
    tag: int | None = None

    def is_in(self, version: int) -> bool:
        """Return whether a version has the field."""
        return self.since <= version and (self.until is None or version <= self.until)


def ignorable(default: T) -> T:
    """Declare a request field that is left out, regardless of its value, in versions that do not have it."""
    value: T = attrs.field(default=default, metadata={_IGNORABLE: True})
    return value


def is_ignorable(field: "attrs.Attribute[object]") -> bool:
    """Return whether a field was declared with `ignorable`."""
    return bool(field.metadata.get(_IGNORABLE, False))


def wire_field(default: T, *, since: int = 0, until: int | None = None, tag: int | None = None) -> T:
    """Declare a field that has a tag or is not in every version. See `WireField`.

    A tagged field is left out if it has its default. Versions without the field are read with the default.
    """
    value: T = attrs.field(default=default, metadata={_WIRE_FIELD: WireField(since, until, tag)})
    return value


def wire_field_of(field: "attrs.Attribute[object]") -> WireField:
    """Return the tag and the versions of a field. One that was not declared with `wire_field` is in every version."""
    declared: WireField = field.metadata.get(_WIRE_FIELD, WireField())
    return declared
