"""A worker's rules between a naive broker and a naive handler, one random event at a time."""

import random
from collections.abc import Collection, Iterable

from attrs import frozen

from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.workers.rules.failures.signals import OutputError, ParseError, Reject
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.share.workers.rules.handler_rate import HandlerRate, RateRule
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.limits import BatchSizes, HandlingRules
from kafka_groups.share.workers.rules.outbox import EventKind
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.retry_topics.delay_rules import DelayRules
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopics
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState, read_headers
from kafka_groups.share.workers.rules.slot_sharing import SharedSlots
from kafka_groups.share.workers.rules.steps import (
    AcknowledgeRecords,
    FailedRecord,
    InvokeHandler,
    OpenRecord,
    WorkerStep,
    WriteOutputs,
    WritePurpose,
    WriteRecords,
)
from kafka_groups.types import AcknowledgeType, RecordId
from tests.support.workers.naive_rate import NaiveRate
from tests.unit.share.workers.rules.jobs import (
    EPOCH_MS,
    PARTITIONS,
    RETRIED,
    HandlerPlan,
    Harmless,
    Job,
    Nature,
    dead_letter,
    failure_rules,
    record_id,
    retry_rules_of_jobs,
)
from tests.unit.share.workers.rules.naive_broker import NaiveBroker
from tests.unit.share.workers.rules.naive_checks import Checks, Slot
from tests.unit.share.workers.rules.naive_run_writes import NO_ANSWER, TOO_LARGE, NaiveRunWrites

__all__ = ["NaiveWorld", "WorldPlan"]

GRACE_MS = 25_000
FOR_CONFIRMATIONS_MS = 1_000
MOST_TURNS = 5_000
HOLDS_FOR_MS = 60_000
OPEN_FOR_MS = 3_600_000
OUTPUTS, ELSEWHERE = "invoices", "elsewhere"
RETRY_TOPICS = RetryTopics("r", delays=(1, 3))
RETURNS: DelayRules[Job] = DelayRules(
    delay_ms=0,
    timestamp_of=lambda job: job.moved_ms,
    state_of=lambda job: job.state,
    forward_from=1_000,
)
"""Records come back when the delay of their topic is over, and spend the rest in the process."""


@frozen(kw_only=True)
class WorldPlan:
    """How the worker is set up.

    Attributes:
        seed: For everything that is drawn.
        concurrency: The most runs.
        is_keyed: Whether the order of keys is kept.
        is_batch: Whether the handler gets batches.
        copies: Whether dead letters are written by the worker.
        holds: Whether records that failed too often are held, instead of becoming dead letters.
        limit: The delivery limit.
        is_fast: Whether runs have several records.
        has_outputs: Whether most successes have outputs.
        rate: The rate limit; None for none.
        has_retry_topics: Whether long waits are spent in retry topics.
        good: The number of good records for each one that may fail.
    """

    seed: int
    concurrency: int = 3
    is_keyed: bool = False
    is_batch: bool = False
    copies: bool = True
    holds: bool = False
    limit: int = 5
    is_fast: bool = False
    has_outputs: bool = False
    rate: RateRule | None = None
    has_retry_topics: bool = False
    good: int = 1

    @property
    def moves(self) -> bool:
        """Whether records move. Retry topics give up the order of keys, and need dead letters."""
        return self.has_retry_topics and self.copies and not self.is_keyed

    def rules(self) -> HandlingRules[Job]:
        """Return the rules of the handler."""
        return HandlingRules(
            failures=failure_rules(OnError.HOLD if self.holds else OnError.DEAD_LETTER),
            policy=DeliveryPolicy(self.limit),
            concurrency=self.concurrency,
            buffer=12,
            dead_letter=dead_letter if self.copies else None,
            record_locks=2_000,
            record_id=record_id,
            key_of=(lambda job: job.key) if self.is_keyed else None,
            batch=BatchSizes(4, 1_000) if self.is_batch else None,
            retry=retry_rules_of_jobs(RETRY_TOPICS) if self.moves else None,
            delay=RETURNS if self.moves else None,
        )


class NaiveWorld:
    """Has one method for each thing that can happen. After each, the rules' steps are taken and checked.

    Args:
        plan: How the worker is set up.
    """

    def __init__(self, plan: WorldPlan) -> None:
        self.plan = plan
        self.rng = random.Random(plan.seed)
        self.broker = NaiveBroker(plan.limit, ("ann", "bob") if plan.is_keyed else (), self.rng)
        self.handler = HandlerPlan(self.rng, good=plan.good)
        self.coming: list[tuple[int, RetryState]] = []
        slots = SharedSlots(plan.concurrency, None if plan.rate is None else HandlerRate(plan.rate))
        self.handling: RecordHandling[Job] = RecordHandling(plan.rules(), self.rng, slots=slots)
        self.handling.holdings.early.wall_ahead_ms = EPOCH_MS
        if plan.is_fast:
            for _ in range(5):
                self.handling.pace.ran(100, 10)
        self.checks = Checks(DeliveryPolicy(plan.limit), plan.concurrency, plan.copies)
        self.rate = None if plan.rate is None else NaiveRate(plan.rate)
        self.now_ms = self.attempts = 0
        self.slots: list[Slot] = []
        self.copies: list[WriteRecords[Job]] = []
        self.runs = NaiveRunWrites(self.rng)
        self.settles: list[AcknowledgeRecords[Job]] = []
        self.jobs: list[Job] = []
        self.remembered: set[RecordId] = set()
        self.is_held = False
        self.ends_ms: int | None = None

    # ------------------------------------------------------------------------------------------ what happens

    def produce(self, records: int) -> None:
        """Add records to both partitions."""
        for number in range(records):
            self.broker.produce(PARTITIONS[number % 2])

    def deliver(self, most: int, partition: int) -> None:
        """Deliver what is available, if the rules want records. The last partition is that of the retry topics."""
        place = (*PARTITIONS, RETRIED)[partition]
        if self.handling.wanted(self.now_ms) and (jobs := self.broker.acquire(place, most)):
            self._arrive(jobs)

    def _arrive(self, jobs: list[Job]) -> None:
        places = {job.place for job in jobs}
        for job in self.jobs:
            if job.is_in_hand and job.place in places:
                job.is_lost = True  # it is clear now
        for job in jobs:
            job.is_done_already = job.place in self.remembered
        self.jobs += jobs
        counts, last = [job.count for job in jobs], jobs[-1].place[1]
        if max(counts) == 1 and self.rng.random() < 0.5:
            self.handling.arrived_first(jobs[0].place[0], jobs, last, self.now_ms)
        else:
            self.handling.arrived(jobs[0].place[0], jobs, counts, last, self.now_ms)
        self.turn()

    def work(self, choice: int) -> None:
        """Let a slot go on: its handler ends with one record and begins with the next, or the run ends."""
        if self.slots:
            slot = self.slots[choice % len(self.slots)]
            if self.plan.is_batch:
                self._work_on_batch(slot)
            else:
                self._work_on_record(slot)
            self.turn()

    def _work_on_record(self, slot: Slot) -> None:
        for job in slot.current:
            slot.results.append(self._attempted(job))
        slot.current = []
        try:
            job = slot.run.take()
        except IndexError:
            self._end(slot, None)
        else:
            self._begin(slot, job)

    def _work_on_batch(self, slot: Slot) -> None:
        if not slot.current:
            for job in slot.run.records:
                slot.run.take()
                self._begin(slot, job)
            return
        raises = self.handler.is_down or self.rng.random() < 0.5
        errors = [self.handler.attempt(job) for job in slot.current]
        whole = next((error for error in errors if error is not None), None) if raises else None
        slot.results = [whole or error for error in errors]
        for job, error in zip(slot.current, slot.results, strict=True):
            self._note(job, error)
        slot.current = []
        self._end(slot, whole)

    def _begin(self, slot: Slot, job: Job) -> None:
        strays = {write.opened.place for write in self.copies if _is_stray(write)}
        assert job.place not in strays, f"{job} runs before it is known whether its outputs are written"
        self.checks.attempt(job, self.slots, self.in_hand, self.plan.is_keyed)
        job.attempts += 1
        slot.current.append(job)

    def _attempted(self, job: Job) -> Exception | None:
        error = self.handler.attempt(job)
        self._note(job, error)
        return error

    def _note(self, job: Job, error: Exception | None) -> None:
        self.attempts += 1
        job.error, job.ended = error, self.attempts
        if error is None and self.plan.has_outputs and self.rng.random() < 0.6:
            job.is_writing = True
        elif error is None or isinstance(error, Harmless):
            self.checks.done.add(job.place)

    def _end(self, slot: Slot, whole: Exception | None) -> None:
        self.slots.remove(slot)
        run, was_open, retries = slot.run, self.checks.breaker.is_open, self._retries(slot)
        self._see(slot, whole)
        for job, error in zip(run.records, slot.results, strict=True):
            if job.is_lost and error is None and not job.is_writing:
                self._remember(job.place)
        failures: list[FailedRecord[Job]] = [
            FailedRecord(i, error) for i, error in enumerate(slot.results) if error is not None
        ]
        outputs = {
            index: [RecordToWrite(OUTPUTS, None, None)] for index, job in enumerate(run.records) if job.is_writing
        }
        for job in run.records:
            job.is_writing = job.is_writing and not job.is_lost  # outputs of others are dropped
        self.handling.runs.ran(run, [] if whole else failures, self.now_ms, failed=whole, outputs=outputs)
        assert self.handling.breaker.is_open == self.checks.breaker.is_open, "the breaker"
        if was_open and self.checks.breaker.is_open:
            now = {opened.place: opened.retries for opened in self.handling.holdings.waiting}
            dead_lettered = {
                opened.place for opened in self.handling.writing if opened.purpose is WritePurpose.DEAD_LETTER
            }
            for job, error in zip(run.records, slot.results, strict=True):
                before = retries[job.place]
                assert now.get(job.place, before) == before, f"a retry of {job} was used while the breaker is open"
                is_worn_out = job.place in dead_lettered and not isinstance(error, Reject | ParseError)
                assert not is_worn_out, f"{job} was given up for failures while the breaker is open"

    def _retries(self, slot: Slot) -> dict[RecordId, int]:
        opened: Collection[OpenRecord[Job]] = slot.run.opened or ()
        return dict.fromkeys((job.place for job in slot.run.records), 0) | {o.place: o.retries for o in opened}

    def _see(self, slot: Slot, whole: Exception | None) -> None:
        run, is_probe = slot.run, slot.run.is_probe
        for job, error in self._seen(slot, whole):
            if error is None or not job.is_lost:
                self.checks.breaker.saw(job, error, self.now_ms, is_probe=is_probe and len(run.records) == 1)

    def _seen(self, slot: Slot, whole: Exception | None) -> Iterable[tuple[Job, Exception | None]]:
        """Return what the breaker hears of; of a batch that failed as a whole, the first record stands for all."""
        if whole is None:
            return zip(slot.run.records, slot.results, strict=True)
        return [(job, whole) for job in slot.run.records if not job.is_lost][:1]

    def _remember(self, place: RecordId) -> None:
        self.remembered.add(place)
        for other in self.in_hand:
            if other.place == place and not other.attempts:
                other.is_done_already = True

    def finish_copy(self, choice: int, *, works: bool) -> None:
        """Confirm a dead letter, an output or a move, or let it fail."""
        if self.has_writes:
            writes: list[WriteRecords[Job] | WriteOutputs[Job]] = [*self.copies, *self.runs.under_way]
            write = writes[choice % len(writes)]
            if isinstance(write, WriteOutputs):
                self._finish_run(write, works=works)
                return
            self.copies.remove(write)
            if write.purpose is WritePurpose.RETRY:
                self._finish_move(write, works=works)
                return
            if write.purpose is WritePurpose.OUTPUT:
                self._finish_output(write, works=works)
                return
            if works:
                self.checks.copied.add(write.opened.place)
            self.handling.writing.written(write, None if works else OSError("no leader"), self.now_ms)
            self.turn()

    def _finish_output(self, write: WriteRecords[Job], *, works: bool) -> None:
        job, was_in_hand = write.opened.record, write.opened.record.is_in_hand
        error = self.runs.outcome_of(write, works=works)
        works = error is None
        if works:
            self.checks.done.add(job.place)
        if works and not was_in_hand:
            self._remember(job.place)
        if error is TOO_LARGE and was_in_hand:
            job.error = OutputError("too large")
        job.is_writing = was_in_hand and error is NO_ANSWER
        self.handling.writing.written(write, error, self.now_ms)
        self.turn()
        assert not (works and was_in_hand) or job.settled, f"{job} waits, and its outputs are confirmed"

    def _finish_run(self, write: WriteOutputs[Job], *, works: bool) -> None:
        error = None if works else self.runs.refuse_one(write)
        if works:
            self.runs.under_way.remove(write)
            self.checks.done |= {job.place for job in write.in_hand}
            for job in write.in_hand:
                job.is_writing = False
        self.handling.writing.written(write, error, self.now_ms)
        self.turn()
        assert write not in self.runs.under_way, "a refusal is not looked at"
        assert not works or all(job.settled for job in write.in_hand), f"{write.in_hand} wait, and are confirmed"

    @property
    def has_writes(self) -> bool:
        """True if something is being written."""
        return bool(self.copies or self.runs.under_way)

    def _finish_move(self, write: WriteRecords[Job], *, works: bool) -> None:
        job, was_in_hand = write.opened.record, write.opened.record.is_in_hand
        # A write without an answer may be in the log all the same.
        if works or self.rng.random() < 0.2:
            self._move(write)
        if works:
            self.checks.moved.add(job.place)
        if works and not was_in_hand:
            self._remember(job.place)
        job.is_writing = False
        error = None if works else self.rng.choice((NO_ANSWER, TOO_LARGE))
        self.handling.writing.written(write, error, self.now_ms)
        self.turn()
        assert not (works and was_in_hand) or job.settled, f"{job} waits, and is in its retry topic"

    def _move(self, write: WriteRecords[Job]) -> None:
        [record] = write.records
        delay_ms = next(topic.delay_ms for topic in RETRY_TOPICS.topics if topic.topic == record.topic)
        self.coming.append((self.now_ms + delay_ms, read_headers(record.headers, "shop", "invoice")))

    def _come_back(self) -> None:
        """Make records available whose delay is over."""
        self.coming.sort(key=lambda each: each[0])
        while self.coming and self.coming[0][0] <= self.now_ms:
            ready_ms, state = self.coming.pop(0)
            self.broker.retry(state, EPOCH_MS + ready_ms)

    def _look_at_move(self, write: WriteRecords[Job]) -> None:
        job, [record] = write.opened.record, write.records
        assert not self.checks.breaker.is_open, f"{job} moves while the breaker is open"
        state = read_headers(record.headers, "shop", "invoice")
        assert state.attempts == job.all_attempts, f"{job} moves with {state.attempts} of {job.all_attempts} attempts"
        assert state.retries >= (0 if job.state is None else job.state.retries), f"{job} moves with fewer retries"
        assert (PARTITIONS[state.origin.partition], state.origin.offset) == job.first_place, "another origin"
        if job.state is not None:
            assert state.first_failure_ms == job.state.first_failure_ms, f"{job} forgets its first failure"
        # The time of the attempt is that of the rules: it does not depend on when the record is written.
        assert state.due_ms - EPOCH_MS == write.opened.retry_ms
        if not write.opened.failed_writes:
            topic = RETRY_TOPICS.topic_for(write.opened.retry_ms - self.now_ms)
            assert topic is not None, f"{job} moves for a short wait"
            assert topic.topic == record.topic
        job.is_writing = True

    def hold(self, *, is_held: bool) -> None:
        """Let another topic take nothing, or let it take records again."""
        self.is_held = is_held
        self.handling.writing.held(ELSEWHERE, NO_ANSWER if is_held else None)
        self.turn()

    def finish_settle(self, choice: int, *, works: bool) -> None:
        """Confirm an acknowledgement, or refuse it: then the broker may have taken it all the same."""
        if not self.settles:
            return
        settle = self.settles.pop(choice % len(self.settles))
        is_taken = works or self.rng.random() < 0.5
        refused = [job for job in settle.records if not self._confirmed(job, settle.kind, is_taken) or not works]
        self.handling.outbox.settled(settle, refused)
        if settle.kind is AcknowledgeType.ACCEPT:
            self.remembered |= {job.place for job in refused}
        self.turn()

    def _confirmed(self, job: Job, kind: AcknowledgeType, is_taken: bool) -> bool:
        if is_taken:
            return self.broker.acknowledge(job, kind)
        self.broker.take_back(job)
        return False

    def lose(self, choice: int, most: int, *, is_noticed: bool) -> None:
        """End the locks of some records in hand. Unnoticed, their redelivery shows it."""
        held = [job for job in self.jobs if job.is_in_hand and not job.is_gone]
        chosen = held[choice % len(held) :][:most] if held else []
        for job in chosen:
            self.broker.take_back(job)
            job.is_lost = job.is_lost or is_noticed
        if is_noticed and chosen:
            known = set(map(id, chosen))
            told = self._losses_told
            gone = self.handling.lost(lambda job: id(job) in known, self.now_ms)
            assert self._losses_told - told == gone
            self.turn()

    @property
    def _losses_told(self) -> int:
        return sum(event.kind is EventKind.LOST for event in self.handling.events)

    def release(self, choice: int) -> None:
        """Release a record whose lock cannot be renewed, unless it runs."""
        held = [job for job in self.in_hand if not any(job in slot.run.records for slot in self.slots)]
        if held:
            job = held[choice % len(held)]
            job.may_be_released = True
            self.handling.release(lambda each: each is job, self.now_ms)
            self.turn()

    def advance(self, wait_ms: int) -> None:
        """Let time pass."""
        self.now_ms += wait_ms
        self._come_back()
        self.turn()

    def stretch(self) -> None:
        """Have slow runs give back what they have not started."""
        self.handling.runs.stretched(self.now_ms)
        self.turn()

    def stop(self, grace_ms: int) -> None:
        """Stop the worker."""
        self.checks.is_stopping = True
        self.ends_ms = min(self.ends_ms or self.now_ms + grace_ms, self.now_ms + grace_ms)
        self.handling.stop(self.now_ms, self.now_ms + grace_ms)
        self.turn()

    # ------------------------------------------------------------------------------------------ looking

    @property
    def in_hand(self) -> list[Job]:
        """What the rules have in hand."""
        return [job for job in self.jobs if job.is_in_hand]

    @property
    def is_quiet(self) -> bool:
        """True if nothing runs, and nothing waits for a confirmation after which it is accepted."""
        outputs = [write for write in self.copies if not write.purpose.is_dead_letter]
        if self.runs.under_way:
            return False
        return not self.slots and not self.settles and not any(write.opened.record.is_in_hand for write in outputs)

    def turn(self) -> None:
        """Take the steps that are due."""
        for _ in range(MOST_TURNS):
            step = self.handling.next(self.now_ms)
            is_quiet = self.is_quiet and not isinstance(step, AcknowledgeRecords)
            self.checks.looked(self.now_ms, self.in_hand, is_quiet=is_quiet)
            if step is not None:
                self._take(step)
            elif self.handling.writing.opened:
                together, singles = self.handling.writing.opened.popleft()
                self.runs.open(together, singles)
                self.copies += singles
            elif self.handling.writing.withdrawn:
                self._withdraw()
            else:
                return self.look()
        raise AssertionError("the steps do not end")

    def _take(self, step: WorkerStep[Job]) -> None:
        if isinstance(step, InvokeHandler):
            unconfirmed = [job for settle in self.settles for job in settle.records]
            self.checks.run(step, self.slots, unconfirmed, self.now_ms)
            self.checks.other_probe(step, self._idle(step))
            if self.rate is not None:
                self._look_at_rate(self.rate, step)
            self.slots.append(Slot(step, self.now_ms))
        elif isinstance(step, WriteRecords):
            assert step.opened.record.is_in_hand, f"{step.opened.record} is copied without a lock"
            if step.purpose is WritePurpose.RETRY:
                self._look_at_move(step)
            self.copies.append(step)
        elif isinstance(step, WriteOutputs):
            self.runs.begin(step)
        else:
            self.checks.settle(step)
            self.remembered -= {job.place for job in step.records}
            self.settles.append(step)

    def _withdraw(self) -> None:
        """Withdraw what was not sent, which chance decides. The outcomes of the others come."""
        write = self.handling.writing.withdrawn.popleft()
        assert write in self.copies, f"{write} is withdrawn, and has ended"
        if write not in self.runs.fates and self.rng.random() < 0.5:
            self.copies.remove(write)
            write.opened.record.is_writing = False
            self.handling.writing.withdrew(write, self.now_ms)

    def _look_at_rate(self, rate: NaiveRate, run: InvokeHandler[Job]) -> None:
        rate.start(len(run.records), self.now_ms)
        assert run.is_batch or len(run.records) == 1, "an attempt that starts later than its token is taken"

    def _idle(self, run: InvokeHandler[Job]) -> list[Job]:
        """Return what could be probed instead: records that wait for a retry, and those that nobody has tried."""
        waiting = [opened.record for opened in self.handling.holdings.waiting]
        return [job for job in waiting if job not in run.records]

    def look(self) -> None:
        """Check what the rules say about records in hand."""
        running = {id(job) for slot in self.slots for job in slot.run.records}
        lost = [job for job in self.jobs if job.is_lost and id(job) in running]
        held_back = {job.place for job in lost} | {write.opened.place for write in self.copies if _is_stray(write)}
        behind = [job for job in self.in_hand if id(job) not in running and job.place in held_back]
        # Those that wait for their earlier handler or its outputs are counted only if they wait for their key, too.
        waiting = [opened.record for opened in self.handling.holdings.lost.held_back()]
        assert all(job in behind for job in waiting), f"{waiting} wait for nothing"
        counted = sum(self.handling.in_hand.values())
        assert counted == len(self.in_hand) + len(lost) - len(waiting), (self.handling.in_hand, self.in_hand)
        assert not (self.checks.is_stopping and list(self.handling.holdings.waiting)), (
            "a worker that stops waits for retries"
        )
        if self.plan.moves and not self.handling.breaker.is_open:
            long = [each for each in self.handling.holdings.waiting if each.due_ms - self.now_ms >= 1_000]
            assert not long, f"{long} wait in the process"
        is_over = self.ends_ms is not None and self.now_ms >= self.ends_ms + FOR_CONFIRMATIONS_MS
        assert not (is_over and list(self.handling.writing)), "a worker whose time is over waits for writes"
        if self.rate is not None and self.handling._starts is not None and self.handling._starts.due_ms is not None:
            most = min(4, self.rate.rule.burst) if self.plan.is_batch else 1
            assert self.rate.allowed(self.now_ms) < most, "records wait although the rate allows them to start"
        self.handling.measure_windows(self.now_ms)
        oldest = {use.partition: use.oldest for use in self.handling.windows.uses.values()}
        assert oldest == _oldest([*self.in_hand, *lost]), "the windows"

    # ------------------------------------------------------------------------------------------ the end

    def drain(self) -> None:
        """Let everything work, and time pass, until all records have ended."""
        self.handler.is_down = False
        self.hold(is_held=False)
        ends_ms = self.now_ms + HOLDS_FOR_MS
        for _ in range(MOST_TURNS):
            if not self._go_on(ends_ms):
                break
        else:
            raise AssertionError(f"no end: {self.in_hand}, {self.handling.in_hand}")
        assert self.handling.is_done
        assert not self.in_hand, f"forgotten: {self.in_hand}"
        assert self.checks.is_stopping or not self.broker.has_available, "not all were fetched"

    def _is_busy(self) -> bool:
        return bool(self.slots or self.has_writes or self.settles)

    def _go_on(self, ends_ms: int) -> bool:
        if self._is_busy():
            self.work(0)
            self.finish_copy(0, works=True)
            self.finish_settle(0, works=True)
            return True
        if self.handling.wanted(self.now_ms):
            self._fetch()
        if self._is_busy():
            return True
        if self.handling.is_done:
            return not self.checks.is_stopping and (self.broker.has_available or self._wait_for_retries(ends_ms))
        return self._wait(ends_ms)

    def _wait_for_retries(self, ends_ms: int) -> bool:
        """Let time pass until a retry topic has a record. Returns False if none comes, or it would never end."""
        if not self.coming or (self.plan.holds and self.now_ms > ends_ms):
            return False
        self.advance(max(0, min(ready_ms for ready_ms, _ in self.coming) - self.now_ms))
        return True

    def _fetch(self) -> None:
        if self.checks.breaker.is_open and not self.broker.has_available:
            place = self.broker.produce(PARTITIONS[0])
            self.handler.natures[place], self.broker.entries[place].key = Nature.GOOD, None
        for partition in range(3):
            self.deliver(3, partition)

    def _needs_a_stop(self, ends_ms: int) -> bool:
        """Return whether only an operator can end this: records are held for ever, or bad ones block all keys."""
        if self.handling.breaker.is_open:
            return self.now_ms > ends_ms + OPEN_FOR_MS
        return self.plan.holds and self.now_ms > ends_ms

    def _wait(self, ends_ms: int) -> bool:
        if self._needs_a_stop(ends_ms) and not self.checks.is_stopping:
            self.stop(GRACE_MS)
            return True
        due_ms = self.handling.wakes_ms()
        assert due_ms is not None, f"nothing wakes it: {self.in_hand}, {self.handling.in_hand}"
        assert due_ms > self.now_ms, "it wakes for nothing"
        self.advance(due_ms - self.now_ms)
        return True


def _is_stray(write: WriteRecords[Job]) -> bool:
    """Return whether outputs are written, or a move, of a record that is gone."""
    return not write.purpose.is_dead_letter and not write.opened.record.is_in_hand


def _oldest(jobs: Collection[Job]) -> dict[object, int]:
    partitions = {job.place[0] for job in jobs}
    return {each: min(job.place[1] for job in jobs if job.place[0] == each) for each in partitions}
