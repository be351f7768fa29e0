"""Markers on message fields for the binding."""

from typing import TypeVar

import attrs

T = TypeVar("T")

_IGNORABLE = "kafka_groups.ignorable"


def ignorable(default: T) -> T:
    """Declare a request field that is left out, regardless of its value, in versions that do not have it."""
    value: T = attrs.field(default=default, metadata={_IGNORABLE: True})
    return value


def is_ignorable(field: "attrs.Attribute[object]") -> bool:
    """Return whether a field was declared with `ignorable`."""
    return bool(field.metadata.get(_IGNORABLE, False))
