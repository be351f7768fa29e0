"""Arguments that name a topic and a number of partitions, or a partition and an offset."""

import re
from typing import Any, Final

import click
from attrs import frozen

__all__ = ["RECORD_BOUND", "TOPIC_AND_COUNT", "RecordBound", "TopicCount"]

_COUNT: Final = re.compile(r"[0-9]{1,9}")
_BOUND: Final = re.compile(r"(?P<topic>[^:=]+):(?P<partition>[0-9]{1,9})=(?P<offset>[0-9]{1,18}|latest)")


@frozen
class TopicCount:
    """A topic with a number of partitions.

    Attributes:
        topic: The topic.
        count: The number; None if it is not given.
    """

    topic: str
    count: int | None


@frozen
class RecordBound:
    """A place in a partition, before which records are deleted.

    Attributes:
        topic: The topic.
        partition: The partition.
        before: The offset of the first record that stays; None for the end of the partition.
    """

    topic: str
    partition: int
    before: int | None

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}"


class _TopicCountType(click.ParamType):  # type: ignore[type-arg] # not generic in older releases
    """Values such as `orders` and `orders:2`. A colon is not allowed in the name of a topic."""

    name = "topic"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> TopicCount:
        if isinstance(value, TopicCount):
            return value
        topic, colon, count = value.partition(":")
        if not colon and topic:
            return TopicCount(topic, None)
        if not (topic and _COUNT.fullmatch(count) and int(count)):
            self.fail(f"{value!r} is not of the form NAME:PARTITIONS, with 1 partition or more.", param, ctx)
        return TopicCount(topic, int(count))


class _RecordBoundType(click.ParamType):  # type: ignore[type-arg] # not generic in older releases
    """Values such as `orders:0=12` and `orders:0=latest`."""

    name = "topic:partition=offset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> RecordBound:
        if isinstance(value, RecordBound):
            return value
        found = _BOUND.fullmatch(value)
        if found is None:
            self.fail(f"{value!r} is not of the form TOPIC:PARTITION=OFFSET or TOPIC:PARTITION=latest.", param, ctx)
        before = None if found["offset"] == "latest" else int(found["offset"])
        return RecordBound(found["topic"], int(found["partition"]), before)


TOPIC_AND_COUNT: Final = _TopicCountType()
"""The type of arguments such as `orders:2`."""

RECORD_BOUND: Final = _RecordBoundType()
"""The type of arguments such as `orders:0=12`."""
