"""Questions to a store, as they are sent to the process that has its tasks, and the answers of each task."""

import os
from collections.abc import Iterable
from itertools import count, islice
from typing import Any, Final
from weakref import WeakKeyDictionary

from attrs import frozen

from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.errors import StateFilesError, StoreNotAvailableError
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.streams.state.opened_state import open_state
from kafka_groups.streams.state.position import inputs_in
from kafka_groups.streams.state.state_store import RecordContext, StoreSurroundings
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.types import TaskId

__all__ = ["PAGE_ROWS", "StoreQuestion", "TaskAnswer", "answers"]

PAGE_ROWS: Final = 1_000
"""The most rows of a range in one answer."""

_tokens: WeakKeyDictionary[TaskEngine, tuple[int, int]] = WeakKeyDictionary()
_numbers = count(1)


@frozen
class StoreQuestion:
    """A question to a store.

    Attributes:
        store: The name of the store.
        method: The method of the store's state in each task; `rows` for a part of a key-value store; `inputs` for the
            offsets of the next records of the task's inputs; `exists` for nothing but the tasks that have the store.
        args: Its arguments. All of them can be pickled.
        allows_stale: Whether standby tasks and tasks that are being restored answer, too.
        partition: The partition whose task is asked; None for all.
    """

    store: str
    method: str
    args: tuple[Any, ...] = ()
    allows_stale: bool = False
    partition: int | None = None


@frozen
class TaskAnswer:
    """The answer of one task.

    Attributes:
        task_id: The task.
        token: Another one if the state of the task was closed in between.
        found: What the method returned, in bytes.
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
            TaskAnswer(task_id, _token(engine), _found(question, definition, engine), partitions, _is_restoring(engine))
            for task_id, engine in wanted
        ]
    except StateFilesError as error:  # the task's worker finds that, too, and lets it begin again
        raise StoreNotAvailableError(str(error)) from error


def _found(question: StoreQuestion, definition: StoreDefinition, engine: TaskEngine) -> Any:
    with engine.moment(question.store, allows_stale=question.allows_stale) as reader:
        if question.method == "exists":
            return None
        if question.method == "inputs":
            return inputs_in(reader.notes)
        surroundings = StoreSurroundings(topic="", engine=reader, record=RecordContext(), is_caching=False)
        if question.method == "rows":
            low, high, is_reverse = question.args
            return list(islice(reader.table(question.store).scan(low, high, reverse=is_reverse), PAGE_ROWS))
        return getattr(open_state(definition, surroundings), question.method)(*question.args)


def _is_restoring(engine: TaskEngine) -> bool:
    return engine.status is EngineStatus.RESTORING


def _token(engine: TaskEngine) -> tuple[int, int]:
    # The state of a task that ends and comes back is another one, also if it has the same rows.
    return _tokens.setdefault(engine, (os.getpid(), next(_numbers)))
