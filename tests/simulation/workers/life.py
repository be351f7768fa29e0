"""One life of a simulated worker process."""

import random

from attrs import define, field

from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.running.runtime import WorkerRuntime
from kafka_groups.testing.simulation import SimulatedProcess
from tests.simulation.workers.plan import LifeOptions

__all__ = ["Life"]


@define(eq=False)
class Life:
    """From a start of the process to its end.

    Attributes:
        number: Counts the lives of a run.
        process: The process.
        options: Of its handler.
        rng: Its own randomness.
        member_id: Of its consumer; empty until it has started.
        stalled_until_ms: When it last went on after standing still.
        handling: The rules of its handler, once it has started.
    """

    number: int
    process: SimulatedProcess
    options: LifeOptions
    rng: random.Random
    member_id: str = ""
    stalled_until_ms: int = 0
    handling: "RecordHandling[object] | None" = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Its name in traces and violations."""
        return f"{self.process.name}.{self.number}"

    @property
    def breaker_is_open(self) -> bool:
        """Whether its breaker is open."""
        return self.handling is not None and self.handling.breaker.is_open

    def has_started(self, runtime: WorkerRuntime) -> None:
        """Note the parts of its worker."""
        [running] = runtime._running
        self.member_id = running.consumer.member_id
        self.handling = running.driver._handling  # type: ignore[assignment] # of any record
