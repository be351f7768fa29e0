"""The headers of a record in a retry topic: where it came from, its attempts so far, and when the next one is due.

The record's own headers come first, as they were. Handlers do not see those of this module.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen

from kafka_groups.errors.texts import LONGEST_TEXT
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.types import Header

__all__ = ["RetryHeadersError", "RetryState", "own_headers", "read_headers"]

_PREFIX: Final = "__retry."
_FIRST: Final = f"{_PREFIX}group"
_LARGEST: Final = 2**63 - 1


class RetryHeadersError(ValueError):
    """A record in a retry topic has no retry headers, broken ones, or those of another handler or group."""


@frozen(kw_only=True)
class RetryState:
    """The attempts of a record so far, which it carries in headers from topic to topic.

    Times are milliseconds since the epoch, as another process may read them.

    Attributes:
        group: The share group of the worker, not the group that reads the retry topics.
        handler: The name of the handler.
        origin: The place of the first record.
        attempts: Attempts that have ended, in all topics.
        retries: Those of them that used a retry.
        deaths: Redeliveries that came because the record was running when its process died, as far as this is known.
        first_failure_ms: When its first attempt failed.
        due_ms: When the next attempt is due.
        error: Class and text of the last error, of which a header has at most 2,000 characters.
        is_possible_duplicate: Whether an earlier write of this record was not confirmed, so that it may exist twice.
    """

    group: str
    handler: str
    origin: RecordOrigin
    attempts: int
    retries: int
    deaths: int = 0
    first_failure_ms: int
    due_ms: int
    error: str = ""
    is_possible_duplicate: bool = False

    def headers(self) -> Sequence[Header]:
        """Return the headers that follow the record's own."""
        origin = self.origin
        values: dict[str, object] = {
            "group": self.group,
            "handler": self.handler,
            "origin.topic": origin.topic,
            "origin.partition": origin.partition,
            "origin.offset": origin.offset,
            "origin.timestamp": origin.timestamp,
            "attempts": self.attempts,
            "retries": self.retries,
            "deaths": self.deaths,
            "first.failure": self.first_failure_ms,
            "due": self.due_ms,
            "error": self.error[:LONGEST_TEXT],
            "possible.duplicate": "true" if self.is_possible_duplicate else None,
        }
        return [(f"{_PREFIX}{name}", _encoded(value)) for name, value in values.items() if value is not None]


def _encoded(value: object) -> bytes:
    # The error is the text of any exception, and may have parts that are not Unicode.
    return str(value).encode(errors="backslashreplace")


def own_headers(headers: Sequence[Header]) -> Sequence[Header]:
    """Return the headers of a record in a retry topic that it had before it was written there."""
    start = _start_of(headers)
    # What other programs have added behind ours, such as a mirror of the cluster, belongs to the record as well.
    return [*headers[:start], *(header for header in headers[start:] if not header[0].startswith(_PREFIX))]


def _start_of(headers: Sequence[Header]) -> int:
    """Return the index of the first of our headers. The record may have some of the same names before it."""
    # Somebody may have copied a record from a retry topic to a main topic, and then it has failed there. Each write
    # begins with the same header, so the last of them is the latest write.
    starts = (index for index in reversed(range(len(headers))) if headers[index][0] == _FIRST)
    return next(starts, len(headers))


def read_headers(headers: Sequence[Header], group: str, handler: str) -> RetryState:
    """Return the state of a record in a retry topic.

    Args:
        headers: All headers of the record.
        group: The share group of the worker that reads it.
        handler: The handler that reads it.

    Raises:
        RetryHeadersError: They are missing or broken, or name another group or handler.
    """
    texts = _texts(headers[_start_of(headers) :])
    state = _state(_Fields(texts))
    if (state.group, state.handler) != (group, handler):
        raise RetryHeadersError(
            f"the record was written by handler {state.handler!r} of group {state.group!r}, and handler {handler!r} of"
            f" group {group!r} reads the retry topic"
        )
    return state


def _texts(headers: Iterable[Header]) -> Mapping[str, str]:
    texts: dict[str, str] = {}
    for key, value in headers:
        if not key.startswith(_PREFIX):
            continue
        if key in texts or value is None:
            raise RetryHeadersError(
                f"the header {key} of the retry topic {'is null' if value is None else 'is repeated'}"
            )
        texts[key] = value.decode(errors="backslashreplace")
    return texts


@frozen
class _Fields:
    """The values of the headers by name."""

    texts: Mapping[str, str]

    def text(self, name: str) -> str:
        if (value := self.texts.get(f"{_PREFIX}{name}")) is None:
            raise RetryHeadersError(f"the header {_PREFIX}{name} of the retry topic is missing")
        return value

    def number(self, name: str) -> int:
        text = self.text(name)
        # `int` takes more than decimal digits, such as "+1" and "1_000", which no worker writes.
        if not (text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST)) and int(text) <= _LARGEST):
            raise RetryHeadersError(
                f"the header {_PREFIX}{name} of the retry topic is {text[:100]!r}, and not a number"
            )
        return int(text)

    def optional_number(self, name: str) -> int | None:
        return self.number(name) if f"{_PREFIX}{name}" in self.texts else None


def _state(fields: _Fields) -> RetryState:
    return RetryState(
        group=fields.text("group"),
        handler=fields.text("handler"),
        origin=RecordOrigin(
            fields.text("origin.topic"),
            fields.number("origin.partition"),
            fields.number("origin.offset"),
            fields.optional_number("origin.timestamp"),
        ),
        attempts=fields.number("attempts"),
        retries=fields.number("retries"),
        deaths=fields.number("deaths"),
        first_failure_ms=fields.number("first.failure"),
        due_ms=fields.number("due"),
        error=fields.text("error"),
        is_possible_duplicate=fields.texts.get(f"{_PREFIX}possible.duplicate") == "true",
    )
