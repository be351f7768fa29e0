"""The disk of a simulated process: engines in memory whose committed state outlasts the process."""

from collections.abc import Collection, Mapping
from typing import Final

from attrs import define, field

from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.engines.split_engine import SplitEngine
from kafka_groups.streams.state.engine import Changes
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.types import TaskId

__all__ = ["DormantTasks", "KeptEngines", "SimulatedDisk"]

_EVERYTHING: Final = ""


@define(eq=False)
class SimulatedDisk:
    """The state that a process has left. A process of the same name finds it.

    Attributes:
        engines: Those of tasks, by their ids, and of global stores, by the numbers of their workers.
    """

    engines: dict[TaskId | int, SharedEngine] = field(factory=dict)


class KeptEngines:
    """Makes the engines of a worker in a simulated process.

    As on a real disk, each process that opens the state of a task continues in a generation of its own: nobody
    sees what a former owner that still lives writes afterwards.

    Args:
        disk: The disk of the process.
        number: Which worker of the process this is.
    """

    def __init__(self, disk: SimulatedDisk, number: int = 1) -> None:
        self._disk = disk
        self._number = number

    def __repr__(self) -> str:
        return f"<KeptEngines: {len(self._disk.engines)} states>"

    def open(self, task_id: TaskId, stores: Collection[StoreDefinition]) -> TaskEngine:
        """Return an engine with what was committed."""
        return self._opened(task_id, stores)

    def open_global(self, stores: Mapping[str, StoreDefinition]) -> TaskEngine:
        """Return the engine of the worker's global stores with what was committed."""
        return self._opened(self._number, stores.values())

    def _opened(self, of: TaskId | int, stores: Collection[StoreDefinition]) -> TaskEngine:
        kept = [store.name for store in stores if store.persistent]
        if not kept:
            return SharedEngine()
        engine = SharedEngine()
        left = self._disk.engines.get(of)
        if left is not None:
            engine.load(_rows(left), left.positions, left.notes)
        self._disk.engines[of] = engine
        return engine if len(kept) == len(stores) else SplitEngine(engine, SharedEngine(), kept)

    def give_up(self, _task_id: TaskId) -> None:
        """Forget nothing: each opening succeeds."""

    def give_up_global(self) -> None:
        """Forget nothing, either."""

    def wipe(self, task_id: TaskId) -> None:
        """Delete what is there of a task's state."""
        self._disk.engines.pop(task_id, None)

    def wipe_global(self) -> None:
        """Delete what is there of the global stores."""
        self._disk.engines.pop(self._number, None)

    def positions_left(self) -> dict[TaskId, int]:
        """Return the sum of the positions of each task whose state is there and not open."""
        closed = [(of, each) for of, each in self._disk.engines.items() if not each.is_open]
        return {of: sum(each.positions.values()) for of, each in closed if isinstance(of, TaskId)}

    def tidy(self) -> None:
        """Delete nothing: a simulation is too short."""


class DormantTasks:
    """The state of dormant tasks in a simulated process: `DormantState` of a worker.

    Args:
        engines: What the worker has on the disk of the process.
        claims: The workers of this life of the process that name tasks, by the tasks.
        number: Which worker of the process this is.
    """

    def __init__(self, engines: KeptEngines, claims: dict[TaskId, int], number: int) -> None:
        self._engines = engines
        self._claims = claims
        self._number = number

    def __repr__(self) -> str:
        return f"<DormantTasks of worker {self._number}: {sorted(self._claims)} are claimed>"

    def claim(self) -> dict[TaskId, int]:
        """Return the sums of positions of the tasks that this worker names."""
        self.release()
        left = self._engines.positions_left()
        found = {task: offset for task, offset in left.items() if task not in self._claims}
        self._claims.update(dict.fromkeys(found, self._number))
        return found

    def release(self) -> None:
        """Let other workers of the process claim everything."""
        for task in [task for task, number in self._claims.items() if number == self._number]:
            del self._claims[task]


def _rows(engine: SharedEngine) -> Changes:
    return {name: dict(engine.table(name).scan(b"", None)) for name in engine.tables(_EVERYTHING)}
