"""Choose what a free slot runs next."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from kafka_groups.share.workers.rules.failures.breaker import Breaker
from kafka_groups.share.workers.rules.failures.verdicts import tells_of_sink
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.limits import BatchSizes, HandlingRules
from kafka_groups.share.workers.rules.pace import HandlerPace
from kafka_groups.share.workers.rules.steps import InvokeHandler, OpenRecord

__all__ = ["RunChoice"]

R = TypeVar("R")


class RunChoice(Generic[R]):
    """Takes records out of what is held, one run at a time.

    Probes come first while the breaker is open, then suspects, then retries that are due, then the rest.

    Args:
        rules: The rules of the handler.
        holdings: The records that wait.
        breaker: Whether the sink is down.
        pace: Sizes the runs.

    Attributes:
        is_stopping: Whether the worker stops, so that batches wait for no other records.
        is_draining: Whether another handler waits until this one has nothing in hand. Batches do not wait then, either.
        yields: Whether the suspects of another handler run first. Others of this one do not wait for its own then.
        tokens: How many attempts may start now; None without a rate limit.
        largest_batch: The most records of a batch that a rate limit allows; None without one.
    """

    def __init__(self, rules: HandlingRules[R], holdings: Holdings[R], breaker: Breaker, pace: HandlerPace) -> None:
        self._rules = rules
        self._holdings = holdings
        self._breaker = breaker
        self._pace = pace
        self._batch_since_ms: int | None = None
        self._are_others_next = False
        self.is_stopping = self.is_draining = self.yields = False
        self.tokens: int | None = None
        self.largest_batch: int | None = None

    def next_run(self, running: int, now_ms: int, *, is_quiet: bool, probes: bool) -> InvokeHandler[R] | None:
        """Return the next run; None if nothing may start.

        Args:
            running: The number of runs under way.
            now_ms: The time.
            is_quiet: Whether nothing runs, and nothing waits for a confirmation.
            probes: Whether a probe is under way; it matters only while the breaker is open.
        """
        # While the breaker is open, one record runs at a time. A sub-batch of suspects that had begun waits again
        # afterwards: its rule is that nothing runs beside it, and probes do.
        if self._breaker.is_open:
            self._holdings.suspects.begin_anew(now_ms)
            return None if probes or not self._breaker.may_probe(now_ms) else self._probe(now_ms)
        # Suspects have their handler to themselves, because one of them may end the process, and every record that runs
        # beside it would lose a delivery.
        if self._holdings.suspects.is_alone(now_ms, is_quiet=is_quiet) and not self.yields:
            return self._suspect(now_ms, is_quiet=is_quiet)
        # Suspects that are not alone any more, because a sub-batch has taken 30 seconds, take turns with the others.
        # Neither a stream of redeliveries nor one of new records keeps the other kind from running.
        self._are_others_next = not self._are_others_next
        if self._are_others_next:
            return self._other(running, now_ms) or self._suspect(now_ms, is_quiet=is_quiet)
        return self._suspect(now_ms, is_quiet=is_quiet) or self._other(running, now_ms)

    def runnable(self, now_ms: int, *, is_quiet: bool) -> int:
        """Return about how many runs could start now if there were slots; 0 for none. Changes nothing."""
        holdings = self._holdings
        if self._breaker.is_open:
            return int(self._breaker.may_probe(now_ms) and holdings.held > 0)
        # Suspects wait for runs to end and not for slots, and others wait for them.
        if holdings.suspects:
            return int(is_quiet and not holdings.suspects.is_next_grave)
        due_ms = holdings.waiting.next_due_ms
        due = int(due_ms is not None and due_ms <= now_ms)
        if self._rules.batch is not None:
            return (
                due + len(holdings.halves) + int(self._has_full_batch(self._most_of_batch(self._rules.batch), now_ms))
            )
        return due + len(holdings.ready) + len(holdings.fresh)

    def _suspect(self, now_ms: int, *, is_quiet: bool) -> InvokeHandler[R] | None:
        suspect = self._holdings.suspects.take(now_ms, is_quiet=is_quiet)
        return None if suspect is None else self._run_of([suspect])

    def _other(self, running: int, now_ms: int) -> InvokeHandler[R] | None:
        if self._rules.batch is not None:
            return self._batch(now_ms)
        return self._single(self._rules.concurrency - running, now_ms)

    def _single(self, slots: int, now_ms: int) -> InvokeHandler[R] | None:
        holdings = self._holdings
        # A retry runs alone: it has failed before, and the records behind it in a run would wait for it.
        if (due := holdings.waiting.take_due(now_ms)) is not None:
            return self._run_of([due])
        # With a rate limit, an attempt has to start when its token is taken, and not when those before it have ended.
        is_limited = self.tokens is not None
        size = 1 if is_limited else self._pace.run_size(len(holdings.fresh) + len(holdings.ready), slots)
        # Ready records were in hand before the fresh ones, for example as records that waited for a key, so they go
        # first.
        if holdings.ready:
            return self._run_of([holdings.ready.popleft() for _ in range(min(size, len(holdings.ready)))])
        fresh = holdings.fresh.take(size)
        return InvokeHandler(fresh) if fresh else None

    def size_of_next(self, now_ms: int) -> int:
        """Return how many records the next run has, if nothing but a rate limit keeps it from starting; 0 for none."""
        holdings = self._holdings
        if self._breaker.is_open:
            return int(self._breaker.may_probe(now_ms) and bool(holdings.held or holdings.waiting))
        if self._rules.batch is None:
            return int(bool(holdings.held) or holdings.waiting.is_due(now_ms))
        return self._size_of_next_batch(now_ms, self._rules.batch) or int(bool(holdings.suspects))

    # ---------------------------------------------------------------------------------------- probes

    def _probe(self, now_ms: int) -> InvokeHandler[R] | None:
        """Run one record to see whether the sink works again: one that has not failed, if there is any.

        Otherwise the one whose attempt was longest ago. A wait that the handler or a rule asked for is kept.
        """
        # A record that has failed may be the bad one that keeps the breaker open, so an untried one proves more. Next
        # come records that no failure of their own is known of.
        fresh = self._holdings.fresh.take(1)
        if fresh:
            return InvokeHandler(fresh, is_probe=True, is_batch=self._is_batch)
        # If all have failed, the probes go through them in turn, so that a single bad record does not keep the breaker
        # open. The breaker sets the time, so waits that an outage caused are cut short. Those that the handler asked
        # for by `Retry`, or that a rule in `errors` set, are not.
        opened = self._untried() or self._holdings.waiting.take_longest_there(
            lambda opened: opened.due_ms <= now_ms or self._tells_of_sink(opened)
        )
        return None if opened is None else self._run_of([opened], is_probe=True)

    def _tells_of_sink(self, opened: OpenRecord[R]) -> bool:
        return opened.error is not None and tells_of_sink(self._rules.failures.judge(opened.error))

    def _untried(self) -> OpenRecord[R] | None:
        holdings = self._holdings
        if holdings.ready:
            return holdings.ready.popleft()
        # A batch that failed may have failed by one bad record, so a single record of it is tried. The rest stays a
        # half.
        if holdings.halves:
            opened = holdings.halves[0].pop(0)
            if not holdings.halves[0]:
                holdings.halves.popleft()
            return opened
        return holdings.suspects.take_any()

    # ---------------------------------------------------------------------------------------- batches

    @property
    def _is_batch(self) -> bool:
        return self._rules.batch is not None

    def _batch(self, now_ms: int) -> InvokeHandler[R] | None:
        holdings, limits = self._holdings, self._rules.batch
        assert limits is not None  # noqa: S101 - the caller has looked
        # The halves of a batch come first, each in a call of its own: together with others, they would not show which
        # record is bad. Retries whose time has come are next. They make a batch without waiting for more, as they have
        # waited already.
        if holdings.halves:
            return self._run_of(holdings.halves.popleft())
        most = limits.max_records if self.tokens is None else min(limits.max_records, self.tokens)
        if due := self._due(most, now_ms):
            return self._run_of(due)
        if not self._is_batch_due(self._most_of_batch(limits), now_ms):
            return None
        self._batch_since_ms = None
        if holdings.ready:
            return self._run_of([holdings.ready.popleft() for _ in range(min(most, len(holdings.ready)))])
        fresh = self._fresh(most)
        return InvokeHandler(fresh, is_batch=True) if fresh else None

    def _most_of_batch(self, limits: BatchSizes) -> int:
        return limits.max_records if self.largest_batch is None else min(limits.max_records, self.largest_batch)

    def _size_of_next_batch(self, now_ms: int, limits: BatchSizes) -> int:
        """Return how many records the next batch has, in the order in which `_batch` looks for one."""
        holdings, most = self._holdings, self._most_of_batch(limits)
        if holdings.halves:
            return len(holdings.halves[0])
        there = holdings.waiting.count_due(now_ms)
        if not there and self._is_batch_due(most, now_ms):
            there = len(holdings.ready) or len(holdings.fresh)
        # A batch waits until there are tokens for all of it, unless nobody has the time: then it is smaller.
        return min(there, 1 if self.is_stopping or self.is_draining else most)

    def _fresh(self, most: int) -> Sequence[R]:
        taken = list(self._holdings.fresh.take(most))
        # A lot may have fewer records than it said, as unreadable ones are left out, so several lots may be needed for
        # a batch.
        while len(taken) < most and (more := self._holdings.fresh.take(most - len(taken))):
            taken += more
        return taken

    def _due(self, most: int, now_ms: int) -> list[OpenRecord[R]]:
        due: list[OpenRecord[R]] = []
        while len(due) < most and (opened := self._holdings.waiting.take_due(now_ms)) is not None:
            due.append(opened)
        return due

    def _is_batch_due(self, most: int, now_ms: int) -> bool:
        there = max(len(self._holdings.fresh), len(self._holdings.ready))
        # The wait begins with the first record of a batch and not while nothing is there.
        if there == 0:
            self._batch_since_ms = None
            return False
        if self._batch_since_ms is None:
            self._batch_since_ms = now_ms
        # A stop, and a handler of the same process that waits for this one, leave no time for a fuller batch.
        return self.is_stopping or self.is_draining or self._has_full_batch(most, now_ms)

    def _has_full_batch(self, most: int, now_ms: int) -> bool:
        """Return whether there are enough records for a batch, or the first of them has waited for others."""
        due_ms = self.batch_due_ms
        there = max(len(self._holdings.fresh), len(self._holdings.ready))
        return there >= most or (there > 0 and due_ms is not None and now_ms >= due_ms)

    @property
    def batch_due_ms(self) -> int | None:
        """The time when the batch that is being collected is due; None without one."""
        if self._batch_since_ms is None or self._rules.batch is None:
            return None
        return self._batch_since_ms + self._rules.batch.max_wait_ms

    def _run_of(self, opened: Sequence[OpenRecord[R]], *, is_probe: bool = False) -> InvokeHandler[R]:
        records = [each.record for each in opened]
        return InvokeHandler(records, opened, is_probe=is_probe, is_batch=self._is_batch)
