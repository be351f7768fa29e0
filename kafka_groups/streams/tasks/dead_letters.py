"""Records for the dead-letter topic: the raw record that failed, with headers that say why, as in Kafka Streams.

KIP-1034 names the headers. Their values are text, also those of numbers. The texts of errors are cut, or a letter
could be larger than any topic takes.
"""

from typing import Protocol

from attrs import evolve, frozen

from kafka_groups.errors import KafkaGroupsError, MessageTooLargeError
from kafka_groups.errors.texts import named, sentences, text_of, traceback_of
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.processors.surroundings import LaterRefusal
from kafka_groups.streams.tasks.error_context import ErrorContext, ErrorResponse
from kafka_groups.streams.tasks.record_refusals import cure_of
from kafka_groups.types import Headers

__all__ = ["DeadLetter", "DeadLetterSink", "DeadLetterWriter", "dead_letter"]

_PREFIX = "__streams.errors."

_SHORT_BYTES = 200
"""The most bytes of an error's text in a letter that was too large with the whole text and the traceback."""


class DeadLetterSink(Protocol):
    """Writes dead letters: a task's collector."""

    def send(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        later: LaterRefusal | None = None,
    ) -> None:
        """Write a record. None as partition: the default partitioner's. `later` decides if brokers refuse it later."""


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


class DeadLetterWriter:
    """Writes the dead letters of a task.

    Args:
        sink: Takes them.
        topic: The dead-letter topic, or None if the application has no such topic.
        refuses_later: True if a letter may be refused after `send` has returned.
    """

    def __init__(self, sink: DeadLetterSink, topic: str | None, *, refuses_later: bool) -> None:
        self._sink = sink
        self._topic = topic
        self._refuses_later = refuses_later

    def write(self, handler: str, context: ErrorContext, error: Exception) -> None:
        """Write the letter that a handler asks for. A record that is large itself may leave no room for a traceback.

        Raises:
            StreamsError: There is no topic, or it does not take the letter.
        """
        topic = self._topic
        # Java also builds records only if the setting names a topic
        # (ExceptionHandlerUtils.maybeBuildDeadLetterQueueRecords), and returns an empty list otherwise. A handler that
        # asks for a dead letter here would lose the record, so it is told.
        if topic is None:
            text = f"{handler} returned {ErrorResponse.DEAD_LETTER} about {context.node} at {context.place}"
            remedy = "Set errors_dead_letter_queue_topic_name"
            raise StreamsError(
                sentences(f"{text}, but there is no dead-letter topic", remedy, f"The error was {named(error)}")
            ) from error
        origin = f"{context.node} at {context.place}", named(error)
        self._write(topic, dead_letter(context, error), origin, is_short=False)

    def _write(self, topic: str, letter: DeadLetter, origin: tuple[str, str], *, is_short: bool) -> None:
        # The texts are kept until brokers answer, and not the error, which would keep the frames of its traceback.
        # A short one that is refused later fails with the next commit, as there is nothing left to try.
        later = (self._refused, letter, origin, is_short) if self._refuses_later and not is_short else None
        try:
            self._sink.send(topic, letter.key, letter.value, letter.timestamp_ms, letter.headers, None, later)
        except KafkaGroupsError as failure:
            # The producer may refuse the letter at once, or the brokers later: one function decides about both.
            self._refused(letter, origin, is_short, failure, topic)

    def _refused(
        self,
        letter: DeadLetter,
        origin: tuple[str, str],
        is_short: bool,  # noqa: FBT001
        failure: KafkaGroupsError,
        topic: str,
        _record: object = None,
    ) -> ErrorResponse:
        """Write a letter again without its traceback if it is too large, as its record may be large itself."""
        # The raw record fits into its own topic, but traceback and headers come on top. The second letter has the
        # record whole, and little of the error.
        if isinstance(failure, MessageTooLargeError) and not is_short:
            self._write(topic, _shortened(letter), origin, is_short=True)
            return ErrorResponse.RESUME
        place, told = origin
        text = f"The dead letter about {place} cannot be written to {topic}: {named(failure)}"
        raise StreamsError(sentences(text, cure_of(failure, topic), f"The error was {told}")) from failure


def dead_letter(context: ErrorContext, error: Exception) -> DeadLetter:
    """Return the record for the dead-letter topic about an error."""
    # The same headers in the same order as ExceptionHandlerUtils.buildDeadLetterQueueRecord in Kafka, so that one
    # reader of dead letters can be used for applications in both languages.
    texts = {
        "exception": _class_name(type(error)),
        "message": text_of(error),
        "stacktrace": traceback_of(error),
        "topic": context.topic,
        "partition": str(context.partition),
        "offset": str(context.offset),
    }
    described = tuple((f"{_PREFIX}{name}", _encoded(text)) for name, text in texts.items())
    # The record's own headers come first, as in ExceptionHandlerUtils.buildDeadLetterQueueRecord.
    headers = (*context.headers, *described)
    return DeadLetter(context.source_raw_key, context.source_raw_value, context.timestamp_ms, headers)


def _shortened(letter: DeadLetter) -> DeadLetter:
    """Return a letter without the traceback, and with little of the error's text."""
    *others, kind, (name, message), _stacktrace, topic, partition, offset = letter.headers
    return evolve(letter, headers=(*others, kind, (name, (message or b"")[:_SHORT_BYTES]), topic, partition, offset))


def _class_name(kind: type[Exception]) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", errors="replace")
