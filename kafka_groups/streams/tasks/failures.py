"""Decisions about exceptions of the user's code and about bytes that cannot be decoded."""

import enum
from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.state.store import RecordContext
from kafka_groups.streams.topology.records import Record
from kafka_groups.types import Headers, TaskId, TopicPartition

__all__ = ["ErrorContext", "ErrorResponse", "TaskFailures"]


class ErrorResponse(enum.Enum):
    """The decision about a record that cannot be processed."""

    FAIL = "fail"
    RESUME = "resume"


@frozen
class ErrorContext:
    """The place of an error.

    Attributes:
        node: Name of the node.
        task_id: The task.
        topic: Topic of the record that the task was processing; None in a punctuation.
        partition: Its partition.
        offset: Its offset.
        timestamp_ms: The timestamp of the record that the node had.
    """

    node: str
    task_id: TaskId
    topic: str | None
    partition: int
    offset: int
    timestamp_ms: int


ErrorHandler = Callable[[ErrorContext, Record[Any, Any], Exception], ErrorResponse]


class TaskFailures:
    """Asks the application's handler about each exception.

    Attributes:
        dropped_records: How many records operators dropped, by node and reason.
    """

    def __init__(
        self,
        task_id: TaskId,
        record: RecordContext,
        processing: ErrorHandler | None,
        deserialization: ErrorHandler | None,
    ) -> None:
        self._task_id = task_id
        self._record = record
        self._processing = processing
        self._deserialization = deserialization
        self.dropped_records: dict[tuple[str, str], int] = {}

    def processing(self, node: str, error: Exception, record: tuple[Any, Any, int, Headers]) -> None:
        """Raise, or return to skip the record."""
        if isinstance(error, StreamsError):  # of a child, and decided there
            raise error
        key, value, timestamp_ms, headers = record
        place = self._record
        context = ErrorContext(node, self._task_id, place.topic, place.partition, place.offset, timestamp_ms)
        if not _resumes(self._processing, context, Record(key, value, timestamp_ms, headers), error):
            raise StreamsError(_told(context, key, value, error)) from error

    def deserialization(
        self, node: str, error: Exception, partition: TopicPartition, offset: int, record: Record[Any, Any]
    ) -> None:
        """Raise, or return to skip a record of a source that cannot be decoded; its key and value are bytes."""
        place = ErrorContext(node, self._task_id, partition.topic, partition.partition, offset, record.timestamp_ms)
        if not _resumes(self._deserialization, place, record, error):
            text = f"{node} in task {self._task_id} cannot decode {partition} offset {offset}: {error}"
            raise StreamsError(text) from error

    def dropped(self, node: str, reason: str) -> None:
        """Count a record that an operator drops."""
        self.dropped_records[node, reason] = self.dropped_records.get((node, reason), 0) + 1


def _resumes(handler: ErrorHandler | None, context: ErrorContext, record: Record[Any, Any], error: Exception) -> bool:
    return handler is not None and handler(context, record, error) is ErrorResponse.RESUME


def _told(context: ErrorContext, key: Any, value: Any, error: Exception) -> str:
    place = f"{context.topic}-{context.partition} offset {context.offset}" if context.topic else "a punctuation"
    text = f"{context.node} in task {context.task_id} failed at {place}: {type(error).__name__}: {error}"
    nulls = [name for name, each in (("key", key), ("value", value)) if each is None]
    if nulls:
        which = " and ".join(nulls)
        text += f". The record's {which} was null. If your code can't handle that, filter such records first: "
        text += f".filter(lambda key, value: {nulls[0]} is not None)"
    return text
