"""The committed state of a task as its worker and queries of other threads see it, and the interface of its makers."""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from kafka_groups.streams.state.engine import Engine, EngineReader, EngineStatus
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.types import TaskId

__all__ = ["EngineFactory", "TaskEngine"]


class TaskEngine(Engine, Protocol):
    """The committed state of one task, which its worker changes and queries of other threads read."""

    @property
    def is_open(self) -> bool:
        """False when the task has gone: what the engine has then is not followed by anybody."""

    @property
    def status(self) -> EngineStatus:
        """The use that its owner makes of it."""

    @property
    def place(self) -> tuple[Path, int] | None:
        """The folder of its environment, and the inode of the file with its status; None if nobody else reads it."""

    def moment(self, store: str, *, allows_stale: bool = False) -> AbstractContextManager[EngineReader]:
        """Return what queries of other threads read a store from: what was committed at one moment.

        Read all that you need within the context. The worker may wait for its end.

        Args:
            store: The store, for errors.
            allows_stale: Whether the task may be a standby, or be restored.

        Raises:
            InvalidStateStoreError: The task has gone, or runs elsewhere and only has a copy here.
        """

    def count(self, store: str) -> int:
        """Return how many rows of a store are committed. Some of them may have expired."""

    @property
    def is_damaged(self) -> bool:
        """True if a read or a write has found damage: the next opening begins without what there is."""


class EngineFactory(Protocol):
    """Makes the engines of a worker, each for one task."""

    def open(self, task_id: TaskId, stores: Collection[StoreDefinition]) -> TaskEngine | None:
        """Return the engine of a task that is new in its worker, with what is still there of its state.

        Args:
            task_id: The task.
            stores: Its stores.

        Returns:
            None: not yet. Ask again, or give up.

        Raises:
            StateDiskError: Its files cannot be read or written. Asking again may help.
        """

    def open_global(self, stores: Mapping[str, StoreDefinition]) -> TaskEngine | None:
        """Return the engine of the worker's global stores, with what is still there of their state.

        Args:
            stores: The stores, by the topics that fill them.

        Returns:
            None: not yet. Ask again, or give up.

        Raises:
            StateDiskError: Its files cannot be read or written. Asking again may help.
        """

    def give_up(self, task_id: TaskId) -> None:
        """Forget an opening that has not succeeded: nobody needs the task any more."""

    def give_up_global(self) -> None:
        """Forget an opening of the global stores that has not succeeded."""

    def wipe(self, task_id: TaskId) -> None:
        """Delete what is there of a task's state. Its engine is closed.

        Raises:
            StateDiskError: It cannot be deleted.
        """

    def wipe_global(self) -> None:
        """Delete what is there of the state of the worker's global stores. Their engine is closed.

        Raises:
            StateDiskError: It cannot be deleted.
        """

    def positions_left(self) -> Mapping[TaskId, int]:
        """Return the sum of the positions of each task whose state is there and not open.

        Raises:
            StateDiskError: It cannot be read.
        """

    def tidy(self) -> None:
        """Delete the state of tasks that have been elsewhere for long. Called again and again."""
