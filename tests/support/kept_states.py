"""The state of a task on disk, as processes that end in various ways leave it."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka_groups import serdes
from kafka_groups.net.clock import Clock
from kafka_groups.streams import stores
from kafka_groups.streams.engines.generations import Generation
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.owned_engine import DiskEngine
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["BOOT", "CHANGELOG", "DEFINED", "PERSISTENT", "TASK", "Kept"]

BOOT = "boot 1"
TASK = TaskId("0", 0)
CHANGELOG = TopicPartition("app-counts-changelog", 0)
NEVER = 1 << 40
"""A transaction that no file has reached."""
PERSISTENT = stores.key_value("counts", serdes.string, serdes.string, persistent=True)
DEFINED = tuple(stores.key_value(name, serdes.string, serdes.string, persistent=True) for name in ("a", "b"))
"""Two stores of one task."""


class Kept:
    """The folder of an application with the state of one task.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()

    @property
    def task(self) -> Path:
        """The folder of the task."""
        return self.folder / "tasks" / str(TASK)

    def engines(self, boot: str = BOOT, clock: Clock | None = None) -> DiskEngines:
        """The engines of a process."""
        return DiskEngines(self.folder, boot, clock or self.clock)

    def opened(self, defined: Collection[StoreDefinition] = (PERSISTENT,), boot: str = BOOT) -> DiskEngine:
        """Open the task, which must succeed at once."""
        engine = self.engines(boot).open(TASK, defined)
        assert isinstance(engine, DiskEngine)
        return engine

    def committed(self, defined: Collection[StoreDefinition] = (PERSISTENT,)) -> DiskEngine:
        """Open the task, and commit a row with its position."""
        engine = self.opened(defined)
        engine.commit({"counts": {b"k": b"v"}}, {CHANGELOG: 7})
        return engine

    @contextmanager
    def owned_elsewhere(self, number: int = 1) -> Iterator[Path]:
        """Have a generation in use, as by another process. It has no files open: no process may do that twice."""
        owner = Generation(self.task / str(number))
        assert owner.own()
        try:
            yield owner.path
        finally:
            owner.disown()

    def numbers(self) -> list[int]:
        """The generations that there are, and those that do not count yet."""
        return sorted(int(each.name.partition(".")[0]) for each in self.task.iterdir())

    def mark(self, number: int = 1) -> dict[str, Any]:
        """The mark of a generation, as it is in its file."""
        found: dict[str, Any] = json.loads(self._mark_path(number).read_text(encoding="utf-8"))
        return found

    def change_mark(self, changes: Mapping[str, object], number: int = 1) -> None:
        """Write other values into the mark of a generation. Openings are those without a commit."""
        never = {"transaction": NEVER} if "openings" in changes else {}
        self.write_mark(json.dumps({**self.mark(number), **never, **changes}), number)

    def write_mark(self, text: str, number: int = 1) -> None:
        """Write a text in place of the mark of a generation."""
        self._mark_path(number).write_text(text, encoding="utf-8")

    def _mark_path(self, number: int) -> Path:
        return self.task / str(number) / "mark.json"

    @staticmethod
    def kill(engine: DiskEngine) -> None:
        """End the process of an engine, as the system does it: nobody writes a mark."""
        LmdbEngine.close(engine)
        engine._generation.disown()
