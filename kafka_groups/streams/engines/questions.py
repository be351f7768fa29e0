"""Questions to a store, as they are sent to the process that has its tasks, and the answers of each task."""

import enum
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from itertools import count
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from attrs import frozen

from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.errors import StateFilesError, StoreNotAvailableError
from kafka_groups.streams.state.engine import EngineReader, EngineStatus
from kafka_groups.streams.state.position import inputs_in
from kafka_groups.streams.state.stored_rows import PageOf, RowsOf, read_page, read_row, read_rows, read_version
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.types import TaskId

__all__ = ["About", "OfTask", "RowOf", "StoreQuestion", "TaskAnswer", "VersionOf", "answers", "found_in", "token_of"]

_tokens: WeakKeyDictionary[TaskEngine, tuple[int, int]] = WeakKeyDictionary()
_numbers = count(1)


class OfTask(enum.Enum):
    """Facts about a task that are not rows of the store."""

    EXISTENCE = "existence"
    INPUTS = "inputs"


@frozen
class RowOf:
    """A row of a store.

    Attributes:
        row: Its key in the store.
    """

    row: bytes


@frozen
class VersionOf:
    """A version in a versioned store.

    Attributes:
        key: The key.
        as_of_ms: The time at which it is valid; None for the newest one.
    """

    key: bytes
    as_of_ms: int | None


About = RowOf | RowsOf | VersionOf | PageOf | OfTask
"""The subject of a question."""


@frozen
class StoreQuestion:
    """A question to a store.

    Attributes:
        store: The name of the store.
        about: Its subject, which can be pickled.
        allows_stale: Whether standby tasks and tasks that are being restored answer, too.
        partition: The partition whose task is asked; None for all.
    """

    store: str
    about: About
    allows_stale: bool = False
    partition: int | None = None


@frozen
class TaskAnswer:
    """The answer of one task.

    Attributes:
        task_id: The task.
        token: Another one if the state of the task was closed in between.
        found: The bytes of the row or version, or None; the rows; the page; or the offsets of the next input records.
        partitions: The number of partitions of the store in the whole application.
        is_restoring: Whether the task is active and has not everything yet.
    """

    task_id: TaskId
    token: tuple[int, int]
    found: Any
    partitions: int
    is_restoring: bool = False


def answers(
    question: StoreQuestion, definition: StoreDefinition, engines: Iterable[tuple[TaskId, TaskEngine]], partitions: int
) -> list[TaskAnswer]:
    """Ask each task. What a task answers is of one moment.

    Args:
        question: The question.
        definition: The store.
        engines: The tasks of this worker that have it.
        partitions: The number of its partitions in the whole application.

    Raises:
        InvalidStateStoreError: A task has just gone, or its files cannot be read.
    """
    wanted = ((task_id, engine) for task_id, engine in engines if question.partition in {None, task_id.partition})
    try:
        return [
            TaskAnswer(
                task_id, token_of(engine), found_in(question, definition, engine), partitions, _is_restoring(engine)
            )
            for task_id, engine in wanted
        ]
    except StateFilesError as error:  # the task's worker finds that, too, and lets it begin again
        raise StoreNotAvailableError(str(error)) from error


class Readable(Protocol):
    """The state of a task, to read it."""

    def moment(self, store: str, *, allows_stale: bool = False) -> AbstractContextManager[EngineReader]:
        """Return what was committed at one moment, as a `TaskEngine` does."""


def found_in(question: StoreQuestion, definition: StoreDefinition, engine: Readable) -> Any:
    """Return what a task has.

    Raises:
        InvalidStateStoreError: It has just gone.
        StateFilesError: Its files cannot be read.
    """
    # Within the moment, nobody's code is called: it may take long, or ask a store itself, and the worker waits for it.
    about = question.about
    with engine.moment(question.store, allows_stale=question.allows_stale) as reader:
        if isinstance(about, RowOf):
            return read_row(definition, reader, about.row)
        if isinstance(about, RowsOf):
            return read_rows(definition, reader, about.rows)
        if isinstance(about, VersionOf):
            return read_version(definition, reader, about.key, about.as_of_ms)
        if isinstance(about, PageOf):
            return read_page(definition, reader, about)
        return inputs_in(reader.notes) if about is OfTask.INPUTS else None


def _is_restoring(engine: TaskEngine) -> bool:
    return engine.status is EngineStatus.RESTORING


def token_of(engine: TaskEngine) -> tuple[int, int]:
    """Return the token of the state of a task of this process."""
    # The state of a task that ends and comes back is another one, also if it has the same rows.
    return _tokens.setdefault(engine, (os.getpid(), next(_numbers)))
