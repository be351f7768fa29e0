"""Handler workers on an embedded cluster in virtual time: their handlers are asynchronous and run on the same loop."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence, Sized
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

from attrs import define, field, frozen

from kafka_groups.client.assembly import Environment
from kafka_groups.errors import DeliveryFailedError
from kafka_groups.records.confirmed.writes import RecordToWrite, WriteOutcome
from kafka_groups.share import Worker
from kafka_groups.share.workers.running.record_writing import TakesOutcomes, TellsHeld
from kafka_groups.share.workers.running.runtime import WorkerRuntime
from kafka_groups.share.workers.running.runtime_settings import RuntimeSettings
from kafka_groups.telemetry.workers import WorkerTelemetry
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.unit.share.clusters import TOPIC, World

Program = Callable[["WorkerWorld"], Awaitable[None]]

DEAD = "orders.dead"


@frozen
class Letter:
    """A dead letter."""

    record: RecordToWrite

    @property
    def value(self) -> bytes | None:
        """The value."""
        return self.record.value

    @property
    def reason(self) -> str:
        """Why the record was given up."""
        return (self._headers["__dlq.errors.message"] or b"").decode()

    @property
    def is_repeated(self) -> bool:
        """Whether it may be a second copy."""
        return "__dlq.errors.possible.duplicate" in self._headers

    @property
    def _headers(self) -> dict[str, bytes | None]:
        return dict(self.record.headers)


class Letters:
    """Takes dead letters, each time in `takes_s`; fails while `is_down`."""

    def __init__(self) -> None:
        self.written: list[Letter] = []
        self.is_down = False
        self.tries = 0
        self.takes_s = 0.01
        self.confirmed_s: list[float] = []

    def room(self, owner: str, took: TakesOutcomes, held: TellsHeld) -> "LettersRoom":
        """Return the room of a handler."""
        return LettersRoom(self, took)

    @property
    def fatal(self) -> None:
        """The error after which nothing can be written: none."""

    async def close(self) -> None:
        """Do nothing."""

    async def write(self, letters: Sequence[RecordToWrite]) -> DeliveryFailedError | None:
        """Write letters."""
        self.tries += 1
        await asyncio.sleep(self.takes_s)
        if self.is_down:
            return DeliveryFailedError("the topic is down", failed=len(letters), unanswered=0, retriable=True)
        self.written += map(Letter, letters)
        self.confirmed_s.append(asyncio.get_running_loop().time())
        return None


@define(eq=False)
class LettersRoom:
    """Writes what a handler gives in one turn together."""

    _letters: Letters
    _took: TakesOutcomes
    _queued: dict[object, Sequence[RecordToWrite]] = field(factory=dict)
    _tasks: set[asyncio.Task[None]] = field(factory=set)
    _parts: dict[object, Sequence[tuple[object, Sequence[RecordToWrite]]]] = field(factory=dict)

    def write(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Write records."""
        if not self._queued:
            task = asyncio.get_running_loop().create_task(self._write())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._queued[token] = records

    def write_each(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Write records."""
        self.write(records, token)

    def divide(self, token: object, parts: Sequence[tuple[object, Sequence[RecordToWrite]]]) -> bool:
        """Continue with parts."""
        self._parts[token] = parts
        return True

    def withdraw(self, token: object) -> bool:
        """Drop records that were not sent."""
        return self._queued.pop(token, None) is not None

    async def _write(self) -> None:
        queued, self._queued = self._queued, {}
        if queued:
            error = await self._letters.write([record for records in queued.values() for record in records])
            tokens = [part for token in queued for part, _ in self._parts.pop(token, [(token, ())])]
            self._took([WriteOutcome(tokens, error)])


class WorkerWorld(World):
    """A cluster with a topic, and workers of the group `g`.

    Attributes:
        letters: Takes the dead letters of all workers.
        telemetry: The figures of all workers.
    """

    def __init__(self, simulation: Simulation, **world: Any) -> None:
        super().__init__(simulation, **world)
        self.letters = Letters()
        self.telemetry = WorkerTelemetry("g")
        self.runtimes: list[WorkerRuntime] = []

    def worker(self, **options: Any) -> Worker:
        """A worker without handlers."""
        return Worker("g", bootstrap_servers=self.cluster.bootstrap_servers, **options)

    def runtime(
        self, worker: Worker, given: Mapping[str, object] = MappingProxyType({}), **settings: Any
    ) -> WorkerRuntime:
        """The runtime of a worker on this loop, with more keys of its consumers."""
        return WorkerRuntime(self.settings(given, **settings), worker.handlers, None, self.telemetry)

    def settings(self, given: Mapping[str, object] = MappingProxyType({}), **settings: Any) -> RuntimeSettings:
        """The settings of a worker on this loop, with more keys of its consumers."""
        return RuntimeSettings(
            group_id="g",
            given={"bootstrap_servers": self.cluster.bootstrap_servers, **given},
            environment=Environment(self.network, self.clock, self.simulation.rng),
            writer=lambda: self.letters,
            timer=asyncio.get_running_loop().time,
            **settings,
        )

    @asynccontextmanager
    async def running(self, worker: Worker, grace_s: float = 5.0, **settings: Any) -> AsyncIterator[WorkerRuntime]:
        """Run a worker in the block, and stop it with this grace."""
        runtime = self.runtime(worker, **settings)
        await runtime.start()
        try:
            yield runtime
        finally:
            runtime.stop(round(1000 * grace_s))
            await runtime.wait()


async def reach(condition: Callable[[], object], limit_s: float = 600.0) -> None:
    """Wait in virtual time until a condition holds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit_s
    while not condition():
        assert loop.time() < deadline, "the condition does not come to hold"
        await asyncio.sleep(0.01)


def has(things: Sized, count: int) -> bool:
    """Return whether there are so many things."""
    return len(things) == count


async def values_left(world: WorkerWorld) -> list[bytes]:
    """The values that another member of the group still gets."""
    async with world.consumer() as consumer:
        await consumer.subscribe([TOPIC])
        return [record.value or b"" for record in await consumer.poll(timeout=5)]


def reasons(runtime: WorkerRuntime) -> str:
    return "; ".join(runtime.health.reasons)


def simulate(program: Program, *, seed: int = 1, limit_s: int = 7200, **world: Any) -> None:
    """Run a program in virtual time; afterwards nothing is left running."""

    async def run(simulation: Simulation) -> None:
        made = WorkerWorld(simulation, **world)
        async with made:
            made.cluster.create_topic(DEAD, 1)
            await program(made)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        assert not tasks, tasks
        await asyncio.sleep(0)
        assert made.network.open_connections == 0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_simulated(run, seed, limit_s=limit_s)
