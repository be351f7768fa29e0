"""Records for the dead-letter topic: the raw record that failed, with headers that say why, as in Kafka Streams.

KIP-1034 names the headers. Their values are text, also those of numbers.
"""

import traceback

from attrs import frozen

from kafka_groups.streams.tasks.error_context import ErrorContext
from kafka_groups.types import Headers

__all__ = ["DeadLetter", "dead_letter"]

_PREFIX = "__streams.errors."


@frozen
class DeadLetter:
    """A record for the dead-letter topic.

    Attributes:
        key: The key as the task read it, or None.
        value: The value as the task read it, or None.
        timestamp_ms: The timestamp that the record had when it failed.
        headers: The headers that it had then, and those that describe the error.
    """

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers


def dead_letter(context: ErrorContext, error: Exception) -> DeadLetter:
    """Return the record for the dead-letter topic about an error."""
    texts = {
        "exception": _class_name(type(error)),
        "message": str(error),
        "stacktrace": "".join(traceback.format_exception(error)),
        "topic": context.topic,
        "partition": str(context.partition),
        "offset": str(context.offset),
    }
    described = tuple((f"{_PREFIX}{name}", _encoded(text)) for name, text in texts.items())
    headers = (*context.headers, *described)
    return DeadLetter(context.source_raw_key, context.source_raw_value, context.timestamp_ms, headers)


def _class_name(kind: type[Exception]) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", errors="replace")
