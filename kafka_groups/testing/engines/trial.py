"""The engines that one check opens."""

import threading
from collections.abc import Callable, Mapping
from typing import Final

from kafka_groups import serdes
from kafka_groups.streams.engines.interface import EngineFactory, TaskEngine
from kafka_groups.streams.state import stores
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.testing.engines.engine_failure import EngineTestError
from kafka_groups.types import TaskId

__all__ = ["DEFINITIONS", "KEPT", "OTHER_TASK", "TASK", "VOLATILE", "EngineTrial"]

KEPT: Final = "kept"
"""The store that outlasts its task."""

VOLATILE: Final = "volatile"
"""The store that is in memory."""

TASK: Final = TaskId("0", 0)
OTHER_TASK: Final = TaskId("0", 1)

_ATTEMPTS: Final = 1_000
_PAUSE_S: Final = 0.01

DEFINITIONS: Final = (
    stores.key_value(KEPT, serdes.bytes_, serdes.bytes_, persistent=True),
    stores.key_value(VOLATILE, serdes.bytes_, serdes.bytes_, persistent=False),
)


class EngineTrial:
    """Opens engines, as processes do that follow each other. Close it in the end.

    Args:
        make: Makes the factory of a process.
        outlasts: Whether state outlasts its process.
    """

    def __init__(self, make: Callable[[], EngineFactory], *, outlasts: bool) -> None:
        self.outlasts = outlasts
        self._make = make
        self._open: list[TaskEngine] = []
        self.factory = make()
        for task_id in (TASK, OTHER_TASK):
            self.factory.wipe(task_id)
        self.factory.wipe_global()

    def open(self, task_id: TaskId = TASK) -> TaskEngine:
        """Open a task, which is active then.

        Raises:
            EngineTestError: It is not opened in time.
        """
        return self._opened(lambda: self.factory.open(task_id, DEFINITIONS))

    def open_global(self, stores_by_topic: Mapping[str, StoreDefinition]) -> TaskEngine:
        """Open global stores.

        Raises:
            EngineTestError: They are not opened in time.
        """
        return self._opened(lambda: self.factory.open_global(stores_by_topic))

    def _opened(self, attempt: Callable[[], TaskEngine | None]) -> TaskEngine:
        pause = threading.Event()
        for _ in range(_ATTEMPTS):
            engine = attempt()
            if engine is not None:
                engine.set_status(EngineStatus.ACTIVE)
                self._open.append(engine)
                return engine
            pause.wait(_PAUSE_S)
        raise EngineTestError("The factory has not opened a state that nobody has open within ten seconds")

    def restart(self) -> None:
        """Close everything, and begin as the next process."""
        self.close()
        self.factory = self._make()

    def close(self) -> None:
        """Close what is open."""
        while self._open:
            self._open.pop().close()
