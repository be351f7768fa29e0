"""The targets of a reset, from which a group continues: as callers write them, and as values."""

from collections.abc import Mapping
from datetime import datetime

from attrs import frozen

from kafka_groups.admin.rules.arguments import checked_offsets, checked_place
from kafka_groups.config.places import is_offset
from kafka_groups.errors import ConfigurationError
from kafka_groups.types import TopicPartition

__all__ = ["AtCommitted", "AtOffset", "AtOffsets", "AtTime", "ResetTarget", "ShiftedBy", "checked_target"]

_CURRENT = "current"


@frozen
class AtTime:
    """At the first record at or after a time: milliseconds since the epoch, or `EARLIEST` or `LATEST`."""

    timestamp: int


@frozen
class AtOffset:
    """At the same offset in each partition."""

    offset: int


@frozen
class AtOffsets:
    """At an offset of its own in each partition."""

    offsets: Mapping[TopicPartition, int]


@frozen
class AtCommitted:
    """The group's committed offset; the end of a partition without one."""


@frozen
class ShiftedBy:
    """A number of records after the group's current offset, or before it if the number is negative."""

    by: int


ResetTarget = AtTime | AtOffset | AtOffsets | AtCommitted | ShiftedBy


def checked_target(to: object, shift_by: object) -> ResetTarget:
    """Return where a group continues.

    Raises:
        ConfigurationError: None or both of the two are given, or a value is not a place in a partition.
    """
    if (to is None) == (shift_by is None):
        raise ConfigurationError(f"to={to!r}, shift_by={shift_by!r}: give exactly one of the two")
    return _checked_place(to) if shift_by is None else ShiftedBy(_checked_shift(shift_by))


def _checked_shift(by: object) -> int:
    if isinstance(by, bool) or not isinstance(by, int) or not is_offset(abs(by)):
        raise ConfigurationError(f"shift_by={by!r} is not a number of records: give one such as -5")
    return by


def _checked_place(to: object) -> ResetTarget:
    if isinstance(to, Mapping):
        return AtOffsets(checked_offsets(to))
    if isinstance(to, int) and not isinstance(to, bool):
        return AtOffset(_checked_offset(to))
    if isinstance(to, str) and to == _CURRENT:
        return AtCommitted()
    if not isinstance(to, str | datetime):
        raise ConfigurationError(
            f"to={to!r}: give 'earliest', 'latest', 'current', a datetime, an offset or a dictionary of offsets"
        )
    return AtTime(checked_place(to))


def _checked_offset(offset: int) -> int:
    if not is_offset(offset):
        raise ConfigurationError(f"to={offset!r} is not an offset: give a number, 0 or more")
    return offset
