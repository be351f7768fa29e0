"""Arguments and options of several commands about transactions."""

from typing import Any, Final

import click

from kafka_groups.types import TopicPartition

__all__ = ["PLACE", "milliseconds"]


class _PartitionType(click.ParamType):  # type: ignore[type-arg] # not generic in older releases
    """A partition, such as `orders:0`. A colon is not allowed in the name of a topic."""

    name = "topic:partition"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> TopicPartition:
        """Return the partition."""
        if isinstance(value, TopicPartition):
            return value
        topic, _, number = value.partition(":")
        if not (topic and number.isascii() and number.isdigit()):
            self.fail(f"{value!r} is not of the form TOPIC:PARTITION, such as orders:0.", param, ctx)
        return TopicPartition(topic, int(number))


PLACE: Final = _PartitionType()


def milliseconds(seconds: float | None) -> int | None:
    """Return the value of an option in seconds as milliseconds."""
    return None if seconds is None else round(seconds * 1_000)
