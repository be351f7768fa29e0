"""`Worker(start=)`: where a share group begins in partitions that it has not read yet."""

from datetime import UTC, datetime, timedelta
from shlex import quote
from typing import Literal

from attrs import frozen

from kafka_groups.config.readers import BY_DURATION
from kafka_groups.errors import ConfigurationError

__all__ = ["EARLIEST", "RESET", "GroupStart", "Start", "checked_start"]

Start = Literal["earliest", "latest"] | timedelta
"""A group begins at the oldest record, at the end, or with the records of the last hour, for example."""

EARLIEST = "earliest"
RESET = "share.auto.offset.reset"
_LONGEST_DAYS = 36_500
_MILLISECOND = timedelta(milliseconds=1)


@frozen
class GroupStart:
    """The start of a group, as somebody declared it.

    Attributes:
        group_id: The share group.
        reset: The value of its `share.auto.offset.reset`.
        declared: What asks for it, at the beginning of error messages, such as `start='earliest'`.
    """

    group_id: str
    reset: str
    declared: str

    @property
    def command(self) -> str:
        """The command that sets it."""
        return f"kafka-groups groups configs {quote(self.group_id)} --set {RESET}={self.reset}"


def checked_start(start: object, group_id: str) -> GroupStart | None:
    """Return the start of a worker's group; None if the worker leaves it to the group.

    Raises:
        ConfigurationError: It is not one of the three forms.
    """
    if start is None:
        return None
    if isinstance(start, timedelta):
        return GroupStart(group_id, BY_DURATION + _iso_duration(_checked_duration(start)), f"start={start!r}")
    if start in (EARLIEST, "latest"):
        return GroupStart(group_id, str(start), f"start={start!r}")
    if isinstance(start, datetime):
        raise ConfigurationError(
            f"start={start!r}: a share group cannot begin at a point in time. Give a timedelta, such as"
            " timedelta(hours=1), or stop the group's members and set its offsets: kafka-groups offsets reset"
            f" {quote(group_id)} --to-datetime {_iso_time(start)} --topic TOPIC --execute"
        )
    raise ConfigurationError(f"start={start!r}: give 'earliest', 'latest' or a timedelta, such as timedelta(hours=1)")


def _iso_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _checked_duration(start: timedelta) -> timedelta:
    if start < _MILLISECOND:
        raise ConfigurationError(f"start={start!r}: give a timedelta of a millisecond or more, or 'latest'")
    if start > timedelta(days=_LONGEST_DAYS):
        raise ConfigurationError(f"start={start!r}: give a timedelta of {_LONGEST_DAYS} days at most, or 'earliest'")
    return start


def _iso_duration(duration: timedelta) -> str:
    """Return a duration as Kafka reads it (ISO 8601), rounded to milliseconds: `PT1H` for an hour, `P2DT0.5S`."""
    seconds, ms = divmod(round(duration / _MILLISECOND), 1_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    fraction = f".{ms:03}".rstrip("0") if ms else ""
    time = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M")) if count)
    time += f"{seconds}{fraction}S" if seconds or ms else ""
    return f"P{f'{days}D' if days else ''}{f'T{time}' if time else ''}"
