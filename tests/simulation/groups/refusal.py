"""A log that refuses the next record of a kind, such as the one with the new id of a member."""

from collections.abc import Sequence
from typing import Any

from attrs import define

from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.faults.late_storage import LateStorage
from tests.simulation.groups.coordination import within

__all__ = ["Refusal"]

_PATIENCE_S = 5.0


@define(eq=False)
class Refusal:
    """Refuses one append when it is told to.

    Attributes:
        world: Where the log is.
        kind: The type of record.
        name: What the fault is counted as.
        is_due: Whether the next append with such a record is refused.
    """

    world: SimulatedWorld
    kind: type
    name: str
    is_due: bool = False

    def install(self) -> None:
        """Have the logs of coordinators ask."""
        storage = self.world.cluster.logs.storage
        assert isinstance(storage, LateStorage)
        storage.refuse_if = self._refuses

    async def strike(self) -> None:
        """Wait until an append was refused, or for some seconds."""
        await within(_PATIENCE_S, lambda: not self.is_due)
        self.is_due = False

    def _refuses(self, records: Sequence[Any]) -> bool:
        is_due = self.is_due and any(isinstance(each, self.kind) for each in records)
        if is_due:
            self.is_due = False
            self.world.struck[self.name] += 1
        return is_due
