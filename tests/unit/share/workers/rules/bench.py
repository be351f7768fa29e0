"""A handler worker's rules, moved on by hand."""

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.workers.options.retry_option import longest_wait_s
from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.verdicts import FailureRules, OnError
from kafka_groups.share.workers.rules.handler_rate import HandlerRate, RateRule
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.limits import BatchSizes, HandlingRules
from kafka_groups.share.workers.rules.outbox import EventKind
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopics
from kafka_groups.share.workers.rules.runs import NO_OUTPUTS, Outputs
from kafka_groups.share.workers.rules.slot_sharing import SharedSlots
from kafka_groups.share.workers.rules.steps import (
    AcknowledgeRecords,
    FailedRecord,
    InvokeHandler,
    WriteOutputs,
    WriteRecords,
)
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.jobs import PARTITIONS, Job, dead_letter, record_id, retry_rules_of_jobs

__all__ = ["OUTPUTS", "Bench", "outage", "poison"]

OUTPUTS = "invoices"

NO_ERRORS: Mapping[type[Exception], OnError | Backoff] = MappingProxyType({})


def poison() -> Exception:
    """An error without a rule."""
    return ValueError("poison")


def outage() -> Exception:
    """An error that uses no retry."""
    return ConnectionError("the sink is down")


class Bench:
    """Takes the steps of the rules and reports what the test says. Waits have no jitter: 1, 2, 4, 4 s.

    Attributes:
        handling: The rules.
        runs: The runs under way.
        copies: What is being written: dead letters, and outputs.
        together: The outputs of whole runs that are being written.
        settles: Acknowledgements that are not confirmed.
        confirms: Whether acknowledgements are confirmed at once.
        starts: How many records of a run its slot begins at once.
        outcomes: How each record was acknowledged.
        started: The offsets of each run, in the order in which they began.
        letters: The offset and the reason of each dead letter.
        unknown: The keys for which `order_by` raises.
    """

    def __init__(
        self,
        *,
        concurrency: int = 4,
        times: int = 3,
        exhausted: OnError = OnError.DEAD_LETTER,
        errors: Mapping[type[Exception], OnError | Backoff] = NO_ERRORS,
        limit: int = 5,
        buffer: int | None = 100,
        copies: bool = True,
        locks: int = 2_000,
        is_keyed: bool = False,
        batch: BatchSizes | None = None,
        on_blocked: OnError | None = None,
        queued: int = 0,
        retry_topics: RetryTopics | None = None,
        others: "Bench | None" = None,
        rate: RateRule | None = None,
    ) -> None:
        self.unknown: set[str | None] = set()
        retries = Backoff(first=1, most=4, times=times, jitter=0)
        rules: HandlingRules[Job] = HandlingRules(
            failures=FailureRules(
                retries=retries,
                exhausted=exhausted,
                errors=errors,
                outages=(ConnectionError,),
                longest_wait_s=longest_wait_s(retry_topics),
            ),
            policy=DeliveryPolicy(limit),
            concurrency=concurrency,
            buffer=buffer,
            dead_letter=dead_letter if copies else None,
            record_locks=locks,
            record_id=record_id,
            key_of=self._key_of if is_keyed else None,
            batch=batch,
            on_blocked=on_blocked,
            queued=queued,
            retry=None if retry_topics is None else retry_rules_of_jobs(retry_topics),
        )
        shared = None if others is None else others.handling
        slots = SharedSlots(concurrency, None if rate is None else HandlerRate(rate))
        self.handling: RecordHandling[Job] = RecordHandling(
            rules,
            random.Random(7),
            slots=slots if shared is None else shared.slots,
            is_retry=shared is not None,
            breaker=None if shared is None else shared.breaker,
        )
        self.now_ms = 0
        self.runs: list[InvokeHandler[Job]] = []
        self.copies: list[WriteRecords[Job]] = []
        self.together: list[WriteOutputs[Job]] = []
        self.settles: list[AcknowledgeRecords[Job]] = []
        self.confirms = True
        self.starts = 1
        self.outcomes: dict[Job, AcknowledgeType] = {}
        self.started: list[list[int]] = []
        self.letters: list[tuple[int, str]] = []

    def _key_of(self, job: Job) -> str | None:
        if job.key in self.unknown:
            raise LookupError(job.key)
        return job.key

    # ------------------------------------------------------------------------------------------ records

    def take(self, *offsets: int, count: int = 1, key: str | None = None, partition: int = 0) -> list[Job]:
        """Let records arrive in one delivery."""
        return self.arrive([Job((PARTITIONS[partition], offset), count, key) for offset in offsets])

    def arrive(self, jobs: list[Job]) -> list[Job]:
        """Let these records arrive."""
        counts = [job.count for job in jobs]
        self.handling.arrived(jobs[0].place[0], jobs, counts, jobs[-1].place[1], self.now_ms)
        self.go()
        return jobs

    def fast(self) -> None:
        """Make the handler a fast one, so that runs have several records."""
        for _ in range(6):
            self.handling.pace.ran(1_000, 10)

    # ------------------------------------------------------------------------------------------ steps

    def go(self) -> None:
        """Take the steps that are due."""
        while (step := self.handling.next(self.now_ms)) is not None:
            if isinstance(step, InvokeHandler):
                self._begin(step)
                self.started.append([job.place[1] for job in step.records])
            elif isinstance(step, WriteRecords):
                self.copies.append(step)
                self.letters.append((step.opened.place[1], step.opened.reason))
            elif isinstance(step, WriteOutputs):
                self.together.append(step)
            else:
                self._settle(step)

    def _begin(self, run: InvokeHandler[Job]) -> None:
        self.runs.append(run)
        for _ in run.records if run.is_batch else run.records[: self.starts]:
            run.take()

    def _settle(self, step: AcknowledgeRecords[Job]) -> None:
        for job in step.records:
            assert job not in self.outcomes, f"{job} is settled twice"
            self.outcomes[job] = step.kind
        self.settles.append(step)
        if self.confirms:
            self.confirm()

    def advance(self, wait_ms: int) -> None:
        """Let time pass."""
        self.now_ms += wait_ms
        self.go()

    def run_of(self, job: Job) -> InvokeHandler[Job]:
        """Return the run of a record."""
        return next(run for run in self.runs if job in run.records)

    @property
    def running(self) -> list[Job]:
        """The records that run."""
        return [job for run in self.runs for job in run.records]

    # ------------------------------------------------------------------------------------------ results

    def succeed(self, *jobs: Job) -> None:
        """End the runs of these records well."""
        for job in jobs:
            self.end(self.run_of(job), {})

    def succeed_with(self, job: Job, *values: bytes, topic: str = OUTPUTS) -> None:
        """End the run of a record well, with outputs."""
        run = self.run_of(job)
        outputs = {run.records.index(job): [RecordToWrite(topic, None, value) for value in values]}
        self.report(run, {}, outputs=outputs)
        self.go()

    def fail(self, job: Job, error: Exception | None = None) -> None:
        """End the run of a record; the others of its run have succeeded."""
        run = self.run_of(job)
        self.end(run, {run.records.index(job): error or poison()})

    def end(
        self,
        run: InvokeHandler[Job],
        errors: Mapping[int, Exception],
        *,
        failed: Exception | None = None,
        busy_ms: int = 0,
    ) -> None:
        """End a run."""
        self.now_ms += busy_ms
        self.report(run, errors, failed=failed)
        self.go()

    def report(
        self,
        run: InvokeHandler[Job],
        errors: Mapping[int, Exception],
        *,
        failed: Exception | None = None,
        outputs: Outputs = NO_OUTPUTS,
    ) -> None:
        """Report the end of a run, and take no step yet."""
        while run.unstarted:
            run.take()
        self.runs.remove(run)
        failures: Sequence[FailedRecord[Job]] = [FailedRecord(index, error) for index, error in errors.items()]
        self.handling.runs.ran(run, failures, self.now_ms, failed=failed, outputs=outputs)

    def open(self) -> None:
        """Continue with writes for single records, where the rules want it."""
        opened = self.handling.writing.opened
        while opened:
            together, singles = opened.popleft()
            self.together.remove(together)
            self.copies += singles

    def write(self, error: Exception | None = None) -> None:
        """Confirm what is being written, or let it fail: then each record of a run has a result of its own."""
        self.open()
        if error is None:
            together, self.together = self.together, []
            for each in together:
                self.handling.writing.written(each, None, self.now_ms)
        for each in self.together:
            self.handling.writing.written(each, error, self.now_ms)
        self.open()
        copies, self.copies = self.copies, []
        for copy in copies:
            self.handling.writing.written(copy, error, self.now_ms)
        self.go()

    def confirm(self, *refused: Job) -> None:
        """Confirm the acknowledgements, except for some that are refused."""
        settles, self.settles = self.settles, []
        for settle in settles:
            self.handling.outbox.settled(settle, [job for job in settle.records if job in refused])

    def lose(self, *jobs: Job) -> int:
        """End the locks of records. Each of them is told."""
        told = self.happened(EventKind.LOST)
        gone = self.handling.lost(lambda job: job in jobs, self.now_ms)
        assert self.happened(EventKind.LOST) - told == gone
        self.go()
        return gone

    def stop(self, grace_ms: int) -> None:
        """Stop the worker."""
        self.handling.stop(self.now_ms, self.now_ms + grace_ms)
        self.go()

    def happened(self, kind: EventKind) -> int:
        """Return how many events of a kind there were."""
        return sum(event.kind is kind for event in self.handling.events)

    def retries_of(self, job: Job) -> int:
        """Return how many retries a waiting record has used."""
        return next(opened.retries for opened in self.handling.holdings.waiting if opened.record is job)
