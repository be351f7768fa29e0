"""The arguments and answers of an application's handlers of errors."""

import enum
from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.streams.topology.records import Record
from kafka_groups.types import Headers, TaskId

__all__ = ["ErrorContext", "ErrorHandler", "ErrorHandlers", "ErrorResponse", "UncaughtErrorResponse"]


class ErrorResponse(enum.Enum):
    """The decision about a record that cannot be read, processed or written.

    Java's handlers also write a dead letter when they fail. Here that is done for `DEAD_LETTER` only.
    """

    # In Java, the ready-made handlers that fail attach dead letters to their answer if there is a topic
    # (ExceptionHandlerUtils.maybeBuildDeadLetterQueueRecords). A record that fails again after each restart would then
    # be in that topic many times.
    FAIL = "fail"
    """End the worker with an error. The record's offset is not committed."""
    RESUME = "resume"
    """Skip the record."""
    # Java's handlers return RESUME together with the records for the dead-letter topic. Here the letter is always the
    # same, so a word is enough.
    DEAD_LETTER = "dead_letter"
    """Write the record to the dead-letter topic, and skip it."""
    # Kafka has it for the production handler only (ProductionExceptionHandler.Result).
    RETRY = "retry"
    """Write the record again. For `production_exception_handler` only, and only for errors that can be retried."""


class UncaughtErrorResponse(enum.Enum):
    """The decision about an error that ends a worker."""

    REPLACE_WORKER = "replace_worker"
    """Start another worker in its place."""
    SHUTDOWN_CLIENT = "shutdown_client"
    """Close this instance of the application, in state ERROR."""
    SHUTDOWN_APPLICATION = "shutdown_application"
    """Close all instances of the application."""


@frozen
class ErrorContext:
    """The place of an error.

    Attributes:
        node: Name of the node.
        task_id: The task.
        topic: Topic of the record that the task was processing; None in a punctuation.
        partition: Its partition, -1 in a punctuation.
        offset: Its offset, -1 in a punctuation.
        timestamp_ms: The timestamp of the record that the node had, or the time of the punctuation.
        headers: The headers of that record.
        source_raw_key: The key of the record that the task was processing, as its topic has it. Behind a
            repartition, that is the repartition topic.
        source_raw_value: Its value, in the same way.
        output_topic: The topic to which the record was to be written, for `production_exception_handler`.
    """

    node: str
    task_id: TaskId
    topic: str | None
    partition: int
    offset: int
    timestamp_ms: int
    headers: Headers = ()
    source_raw_key: bytes | None = None
    source_raw_value: bytes | None = None
    output_topic: str | None = None

    @property
    def place(self) -> str:
        """The record in words."""
        return "a punctuation" if self.topic is None else f"{self.topic}-{self.partition} offset {self.offset}"


ErrorHandler = Callable[[ErrorContext, Record[Any, Any], Exception], ErrorResponse]


@frozen(kw_only=True)
class ErrorHandlers:
    """The handlers of an application. None as a handler: every error fails.

    Attributes:
        deserialization: Decides about records that cannot be decoded.
        processing: Decides about exceptions of the user's code.
        production: Decides about records that cannot be serialised or written.
        dead_letter_topic: The topic for dead letters, or None.
    """

    deserialization: ErrorHandler | None = None
    processing: ErrorHandler | None = None
    production: ErrorHandler | None = None
    dead_letter_topic: str | None = None
