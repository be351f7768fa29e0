"""`consume --from`: where reading begins in each partition."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from attrs import frozen

from kafka_groups.cli.times import time_of
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST, offsets_at, offsets_at_or_ends
from kafka_groups.client.calls.questions import Asking
from kafka_groups.errors import OffsetOutOfRangeError
from kafka_groups.types import TopicPartition

__all__ = ["READING_START", "PartitionBounds", "ReadingStart", "bounds_of"]

_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_FORMS: Final = "Give earliest, latest, an offset, -N for the last N, or a time such as 2026-01-31T12:00:00."
_MS: Final = 1_000

PartitionBounds = Mapping[TopicPartition, tuple[int, int]]
"""The first offset to read, and the end of the log when it was asked for."""


@frozen
class ReadingStart:
    """The place where reading begins.

    Attributes:
        at: `earliest`, `latest`, an offset, or a negative number for so many offsets before the end.
        time_ms: A time in milliseconds since 1970, in place of the others.
    """

    at: str | int
    time_ms: int | None = None

    @classmethod
    def parse(cls, text: str) -> "ReadingStart":
        """Return the start that a text says.

        Raises:
            ValueError: It has none of the forms.
        """
        if text in ("earliest", "latest"):
            return cls(text)
        if _NUMBER.fullmatch(text):
            return cls(int(text) if text != "-0" else "latest")
        try:
            return cls("", round(time_of(text).timestamp() * _MS))
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{text!r} is not a place to begin. {_FORMS}") from error


class _StartType(click.ParamType):  # type: ignore[type-arg] # not generic in older releases
    """The value of `--from`."""

    name = "start"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ReadingStart:
        if isinstance(value, ReadingStart):
            return value
        try:
            return ReadingStart.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


READING_START: Final = _StartType()
"""The type of the option."""


async def bounds_of(
    ask: Asking, partitions: Sequence[TopicPartition], start: ReadingStart, *, committed: bool
) -> PartitionBounds:
    """Return the bounds of partitions.

    Args:
        ask: Asks the brokers.
        partitions: The partitions.
        start: Where to begin.
        committed: Whether an open transaction ends a partition.

    Raises:
        OffsetOutOfRangeError: A partition ends before the offset.
        KafkaGroupsError: The brokers do not tell.
    """
    begins = (await offsets_at(ask, partitions, EARLIEST)).checked().values
    ends = (await offsets_at(ask, partitions, LATEST, committed=committed)).checked().values
    if start.time_ms is None:
        starts = {place: _start(start.at, place, begins[place], ends[place]) for place in partitions}
    else:
        starts = dict((await offsets_at_or_ends(ask, partitions, start.time_ms)).checked().values)
    return {place: (starts[place], ends[place]) for place in partitions}


def _start(at: str | int, place: TopicPartition, begin: int, end: int) -> int:
    if at == "latest":
        return end
    if isinstance(at, str):
        return begin
    if at < 0:
        return max(end + at, begin)
    if at > end:
        raise OffsetOutOfRangeError(f"{place} has the offsets {begin} to {end}, and {at} is behind its end.")
    return max(at, begin)
