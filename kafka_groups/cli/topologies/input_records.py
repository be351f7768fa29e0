"""The records of input files, and the lines that are refused."""

from collections.abc import Callable
from typing import Any, NamedTuple

import click
from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.serdes import Serde
from kafka_groups.serdes.json_values import JsonForm, json_form
from kafka_groups.types import Header, Headers

__all__ = ["Given", "InputRecord", "RecordMaker", "RefusedLineError", "Side"]

_MOST_MS = 2**63


class InputRecord(NamedTuple):
    """A record of a file.

    Attributes:
        timestamp_ms: Its timestamp.
        line: The number of its line, or of its first line, counted from 1.
        key: Its key.
        value: Its value.
        headers: Its headers.
    """

    timestamp_ms: int
    line: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class Given(NamedTuple):
    """A key or value as a file has it.

    Attributes:
        read: Returns the value of the serde.
        what: The parsed JSON, the cell or the row; None for null.
    """

    read: Callable[[Any], Any]
    what: Any


class RefusedLineError(click.ClickException):
    """A line of an input file is not a record of its topic. The message names file and line."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}")


@frozen
class Side:
    """The keys or the values of an input topic.

    Attributes:
        form: Their JSON.
        serialize: Their serialiser.
    """

    form: JsonForm
    serialize: Callable[[Any, list[Header]], bytes]

    @classmethod
    def of(cls, topic: str, serde: Serde[Any], *, is_key: bool) -> "Side":
        """Return a side.

        Raises:
            click.ClickException: The serde's values have no form in JSON.
        """
        form = json_form(serde)
        if form is None:
            side = "keys" if is_key else "values"
            raise click.ClickException(
                f"The {side} of topic {topic!r} cannot be made from JSON, because {serde!r} takes objects that only "
                "your program can make. Test this topology with TopologyTestDriver, or use serdes.json."
            )
        return cls(form, serde.serializer(topic, is_key=is_key))


@frozen
class RecordMaker:
    """Makes the records of a topic by the serdes of its source.

    Attributes:
        topic: The topic.
        key: Its keys.
        value: Its values.
    """

    topic: str
    key: Side
    value: Side

    @classmethod
    def of(cls, topic: str, key: Serde[Any], value: Serde[Any]) -> "RecordMaker":
        """Return the maker for a topic with these serdes."""
        return cls(topic, Side.of(topic, key, is_key=True), Side.of(topic, value, is_key=False))

    def record(self, timestamp_ms: int, line: int, key: Given, value: Given, headers: list[Header]) -> InputRecord:
        """Return a record.

        Args:
            timestamp_ms: Its timestamp.
            line: The number of its line.
            key: What stands for its key.
            value: What stands for its value.
            headers: Its headers. Serialisers may append to them.

        Raises:
            ValueError: A part of it does not fit. The message names the part.
        """
        if not -_MOST_MS <= timestamp_ms < _MOST_MS:
            raise ValueError(f"timestamp_ms: {timestamp_ms} has more than 64 bits")
        key_bytes = _part("key", self.key, key, headers)
        value_bytes = _part("value", self.value, value, headers)
        return InputRecord(timestamp_ms, line, key_bytes, value_bytes, tuple(headers))


def _part(name: str, side: Side, given: Given, headers: list[Header]) -> bytes | None:
    if given.what is None:
        return None
    try:
        return side.serialize(given.read(given.what), headers)
    except (KafkaGroupsError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from error
