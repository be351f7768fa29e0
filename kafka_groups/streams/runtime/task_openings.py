"""Opens the engines of tasks that the group has assigned, again and again where that does not succeed at once."""

from collections.abc import Collection

from kafka_groups.net.clock import Clock
from kafka_groups.streams.engines.interface import EngineFactory, TaskEngine
from kafka_groups.streams.errors import StateDiskError, StateFilesError
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.types import TaskId

__all__ = ["TaskOpenings"]

_ENDLESS_MS = 1 << 62
"""A disk may be full for any time: that ends no worker, as its other tasks have other disks, or less to write."""


class TaskOpenings:
    """The openings of a worker's engines.

    Args:
        factory: Makes the engines.
        clock: Tells the time between two attempts.
    """

    def __init__(self, factory: EngineFactory, clock: Clock) -> None:
        self._factory = factory
        self._clock = clock
        self._outages: dict[TaskId, TaskTimeout] = {}

    def __repr__(self) -> str:
        return f"<TaskOpenings: {len(self._outages)} failed>"

    def open(self, task_id: TaskId, stores: Collection[StoreDefinition]) -> TaskEngine | None:
        """Return the engine of a task, or None if it cannot be opened yet."""
        outage = self._outages.get(task_id)
        if outage is not None and not outage.may_try:
            return None
        try:
            engine = self._factory.open(task_id, stores)
        except StateDiskError as error:
            self.note(task_id, error)
            return None
        if engine is not None:
            self._outages.pop(task_id, None)
        return engine

    def note(self, task_id: TaskId, error: StateFilesError) -> None:
        """Log why a task has no engine. It is opened again after a pause, which grows."""
        outage = self._outages.setdefault(task_id, TaskTimeout(self._clock, _ENDLESS_MS))
        outage.note(f"Task {task_id} waits for its stores", error)

    def give_up(self, task_id: TaskId) -> None:
        """Forget a task that has gone."""
        self._outages.pop(task_id, None)
        self._factory.give_up(task_id)

    def obstacle(self, task_id: TaskId) -> str:
        """Return why the task of an engine does not run."""
        outage = self._outages.get(task_id)
        return (outage and outage.obstacle) or f"task {task_id} waits until its stores can be opened"
