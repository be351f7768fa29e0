"""The handler under test: does what its records say, and keeps the journal."""

import asyncio
from collections.abc import Callable
from typing import Any

from attrs import define

from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.batch import Batch
from kafka_groups.share.workers.rules.dead_letter_headers import record_id
from kafka_groups.share.workers.rules.failures.signals import Reject, Retry
from kafka_groups.share.workers.running.attempts import current_attempt
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.workers.jobs import (
    BusyError,
    FatalError,
    FlakyError,
    HarmlessError,
    Job,
    JobKind,
    PoisonError,
    SinkBrokenError,
    WorthlessError,
)
from tests.simulation.workers.journal import HandlerJournal, JobAttempt
from tests.simulation.workers.lifetime import WorkerLifetime
from tests.simulation.workers.output_log import OutputLog

__all__ = ["SimulatedHandler", "Sink"]

_PACES_S = (0, 0, 0, 0.01, 0.1, 0.5)
_SLOW_S = (1, 12)
_STUBBORN_S = 2
_FOR_EVER_S = 3_600


@define
class Sink:
    """Where the results go; it is down at times.

    Attributes:
        down_until_ms: Until when it is down.
        is_refused: Whether it says so with a ConnectionError, and not with another error.
    """

    down_until_ms: int = 0
    is_refused: bool = True

    def check(self, now_ms: int) -> None:
        """Raise an error if it is down.

        Raises:
            ConnectionError: It is down.
            SinkBrokenError: It is down.
        """
        if now_ms < self.down_until_ms:
            raise ConnectionError("down") if self.is_refused else SinkBrokenError("down")


@define(eq=False)
class SimulatedHandler:
    """The handler of one lifetime of a process.

    Attributes:
        world: Where it runs.
        lifetime: The lifetime.
        journal: Notes what it does.
        sink: Where the results go.
        outputs: Notes the results that are written.
        is_mended: Returns whether poison is good now.
        kill: Kills the process.
    """

    world: SimulatedWorld
    lifetime: WorkerLifetime
    journal: HandlerJournal
    sink: Sink
    outputs: OutputLog
    is_mended: Callable[[], bool]
    kill: Callable[[WorkerLifetime], None]

    async def single(self, value: bytes, record: AnyRecord) -> list[bytes]:
        """Handle a record, and return its results."""
        attempt = self._began(record)
        job = Job.parsed(value)
        try:
            await self._spend(job, record)
            self.sink.check(self.world.clock.now_ms())
            error = self._error_of(job, record)
            if error is not None:
                raise error
        except (Exception, asyncio.CancelledError) as error:
            self._ended(attempt, error)
            raise
        self._ended(attempt)
        return self.outputs.results(attempt, record) if self.lifetime.plan.has_outputs else []

    async def batch(self, batch: Batch[bytes]) -> None:
        """Handle a batch."""
        attempts = [self._began(record) for record in batch.records]
        try:
            errors = await self._errors_of(batch)
        except (Exception, asyncio.CancelledError) as error:
            for attempt in attempts:
                self._ended(attempt, error)
            raise
        for index, attempt in enumerate(attempts):
            own_error = errors.get(index)
            if own_error is not None:
                batch.retry(index, own_error)
            self._ended(attempt, own_error)
            if own_error is None and self.lifetime.plan.has_outputs:
                batch.output(index, *self.outputs.results(attempt, batch.records[index]))

    async def _errors_of(self, batch: Batch[bytes]) -> dict[int, Exception]:
        errors: dict[int, Exception] = {}
        jobs = [Job.parsed(value) for value in batch]
        await asyncio.gather(*map(self._spend, jobs, batch.records))
        for index, (job, record) in enumerate(zip(jobs, batch.records, strict=True)):
            error = self._error_of(job, record)
            if error is not None and job.number % 2 == 0:
                raise error
            if error is not None:
                errors[index] = error
        self.sink.check(self.world.clock.now_ms())
        return errors

    def _began(self, record: AnyRecord) -> JobAttempt:
        number = current_attempt().number
        self.outputs.began(self.lifetime, record)
        self.world.note(self.lifetime.name, "began", record.partition, record.offset, record.delivery_count, number)
        return self.journal.began(self.lifetime, record, number)

    def _ended(self, attempt: JobAttempt, error: BaseException | None = None) -> None:
        result = "success" if error is None else type(error).__name__
        partition, offset = attempt.place
        self.world.note(self.lifetime.name, "ended", partition.partition, offset, result)
        is_accepted = error is None or isinstance(error, HarmlessError)
        self.journal.ended(attempt, result, is_accepted=is_accepted)

    # ------------------------------------------------------------------------------------------ what it does

    async def _spend(self, job: Job, record: AnyRecord) -> None:
        """Take some time, or the process down."""
        rng = self.lifetime.rng
        if job.kind is JobKind.KILLER and record.delivery_count <= job.number:
            await asyncio.sleep(rng.choice(_PACES_S))
            self.kill(self.lifetime)
            await asyncio.Event().wait()
        elif job.kind is JobKind.SLOW:
            await asyncio.sleep(rng.uniform(*_SLOW_S))
        elif job.kind is JobKind.STUBBORN:
            await self._ignore_cancelling(rng.uniform(_STUBBORN_S, self.lifetime.options.most_stubborn_s))
        elif job.kind is JobKind.HANGING and self.lifetime.options.timeout is not None and not self.is_mended():
            await asyncio.sleep(_FOR_EVER_S)
        elif pace_s := rng.choice(_PACES_S):
            await asyncio.sleep(pace_s)

    async def _ignore_cancelling(self, seconds: float) -> None:
        end_ms = self.world.clock.now_ms() + round(1000 * seconds)
        while (left_ms := end_ms - self.world.clock.now_ms()) > 0:
            try:
                await asyncio.sleep(left_ms / 1000)
            except asyncio.CancelledError:
                self.world.note(self.lifetime.name, "ignores cancelling")

    def _error_of(self, job: Job, record: AnyRecord) -> Exception | None:
        errors: dict[JobKind, Any] = {
            JobKind.POISON: None if self.is_mended() else PoisonError("bad"),
            JobKind.BAD: Reject("not wanted"),
            JobKind.HARMLESS: HarmlessError("never mind"),
            JobKind.WORTHLESS: WorthlessError("throw it away"),
            JobKind.BUSY: BusyError("busy") if record.delivery_count == 1 else None,
            JobKind.FATAL: FatalError("stop") if record.delivery_count == 1 else None,
            JobKind.FLAKY: self._flaky(job, record),
        }
        error: Exception | None = errors.get(job.kind)
        return error

    def _flaky(self, job: Job, record: AnyRecord) -> Exception | None:
        if self.journal.failures[record_id(record)] >= job.number:
            return None
        return Retry("not yet", after=0.3) if job.number % 2 else FlakyError("not yet")
