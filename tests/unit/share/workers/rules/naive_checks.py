"""What must hold in a handler worker, said in the plainest way: by looking at every record in hand."""

from collections.abc import Collection, Sequence

from attrs import define, field

from kafka_groups.share.workers.rules.failures.signals import OutputError, ParseError, Reject, Retry
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.steps import AcknowledgeRecords, InvokeHandler
from kafka_groups.types import AcknowledgeType, RecordId
from tests.unit.share.workers.rules.jobs import EPOCH_MS, Harmless, Job, Ruled, Unwanted

__all__ = ["Checks", "NaiveBreaker", "Slot", "tells_of_the_sink"]

ALONE_MS = 30_000
LONGEST_PROBE_WAIT_MS = 30_000
FIRST_PROBE_WAIT_MS = 200
SMALLEST_JITTER = 0.8
PORTION = 64


@define(eq=False)
class Slot:
    """A run under way.

    Attributes:
        run: The run.
        began_ms: When it was given to the slot.
        current: The records that the handler has now.
        results: What the attempts that have ended raised, in order; None for a success.
    """

    run: InvokeHandler[Job]
    began_ms: int
    current: list[Job] = field(factory=list)
    results: list[Exception | None] = field(factory=list)


def tells_of_the_sink(error: Exception | None) -> bool:
    """Return whether an error has no rule, so that it may be the sink's fault."""
    ruled = Harmless | Ruled | Unwanted | Reject | Retry | ParseError | OutputError
    return error is not None and not isinstance(error, ruled)


@define
class NaiveBreaker:
    """Follows every result: three failures in a row of different records open it, one success closes it."""

    is_open: bool = False
    failed: set[RecordId] = field(factory=set)
    tries: int = 0
    tried_ms: int = 0
    probed: Job | None = None
    successes: int = 0
    succeeded_ms: int = -1
    first_failures: dict[int, int] = field(factory=dict)

    def saw(self, job: Job, error: Exception | None, now_ms: int, *, is_probe: bool) -> None:
        """Take the result of an attempt."""
        if error is None:
            self.is_open, self.tries, self.probed = False, 0, None
            self.failed.clear()
            self.successes += 1
            self.succeeded_ms = now_ms
            return
        # A record of a retry topic has failed before it came there.
        has_failed_before = job.moved_ms is not None and self.succeeded_ms > job.moved_ms - EPOCH_MS
        before = self.successes - int(has_failed_before)
        is_bad = self.first_failures.setdefault(id(job), before) < self.successes
        if tells_of_the_sink(error) and (self.is_open or not is_bad):
            self.failed.add(job.place)
        if self.is_open and is_probe:
            self.tries, self.tried_ms, self.probed = self.tries + 1, now_ms, job
        elif not self.is_open and len(self.failed) >= 3:
            self.is_open, self.tries, self.tried_ms = True, 1, now_ms

    @property
    def least_wait_ms(self) -> float:
        """The shortest wait until the next probe."""
        return SMALLEST_JITTER * min(LONGEST_PROBE_WAIT_MS, FIRST_PROBE_WAIT_MS << (self.tries - 1))


@define
class Checks:
    """Looks at each step.

    Attributes:
        policy: The rules for delivery counts.
        concurrency: The most runs at a time.
        copies: Whether dead letters are written.
        breaker: Follows the results.
        done: Places of records that a handler has finished and whose outputs are confirmed, or whose error a rule
            accepts.
        copied: Places of records whose dead letters are confirmed.
        moved: Places of records that are in a retry topic for sure.
        is_stopping: Whether the worker was told to stop.
        quiet_ms: When nothing ran and nothing was to be confirmed, most recently.
        are_others_free: Whether a sub-batch of suspects has taken so long that others need not wait for it.
    """

    policy: DeliveryPolicy
    concurrency: int
    copies: bool
    breaker: NaiveBreaker = field(factory=NaiveBreaker)
    done: set[RecordId] = field(factory=set)
    copied: set[RecordId] = field(factory=set)
    moved: set[RecordId] = field(factory=set)
    is_stopping: bool = False
    quiet_ms: int = 0
    are_others_free: bool = False

    def looked(self, now_ms: int, in_hand: Collection[Job], *, is_quiet: bool) -> None:
        """Note whether anything is under way."""
        if now_ms - self.quiet_ms >= ALONE_MS:
            self.are_others_free = True
        if is_quiet:
            self.quiet_ms = now_ms
            self.are_others_free &= any(job.count > 1 and not job.attempts for job in in_hand)

    # ------------------------------------------------------------------------------------------ runs

    def run(self, run: InvokeHandler[Job], slots: Sequence[Slot], unconfirmed: Collection[Job], now_ms: int) -> None:
        """Check a run that may start beside others."""
        assert run.records, "a run without records"
        assert len(slots) < self.concurrency, "more runs than slots"
        for job in run.records:
            self._job(job)
        if self.breaker.is_open:
            self._probe(run, slots, now_ms)
        elif not self.are_others_free:
            for job in run.records:
                self._alone(job, slots, unconfirmed)

    def _job(self, job: Job) -> None:
        assert job.settled is None, f"{job} is settled, and runs"
        assert not job.is_lost, f"{job} runs without a lock"
        assert not job.is_done_already, f"{job} was finished before its redelivery"
        if self.copies and job.count >= self.policy.copy_from:
            assert job.place in self.copied, f"{job} runs before it is copied"

    def _probe(self, run: InvokeHandler[Job], slots: Sequence[Slot], now_ms: int) -> None:
        assert run.is_probe, "not a probe while the breaker is open"
        assert len(run.records) == 1, "a large probe"
        assert not any(slot.run.is_probe for slot in slots), "two probes"
        assert now_ms - self.breaker.tried_ms >= self.breaker.least_wait_ms - 1, "a probe without a wait"

    def other_probe(self, run: InvokeHandler[Job], idle: Collection[Job]) -> None:
        """Check that a record is not probed again while others could be."""
        if run.is_probe:
            job = run.records[0]
            others = [each for each in idle if tells_of_the_sink(each.error) and each.ended < job.ended]
            assert job is not self.breaker.probed or not others, f"{job} is probed again, not {others}"

    def _alone(self, job: Job, slots: Sequence[Slot], unconfirmed: Collection[Job]) -> None:
        running = [each for slot in slots for each in slot.run.records]
        for other in running:
            if other.count > 1 and other.attempts <= 1 and other.error is None:
                assert self._share_a_sub_batch(job, other), f"{job} starts beside the suspect {other}"
        if job.count > 1 and job.attempts == 0:
            accepted = [each for each in unconfirmed if each.attempts and each.settled is AcknowledgeType.ACCEPT]
            for other in [*running, *accepted]:
                assert self._share_a_sub_batch(job, other), f"the suspect {job} starts beside {other}"

    def _share_a_sub_batch(self, job: Job, other: Job) -> bool:
        return 1 < job.count < self.policy.singles_from and 1 < other.count < self.policy.singles_from

    # ------------------------------------------------------------------------------------------ attempts

    def attempt(self, job: Job, slots: Sequence[Slot], in_hand: Collection[Job], is_keyed: bool) -> None:
        """Check an attempt that a slot begins."""
        assert not job.is_writing, f"{job} runs again, and its outputs are there"
        assert job.settled is None, f"{job} is settled, and runs"
        assert not job.is_lost or any(job in slot.run.records for slot in slots), f"{job} runs without a lock"
        current = [each for slot in slots for each in slot.current]
        assert all(each.place != job.place for each in current), f"two handlers for {job}"
        if is_keyed and job.key is not None:
            assert all(each.key != job.key for each in current), f"two handlers for the key of {job}"
            unwritten = [each for each in in_hand if each.is_writing and each.key == job.key]
            assert not unwritten, f"{job} runs before the outputs of {unwritten} are confirmed"
            self._order(job, in_hand)

    def _order(self, job: Job, in_hand: Collection[Job]) -> None:
        if job.count == 1:
            before = [o for o in in_hand if o.key == job.key and o.count == 1 and o.place[0] == job.place[0]]
            assert all(o.place[1] >= job.place[1] for o in before), f"{job} overtakes one of {before}"

    # ------------------------------------------------------------------------------------------ settling

    def settle(self, step: AcknowledgeRecords[Job]) -> None:
        """Check an acknowledgement."""
        for job in step.records:
            assert job.settled is None, f"{job} is settled twice"
            assert not job.is_lost, f"{job} is settled without a lock"
            job.settled = step.kind
            if step.has_moved:
                assert job.place in self.moved, f"{job} is accepted, and not in its retry topic"
            elif step.kind is AcknowledgeType.ACCEPT:
                assert job.place in self.done | self.moved, f"{job} is accepted without a success"
            elif step.kind is AcknowledgeType.REJECT:
                assert not self.copies or job.place in self.copied, f"{job} is rejected before its copy"
                assert job.attempts, f"{job} is rejected without an attempt"
            else:
                assert self.is_stopping or job.may_be_released or isinstance(job.error, Unwanted), f"{job} is released"
