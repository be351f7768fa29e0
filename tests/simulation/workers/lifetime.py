"""One lifetime of a simulated worker process, and of each handler in it."""

import random
from collections.abc import Sequence

from attrs import define, field

from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.running.runtime import WorkerRuntime
from kafka_groups.testing.simulation import SimulatedProcess
from tests.simulation.workers.plan import LifetimeOptions, Plan

__all__ = ["WorkerLifetime"]


@define(eq=False)
class WorkerLifetime:
    """A handler from a start of its process to the end.

    Attributes:
        number: Counts the lifetimes of the processes of a run. All handlers of a process have the same.
        process: The process.
        plan: Of the handler.
        options: Of the handler.
        rng: Its own randomness.
        member_id: Of its consumer; empty until it has started.
        stalled_until_ms: When it last went on after standing still.
        handling: The rules of its handler, once it has started.
        others: The other handlers of the process.
        copying_since_ms: When each write of dead letters began that are due before records are processed.
    """

    number: int
    process: SimulatedProcess
    plan: Plan
    options: LifetimeOptions
    rng: random.Random
    member_id: str = ""
    stalled_until_ms: int = 0
    handling: "RecordHandling[object] | None" = field(default=None, repr=False)
    others: "Sequence[WorkerLifetime]" = field(default=(), repr=False)
    copying_since_ms: dict[object, int] = field(factory=dict)

    @property
    def name(self) -> str:
        """Its name in traces and violations."""
        return f"{self.process.name}.{self.number}" + (f"/{self.plan.handler}" if self.plan.handlers > 1 else "")

    @property
    def in_process(self) -> "Sequence[WorkerLifetime]":
        """All handlers of the process."""
        return (self, *self.others)

    @property
    def breaker_is_open(self) -> bool:
        """Whether its breaker is open."""
        return self.handling is not None and self.handling.breaker.is_open

    @property
    def is_stopping(self) -> bool:
        """Whether it stops, which leaves no time to run suspects alone in the process."""
        return self.handling is not None and self.handling._stop_ms is not None

    def has_started(self, runtime: WorkerRuntime) -> None:
        """Note the parts of its worker."""
        running = runtime._running[self.plan.handler]
        self.member_id = running.consumer.member_id
        self.handling = running.driver._handling  # type: ignore[assignment] # of any record
