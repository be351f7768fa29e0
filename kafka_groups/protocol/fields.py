"""Marks that a message field can carry for its binding to the wire."""

from typing import TypeVar

import attrs

T = TypeVar("T")

_IGNORABLE = "kafka_groups.ignorable"


def ignorable(default: T) -> T:
    """A request field that may be left out, whatever its value, in a version that does not know it."""
    value: T = attrs.field(default=default, metadata={_IGNORABLE: True})
    return value


def is_ignorable(field: "attrs.Attribute[object]") -> bool:
    """Whether the field was declared with `ignorable`."""
    return bool(field.metadata.get(_IGNORABLE, False))
