"""Decisions about exceptions of the user's code, and about records that cannot be read or written."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from kafka_groups.errors import (
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTopicError,
    KafkaGroupsError,
    MessageTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.processors.compile import LaterRefusal
from kafka_groups.streams.state.store import RawRecord, RecordContext
from kafka_groups.streams.tasks.dead_letters import dead_letter
from kafka_groups.streams.tasks.dropped import DroppedRecords
from kafka_groups.streams.tasks.error_context import ErrorContext, ErrorHandler, ErrorHandlers, ErrorResponse
from kafka_groups.streams.topology.records import Record
from kafka_groups.types import Headers, TaskId, TopicPartition

__all__ = ["OF_ONE_RECORD", "TaskFailures"]

OF_ONE_RECORD = (
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTopicError,
    MessageTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
"""The errors of a producer that are about a record or its topic. With another one it writes nothing more at all."""

_CURES: Mapping[type[Exception], str] = {
    MessageTooLargeError: (
        "Make records smaller, or allow larger ones: max.message.bytes of the topic, and message.max.bytes of the "
        "producer. The limit of a topic is one for batches, too: batch.size of the producer must not be larger"
    ),
    TopicAuthorizationFailedError: "Allow the application's user to write to {topic}",
    UnknownTopicOrPartitionError: "Create {topic}",
}
"""The remedy for each error of writing."""

_ALLOWED = (ErrorResponse.FAIL, ErrorResponse.RESUME, ErrorResponse.DEAD_LETTER)


class DeadLetterSink(Protocol):
    """Writes dead letters: a task's collector."""

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
    ) -> None:
        """Write a record. None as partition: the default partitioner's."""


class TaskFailures:
    """Asks the application's handlers about each exception, and takes note of dropped records.

    Attributes:
        dropped_records: The records that operators dropped.
    """

    def __init__(self, task_id: TaskId, record: RecordContext, handlers: ErrorHandlers, sink: DeadLetterSink) -> None:
        self._task_id = task_id
        self._record = record
        self._handlers = handlers
        self._sink = sink
        self.dropped_records = DroppedRecords(task_id)

    def processing(self, node: str, error: Exception, record: tuple[Any, Any, int, Headers]) -> None:
        """Raise, or return to skip the record."""
        if isinstance(error, StreamsError):  # of a child, and decided there
            raise error
        context, handler = self._context(node, record), self._handlers.processing
        response = self._asked("processing_exception_handler", handler, context, Record(*record), error)
        if response is ErrorResponse.FAIL:
            text = f"{node} in task {self._task_id} failed at {context.place}: {_told(error)}{_hint(record)}"
            raise StreamsError(text + _remedy("processing_exception_handler", handler)) from error

    def deserialization(
        self, node: str, error: Exception, partition: TopicPartition, offset: int, record: Record[Any, Any]
    ) -> None:
        """Raise, or return to skip a record of a source that cannot be decoded; its key and value are bytes."""
        place = (partition.topic, partition.partition, offset, record.timestamp_ms)
        context = ErrorContext(node, self._task_id, *place, record.headers, record.key, record.value)
        handler = self._handlers.deserialization
        response = self._asked("deserialization_exception_handler", handler, context, record, error)
        if response is ErrorResponse.FAIL:
            text = f"{node} in task {self._task_id} cannot decode {partition} offset {offset}: {error}"
            raise StreamsError(text + _remedy("deserialization_exception_handler", handler)) from error

    def production(
        self,
        node: str,
        error: Exception,
        topic: str,
        record: tuple[Any, Any, int, Headers],
        *,
        is_retriable: bool = False,
        source: RecordContext | None = None,
    ) -> ErrorResponse:
        """Raise, or return RETRY to write the record again, or another response to skip it.

        Args:
            node: The sink.
            error: The error.
            topic: The topic to which the record was to be written.
            record: Its key, value, timestamp and headers. Key and value are bytes if they could be serialised.
            is_retriable: Whether the record may be written again.
            source: The record from which it follows; None is the one that the task is processing.
        """
        context, handler = self._context(node, record, topic, source), self._handlers.production
        response = self._asked(
            "production_exception_handler", handler, context, Record(*record), error, may_retry=is_retriable
        )
        if response is ErrorResponse.FAIL:
            text = f"{node} in task {self._task_id} cannot write to {topic} what follows from {context.place}: "
            cure = _cure(error, topic) + _remedy("production_exception_handler", handler)
            raise StreamsError(text + _told(error) + cure) from error
        return response

    def later(self, node: str) -> LaterRefusal:
        """Return the function that decides about the record that a sink writes now, if brokers refuse it later."""
        now = self._record
        raw = None if self._handlers.production is None else now.raw  # only a handler needs it
        return partial(self._refused, node, now.topic, now.partition, now.offset, raw)

    def _refused(  # noqa: PLR0913, PLR0917 - what `later` has kept, and the refusal
        self,
        node: str,
        source_topic: str | None,
        partition: int,
        offset: int,
        raw: RawRecord | None,
        error: KafkaGroupsError,
        topic: str,
        record: tuple[Any, Any, int, Headers],
    ) -> ErrorResponse:
        source = RecordContext(source_topic, partition, offset, raw=raw)
        if not (error.retriable or isinstance(error, OF_ONE_RECORD)):
            raise self._broken(node, topic, error) from error
        return self.production(node, error, topic, record, is_retriable=error.retriable, source=source)

    def unwritten(self, node: str, error: KafkaGroupsError, topic: str, record: tuple[Any, Any, int, Headers]) -> None:
        """Raise, or return to skip a record that is too large for the producer, or whose topic does not exist.

        Other errors of the producer are not about the record. They become a StreamsError, so that no operator further
        up takes them for an exception of the user's code.
        """
        if isinstance(error, StreamsError):  # it says what to do
            raise error
        if not isinstance(error, OF_ONE_RECORD):
            raise self._broken(node, topic, error) from error
        self.production(node, error, topic, record)

    def _broken(self, node: str, topic: str, error: KafkaGroupsError) -> StreamsError:
        return StreamsError(f"{node} in task {self._task_id} cannot write to {topic}: {_told(error)}")

    def dropped(self, node: str, reason: str) -> None:
        """Count and log a record that an operator drops."""
        place = self._record
        self.dropped_records.add(node, reason, place.topic, place.partition, place.offset)

    def skipped(self, node: str, reason: str, partition: TopicPartition, offset: int) -> None:
        """Count and log a record that a source drops."""
        self.dropped_records.add(node, reason, partition.topic, partition.partition, offset)

    def extraction(self, node: str, error: Exception, partition: TopicPartition, offset: int) -> StreamsError:
        """Return the error for an exception of a timestamp extractor."""
        if isinstance(error, StreamsError):  # of a ready extractor, whose text names the record
            return error
        return StreamsError(
            f"The timestamp extractor of {node} in task {self._task_id} failed at {partition} offset {offset}: "
            f"{_told(error)}. Let it return a time in ms since 1970 for such a record, or -1 to drop the record"
        )

    def _context(
        self,
        node: str,
        record: tuple[Any, Any, int, Headers],
        output: str | None = None,
        source: RecordContext | None = None,
    ) -> ErrorContext:
        place, (_, _, timestamp_ms, headers) = source or self._record, record
        key, value = (None, None) if place.raw is None else (place.raw.key, place.raw.value)
        origin = (place.topic, place.partition, place.offset)
        return ErrorContext(node, self._task_id, *origin, timestamp_ms, headers, key, value, output)

    def _asked(
        self,
        name: str,
        handler: ErrorHandler | None,
        context: ErrorContext,
        record: Record[Any, Any],
        error: Exception,
        *,
        may_retry: bool = False,
    ) -> ErrorResponse:
        """Return what a handler decides, and write the dead letter that it asks for."""
        if handler is None:
            return ErrorResponse.FAIL
        response = _response(name, handler, context, record, error)
        if response not in _ALLOWED and not may_retry:
            why = "is for errors of writing that can be retried, and this is another one"
            raise StreamsError(_wrong(name, context, error, f"returned {response}, which {why}", "RESUME")) from error
        if response is ErrorResponse.DEAD_LETTER:
            self._bury(name, context, error)
        return response

    def _bury(self, name: str, context: ErrorContext, error: Exception) -> None:
        topic = self._handlers.dead_letter_topic
        if topic is None:
            raise StreamsError(
                f"{name} returned {ErrorResponse.DEAD_LETTER} about {context.node} at {context.place}, but there is no "
                f"dead-letter topic. Set errors_dead_letter_queue_topic_name. The error was {_told(error)}"
            ) from error
        letter = dead_letter(context, error)
        try:
            self._sink.send(topic, letter.key, letter.value, letter.timestamp_ms, letter.headers, None)
        except KafkaGroupsError as refused:
            raise StreamsError(
                f"The dead letter about {context.node} at {context.place} cannot be written to {topic}: "
                f"{_told(refused)}{_cure(refused, topic)}. The error was {_told(error)}"
            ) from refused


def _response(
    name: str, handler: ErrorHandler, context: ErrorContext, record: Record[Any, Any], error: Exception
) -> ErrorResponse:
    try:
        response: object = handler(context, record, error)
    except Exception as raised:
        text = f"{name} raised {_told(raised)} when it was asked about {context.node} at {context.place}"
        raise StreamsError(f"{text}, where the error was {_told(error)}") from raised
    if not isinstance(response, ErrorResponse):
        raise StreamsError(_wrong(name, context, error, f"returned {response!r}", "FAIL")) from error
    return response


def _wrong(name: str, context: ErrorContext, error: Exception, what: str, example: str) -> str:
    text = f"{name} {what} about {context.node} at {context.place}. Return an ErrorResponse, such as "
    return f"{text}ErrorResponse.{example}. The error was {_told(error)}"


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _hint(record: tuple[Any, Any, int, Headers]) -> str:
    nulls = [name for name, each in (("key", record[0]), ("value", record[1])) if each is None]
    if not nulls:
        return ""
    text = f". The record's {' and '.join(nulls)} was null. If your code can't handle that, filter such records first: "
    return f"{text}.filter(lambda key, value: {nulls[0]} is not None)"


def _cure(error: Exception, topic: str) -> str:
    cure = _CURES.get(type(error))
    return "" if cure is None else ". " + cure.format(topic=topic)


def _remedy(name: str, handler: ErrorHandler | None) -> str:
    if handler is not None:
        return ""
    return f". To skip such records or write them to a dead-letter topic, set {name}"
