"""Decisions about exceptions of the user's code and records that cannot be read or written; dropped records."""

import logging
from typing import Any

from kafka_groups.errors import DeliveryFailedError, KafkaGroupsError
from kafka_groups.errors.texts import named, represented, sentences, text_of
from kafka_groups.functions import has_wrong_arguments
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.streams.tasks.dead_letters import DeadLetterSink, DeadLetterWriter
from kafka_groups.streams.tasks.error_context import ErrorContext, ErrorHandler, ErrorHandlers, ErrorResponse
from kafka_groups.streams.tasks.record_refusals import OF_ONE_RECORD, cure_of
from kafka_groups.streams.topology.records import Record
from kafka_groups.types import Headers, RecordRow, TaskId, TopicPartition

__all__ = ["DroppedRecords", "TaskFailures"]

_log = logging.getLogger(__name__)

_ALLOWED = (ErrorResponse.FAIL, ErrorResponse.RESUME, ErrorResponse.DEAD_LETTER)

_SKIPPED = {
    ErrorResponse.RESUME: "{} has skipped it",
    ErrorResponse.DEAD_LETTER: "{} has sent it to the dead-letter topic",
}
"""The reason for which a record is dropped, by the response of a handler."""

_NO_RECORD: RecordRow = (-1, None, None, -1, ())

_MEND = "Correct the function, or give another one"

_WARNED_COUNTS = frozenset(10**digits for digits in range(19))


class DroppedRecords:
    """Counts records by node and reason, and warns about the 1st, 10th, 100th … of each.

    The intervals are numbers of records, because a task has no clock of its own, and a test's clock may stand still.

    Attributes:
        counts: The number of records by node and reason.
    """

    def __init__(self, task_id: TaskId) -> None:
        self._task_id = task_id
        self.counts: dict[tuple[str, str], int] = {}

    def add(
        self,
        node: str,
        reason: str,
        topic: str | None,
        partition: int,
        offset: int,
        *,
        error: BaseException | None = None,
    ) -> None:
        """Count a record.

        Args:
            node: The node that drops it.
            reason: Why, as a clause about the record. It must not name values, as there is a count for each reason.
            topic: The topic of the record that the task is processing; None in a punctuation.
            partition: Its partition.
            offset: Its offset.
            error: The error because of which it is dropped, for the log.
        """
        count = self.counts[node, reason] = self.counts.get((node, reason), 0) + 1
        if count in _WARNED_COUNTS:
            where = "a record of a punctuation" if topic is None else f"a record at {topic}-{partition} offset {offset}"
            cause = "" if error is None else f" after {named(error)}"
            total = "" if count == 1 else f" ({count} such records so far)"
            _log.warning("%s in task %s dropped %s: %s%s%s", node, self._task_id, where, reason, cause, total)


class TaskFailures:
    """Asks the application's handlers about each exception, and takes note of dropped records.

    Args:
        task_id: The task.
        record: The record that it is processing.
        handlers: The handlers.
        sink: Takes dead letters.
        refuses_later: True if a dead letter may be refused after `send` has returned.

    Attributes:
        dropped_records: The records that operators, sources and handlers dropped.
        keeps_raw: Whether a decision about a refused record needs the raw record from which it follows.
    """

    def __init__(
        self,
        task_id: TaskId,
        record: RecordContext,
        handlers: ErrorHandlers,
        sink: DeadLetterSink,
        *,
        refuses_later: bool = False,
    ) -> None:
        self._task_id = task_id
        self._record = record
        self._handlers = handlers
        self._dead_letters = DeadLetterWriter(sink, handlers.dead_letter_topic, refuses_later=refuses_later)
        self.dropped_records = DroppedRecords(task_id)
        # Java drops the raw record before the producer answers, to save memory
        # (RecordCollectorImpl.freeRawInputRecordFromContext). Here a handler of late refusals still gets it, also for
        # dead letters. Without a handler, nobody needs it.
        self.keeps_raw = handlers.production is not None

    def processing(self, node: str, error: Exception, record: tuple[Any, Any, int, Headers]) -> None:
        """Raise, or return to skip the record."""
        # A node calls its children within its own step, so an error of a child passes through here. Only the node that
        # failed asks the handler (ProcessorNode.process in Kafka rethrows FailedProcessingException,
        # TaskCorruptedException and TaskMigratedException).
        if isinstance(error, StreamsError):  # of a child, and decided there
            raise error
        context, handler = self._context(node, record), self._handlers.processing
        response = self._asked("processing_exception_handler", handler, context, Record(*record), error)
        if response is ErrorResponse.FAIL:
            text = f"{node} in task {self._task_id} failed at {context.place}: {named(error)}"
            advice = _mending(error) or (_hint(record), _remedy("processing_exception_handler", handler))
            raise StreamsError(sentences(text, *advice)) from error

    def punctuating(self, node: str, error: Exception, now_ms: int) -> None:
        """Raise, or return to continue with the next punctuation, as Java's `StreamTask.punctuate` does."""
        if isinstance(error, StreamsError):  # of a child, and decided there
            raise error
        context, handler = self._context(node, (None, None, now_ms, ())), self._handlers.processing
        # A punctuation has no record. Java gives its handler null for it (StreamTask.punctuate); here the handler gets
        # a record whose key and value are null, so that it need not look for None.
        given = Record(None, None, now_ms)
        response = self._asked("processing_exception_handler", handler, context, given, error)
        if response is ErrorResponse.FAIL:
            text = f"{node} in task {self._task_id} failed in a punctuation at {now_ms} ms: {named(error)}"
            remedy = "To continue after such errors, set processing_exception_handler"
            raise StreamsError(sentences(text, remedy if handler is None else "")) from error

    def preparing(self, node: str, method: str, error: Exception) -> StreamsError:
        """Return the error for an exception of a processor's factory, `init` or `close`, which no record asks for."""
        return StreamsError(sentences(f"{method} of {node} in task {self._task_id} failed: {named(error)}"))

    def deserialization(
        self, node: str, error: Exception, partition: TopicPartition, offset: int, record: Record[Any, Any]
    ) -> None:
        """Raise, or return to skip a record of a source that cannot be decoded; its key and value are bytes."""
        # The place is that of the record that cannot be decoded. A task decodes it in advance, so `self._record` is
        # still the one before.
        place = (partition.topic, partition.partition, offset, record.timestamp_ms)
        context = ErrorContext(node, self._task_id, *place, record.headers, record.key, record.value)
        handler = self._handlers.deserialization
        response = self._asked("deserialization_exception_handler", handler, context, record, error)
        if response is ErrorResponse.FAIL:
            text = f"{node} in task {self._task_id} cannot decode {partition} offset {offset}: {text_of(error)}"
            raise StreamsError(sentences(text, _remedy("deserialization_exception_handler", handler))) from error

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
            advice = cure_of(error, topic), _remedy("production_exception_handler", handler)
            raise StreamsError(sentences(text + named(error), *advice)) from error
        return response

    def refused(  # noqa: PLR0913, PLR0917 - where the record comes from, and the refusal
        self,
        node: str,
        source_topic: str | None,
        partition: int,
        offset: int,
        raw: RecordRow | None,
        error: KafkaGroupsError,
        topic: str,
        record: tuple[Any, Any, int, Headers],
    ) -> ErrorResponse:
        """Decide about a record of a sink that brokers have refused after the task has gone on.

        Raise, or return RETRY to write it again, or another response to skip it.
        """
        source = RecordContext(source_topic, partition, offset, raw=raw)
        # There are three cases, as in RecordCollectorImpl.recordSendError. The first is an error that is not about this
        # record, such as a fenced producer: no answer of a handler could help, and nothing more can be written.
        if not (error.retriable or isinstance(error, OF_ONE_RECORD)):
            raise self._broken(node, topic, error) from error
        # Second, nobody is asked, and the error may pass: the task begins again from its last commit.
        if self._handlers.production is None and error.retriable:
            # As with Java's DefaultProductionExceptionHandler, which is asked and answers RETRY.
            text = f"{node} in task {self._task_id} did not write to {topic}: {named(error)}"
            raise DeliveryFailedError(text, failed=1, unanswered=0, retriable=True) from error
        # Third, the handler decides about this record. It is also asked about topics that do not exist or must not be
        # written to, where Java ends the thread (RecordCollectorImpl.isFatalException): a topic may depend on the
        # record.
        return self.production(node, error, topic, record, is_retriable=error.retriable, source=source)

    def unwritten(self, node: str, error: KafkaGroupsError, topic: str, record: tuple[Any, Any, int, Headers]) -> None:
        """Raise, or return to skip a record that is too large for the producer, or whose topic does not exist.

        Other errors of the producer are not about the record. They become a StreamsError, so that no operator further
        up takes them for an exception of the user's code.
        """
        # The error of a dead letter, or of a partition that does not exist, is final already.
        if isinstance(error, StreamsError):  # it says what to do
            raise error
        if not isinstance(error, OF_ONE_RECORD):
            raise self._broken(node, topic, error) from error
        self.production(node, error, topic, record)

    def _broken(self, node: str, topic: str, error: KafkaGroupsError) -> StreamsError:
        return StreamsError(sentences(f"{node} in task {self._task_id} cannot write to {topic}: {named(error)}"))

    def dropped(self, node: str, reason: str) -> None:
        """Count and log a record that an operator drops."""
        place = self._record
        self.dropped_records.add(node, reason, place.topic, place.partition, place.offset)

    def skipped(self, node: str, reason: str, partition: TopicPartition, offset: int) -> None:
        """Count and log a record that a source drops."""
        self.dropped_records.add(node, reason, partition.topic, partition.partition, offset)

    def extraction(self, node: str, error: Exception, partition: TopicPartition, offset: int) -> StreamsError:
        """Return the error for an exception of a timestamp extractor."""
        text = f"The timestamp extractor of {node} in task {self._task_id} failed at {partition} offset {offset}"
        remedy = "Let it return a time in ms since 1970 for such a record, or -1 to drop the record"
        return StreamsError(sentences(f"{text}: {named(error)}", *(_mending(error) or (remedy,))))

    def _context(
        self,
        node: str,
        record: tuple[Any, Any, int, Headers],
        output: str | None = None,
        source: RecordContext | None = None,
    ) -> ErrorContext:
        place, (_, _, timestamp_ms, headers) = source or self._record, record
        _, key, value, _, _ = place.raw or _NO_RECORD
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
        # RETRY for an error that cannot be retried is a mistake in the handler, so it is an error that says so. Java
        # logs a warning and fails with the original error (RecordCollectorImpl.maybeFailResponse).
        if response not in _ALLOWED and not may_retry:
            why = "is for errors of writing that can be retried, and this is another one"
            raise StreamsError(_wrong(name, context, error, f"returned {response}, which {why}", "RESUME")) from error
        # The letter is written before the record counts as skipped, so that a letter which cannot be written ends the
        # task, and the record is not lost.
        if response is ErrorResponse.DEAD_LETTER:
            self._dead_letters.write(name, context, error)
        if response in _SKIPPED:
            self._skip(name, context, response, error)
        return response

    def _skip(self, name: str, context: ErrorContext, response: ErrorResponse, error: Exception) -> None:
        """Count and log a record that a handler drops: Java's handlers of all three kinds move that sensor, too."""
        reason, place = _SKIPPED[response].format(name), (context.topic, context.partition, context.offset)
        self.dropped_records.add(context.node, reason, *place, error=error)


def _response(
    name: str, handler: ErrorHandler, context: ErrorContext, record: Record[Any, Any], error: Exception
) -> ErrorResponse:
    try:
        response: object = handler(context, record, error)
    except Exception as raised:
        # A handler is the user's code and may raise anything. That always fails, as Java's nodes do with any exception
        # of a handler (ProcessorNode.process): a decision is missing, so the record must not be skipped.
        text = f"{name} failed for {context.node} at {context.place}: {named(raised)}"
        raise StreamsError(sentences(text, f"It was asked about {named(error)}")) from raised
    # Java refuses null in the same way (Objects.requireNonNull in ProcessorNode.process and RecordCollectorImpl).
    if not isinstance(response, ErrorResponse):
        raise StreamsError(_wrong(name, context, error, f"returned {represented(response)}", "FAIL")) from error
    return response


def _wrong(name: str, context: ErrorContext, error: Exception, what: str, example: str) -> str:
    text = f"{name} {what} about {context.node} at {context.place}"
    remedy = f"Return an ErrorResponse, such as ErrorResponse.{example}"
    return sentences(text, remedy, f"The error was {named(error)}")


def _mending(error: Exception) -> tuple[str, ...]:
    """Return advice if an operator could not call its function: that is a mistake of the program, not of a record."""
    if not has_wrong_arguments(error):
        return ()
    return ("The function does not take the arguments that it is called with, so every record would fail", _MEND)


def _hint(record: tuple[Any, Any, int, Headers]) -> str:
    nulls = [name for name, each in (("key", record[0]), ("value", record[1])) if each is None]
    if not nulls:
        return ""
    what = f"The record's {nulls[0]} was" if len(nulls) == 1 else "The record's key and value were"
    remedy = f"filter such records first: .filter(lambda key, value: {nulls[0]} is not None)"
    return f"{what} null. If your code can't handle that, {remedy}"


def _remedy(name: str, handler: ErrorHandler | None) -> str:
    if handler is not None:
        return ""
    return f"To skip such records or write them to a dead-letter topic, set {name}"
