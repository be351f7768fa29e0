"""Files with a JSON object in each line, which is a record."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafka_groups.cli.record_headers import headers_from_json
from kafka_groups.cli.topologies.csv_rows import CSV_NAMES
from kafka_groups.cli.topologies.input_records import Given, InputRecord, RecordMaker, RefusedLineError
from kafka_groups.serdes.json_values import parsed_json

__all__ = ["read_json_lines"]

_FIELDS = ("topic", "key", "value", "timestamp_ms", "headers")
_PLACES = ("partition", "offset", "delivery_count")
"""Fields of `kafka-groups consume` and `share-consume` that say nothing about the contents of a record."""


def read_json_lines(path: Path, maker: RecordMaker) -> Iterator[InputRecord]:
    """Iterate over the records of a file. Empty lines are skipped.

    Raises:
        RefusedLineError: A line is not a record of the topic.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    record = _record(_parsed(line, number), number, maker)
                except ValueError as error:
                    raise RefusedLineError(str(path), number, str(error)) from error
                yield record


def _parsed(line: bytes, number: int) -> Any:
    try:
        return parsed_json(line)
    except ValueError as error:
        hint = f". {CSV_NAMES}" if number == 1 else ""  # a file of lines seldom begins with one that is no JSON
        raise ValueError(f"{error}{hint}") from error


def _record(given: Any, number: int, maker: RecordMaker) -> InputRecord:
    if not isinstance(given, dict):
        raise ValueError(f'{given!r} is not an object: give {{"key": …, "value": …, "timestamp_ms": …}}')
    if unknown := [name for name in given if name not in _FIELDS + _PLACES]:
        raise ValueError(f"unknown field {unknown[0]!r}; the fields are {', '.join(_FIELDS)}")
    if given.get("topic", maker.topic) != maker.topic:
        raise ValueError(f"topic: {given['topic']!r} is not {maker.topic!r}, the topic of this input")
    key = Given(maker.key.form.read, given.get("key"))
    value = Given(maker.value.form.read, given.get("value"))
    return maker.record(_time(given), number, key, value, headers_from_json(given.get("headers", [])))


def _time(given: dict[str, Any]) -> int:
    found = given.get("timestamp_ms")
    if isinstance(found, bool) or not isinstance(found, int):
        shown = "it is missing" if found is None else f"{found!r} is not an integer"
        raise ValueError(f"timestamp_ms: {shown}; give milliseconds since 1970")
    return found
