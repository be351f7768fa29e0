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

__all__ = ["KeptEngines", "SimulatedDisk"]

_EVERYTHING: Final = ""


@define(eq=False)
class SimulatedDisk:
    """The state that a process has left, by tasks. A process of the same name finds it."""

    engines: dict[TaskId, SharedEngine] = field(factory=dict)


class KeptEngines:
    """Makes the engines of a worker in a simulated process.

    As on a real disk, each process that opens the state of a task continues in a generation of its own: nobody
    sees what a former owner that still lives writes afterwards.

    Args:
        disk: The disk of the process.
    """

    def __init__(self, disk: SimulatedDisk) -> None:
        self._disk = disk

    def __repr__(self) -> str:
        return f"<KeptEngines of {len(self._disk.engines)} tasks>"

    def open(self, task_id: TaskId, stores: Collection[StoreDefinition]) -> TaskEngine:
        """Return an engine with what was committed."""
        kept = [store.name for store in stores if store.persistent]
        if not kept:
            return SharedEngine()
        engine = SharedEngine()
        left = self._disk.engines.get(task_id)
        if left is not None:
            engine.load(_rows(left), left.positions, left.notes)
        self._disk.engines[task_id] = engine
        return engine if len(kept) == len(stores) else SplitEngine(engine, SharedEngine(), kept)

    def open_global(self, _stores: Mapping[str, StoreDefinition]) -> TaskEngine:
        """Return an engine without rows: a simulated process fills its global stores at each start."""
        return SharedEngine()

    def give_up(self, _task_id: TaskId) -> None:
        """Forget nothing: each opening succeeds."""

    def give_up_global(self) -> None:
        """Forget nothing, either."""

    def wipe(self, task_id: TaskId) -> None:
        """Delete what is there of a task's state."""
        self._disk.engines.pop(task_id, None)

    def wipe_global(self) -> None:
        """Delete nothing: global stores end with their process."""

    def positions_left(self) -> dict[TaskId, int]:
        """Return the sum of the positions of each task whose state is there and not open."""
        closed = {task_id: each for task_id, each in self._disk.engines.items() if not each.is_open}
        return {task_id: sum(each.positions.values()) for task_id, each in closed.items()}

    def tidy(self) -> None:
        """Delete nothing: a simulation is too short."""


def _rows(engine: SharedEngine) -> Changes:
    return {name: dict(engine.table(name).scan(b"", None)) for name in engine.tables(_EVERYTHING)}
