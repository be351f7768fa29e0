"""Lines of input as records to write."""

from typing import Any, Final

from attrs import frozen

from kafka_groups.cli.record_headers import headers_from_json
from kafka_groups.records.confirmed_writer import RecordToWrite
from kafka_groups.serdes.json_values import bytes_from_json, parsed_json
from kafka_groups.types import Header

__all__ = ["LineForm"]

_CONTENTS: Final = ("key", "value", "timestamp_ms", "headers")
_PLACES: Final = ("topic", "partition", "offset", "delivery_count")
"""Fields that say where a record was read. It may be written to another topic."""
_LATEST_MS: Final = 2**63


@frozen(kw_only=True)
class LineForm:
    """The form of lines, and what all their records have.

    Attributes:
        topic: The topic.
        key: The key of all records, or None.
        delimiter: What ends the key of a line, or None.
        is_json: Whether lines are JSON objects.
        headers: Headers of all records, after those of their lines.
        partition: The partition, or None if the key decides.
    """

    topic: str
    key: bytes | None = None
    delimiter: bytes | None = None
    is_json: bool = False
    headers: tuple[Header, ...] = ()
    partition: int | None = None

    def record(self, line: bytes) -> RecordToWrite | None:
        """Return the record of a line; None for an empty line of JSON.

        Raises:
            ValueError: The line does not have the form.
        """
        if self.is_json:
            return self._json(line) if line.strip() else None
        if self.delimiter is None:
            return self._made(self.key, line)
        key, found, value = line.partition(self.delimiter)
        if not found:
            raise ValueError(f"it does not have the delimiter {self.delimiter.decode(errors='replace')!r}.")
        return self._made(key, value)

    def _json(self, line: bytes) -> RecordToWrite:
        given = parsed_json(line)
        if not isinstance(given, dict):
            raise ValueError(f'{given!r} is not an object: give {{"key": …, "value": …}}')
        if unknown := [name for name in given if name not in _CONTENTS + _PLACES]:
            raise ValueError(f"unknown field {unknown[0]!r}; the fields are {', '.join(_CONTENTS)}")
        headers = tuple(headers_from_json(given.get("headers", [])))
        return self._made(_data(given, "key"), _data(given, "value"), headers, _time(given.get("timestamp_ms")))

    def _made(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[Header, ...] = (),
        timestamp_ms: int | None = None,
    ) -> RecordToWrite:
        return RecordToWrite(self.topic, key, value, headers + self.headers, timestamp_ms, self.partition)


def _data(given: dict[str, Any], name: str) -> bytes | None:
    found = given.get(name)
    try:
        return None if found is None else bytes_from_json(found)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _time(given: object) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < _LATEST_MS:
        raise ValueError(f"timestamp_ms: {given!r} is not a time in milliseconds since 1970")
    return given
