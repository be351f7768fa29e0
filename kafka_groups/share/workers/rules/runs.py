"""The records of a handler that run, and what the results of their runs mean."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, TypeVar

from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.workers.rules.failures.signals import WorkerStoppedError
from kafka_groups.share.workers.rules.failures.verdicts import Decision
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.outbox import HandlingOutbox
from kafka_groups.share.workers.rules.outcomes import AttemptOutcomes
from kafka_groups.share.workers.rules.record_writes import RecordWrites
from kafka_groups.share.workers.rules.steps import FailedRecord, InvokeHandler, OpenRecord, WritePurpose
from kafka_groups.types import AcknowledgeType, RecordId

__all__ = ["NO_OUTPUTS", "Outputs", "RunningRecords"]

R = TypeVar("R")

Outputs = Mapping[int, Sequence[RecordToWrite]]
"""Records to write for the records of a run, by the positions of the latter."""
NO_OUTPUTS: Outputs = MappingProxyType({})

_SLOW_RUN_MS = 20
"""A run that takes longer gives back the records that it has not started."""


class RunningRecords(Generic[R]):
    """The runs under way. Their results settle records, or make them wait again.

    Args:
        rules: The rules of the handler.
        holdings: Gets back what has not started, and the halves of batches that failed.
        outcomes: Decides about attempts that have ended.
        writing: Gets the records that succeeded and have outputs.
        outbox: Gets the others that succeeded.

    Attributes:
        under_way: The runs, with the times when they began.
        keeps_unstarted: Whether a slow run keeps what it has not started. With a rate limit it has the tokens for it.
    """

    def __init__(
        self,
        rules: HandlingRules[R],
        holdings: Holdings[R],
        outcomes: AttemptOutcomes[R],
        writing: RecordWrites[R],
        outbox: HandlingOutbox[R],
    ) -> None:
        self._rules = rules
        self._holdings = holdings
        self._outcomes = outcomes
        self._writing = writing
        self._outbox = outbox
        self.under_way: dict[InvokeHandler[R], int] = {}
        self.keeps_unstarted = False

    def oldest_places(self) -> Iterator[RecordId]:
        """Return places among which are the oldest of each partition."""
        return (self._rules.record_id(record) for run in self.under_way for record in run.oldest)

    # ---------------------------------------------------------------------------------------- taking back

    def stretched(self, now_ms: int) -> None:
        """Take back what slow runs have not started, so that other slots can run it."""
        if self.keeps_unstarted:
            return
        for run, since_ms in self.under_way.items():
            # A run was sized for a fast handler. If one of its records is slow, those behind it would wait although
            # other slots are free. A batch is one call with all its records, so nothing of it can be taken back.
            if run.unstarted and not run.is_batch and now_ms - since_ms >= _SLOW_RUN_MS:
                self._put_back(run)

    def put_back_unstarted(self) -> None:
        """Take back all that has not started."""
        for run in self.under_way:
            if run.unstarted and not run.is_batch:
                self._put_back(run)

    def _put_back(self, run: InvokeHandler[R]) -> None:
        opened = run.opened
        rest = run.take_back()
        # Fresh records have no state yet, and go back as what they are. `take_back` has already shortened `run.opened`,
        # so the states of the rest come from the list as it was before.
        if opened is None:
            self._holdings.fresh.put_back(rest)
        else:
            self._holdings.put_back(opened[len(opened) - len(rest) :])

    # ---------------------------------------------------------------------------------------- results

    def ran(
        self,
        run: InvokeHandler[R],
        failures: Sequence[FailedRecord[R]],
        now_ms: int,
        *,
        failed: Exception | None = None,
        outputs: Outputs = NO_OUTPUTS,
    ) -> None:
        """Take the result of a run. It occupies its slot no longer, also if there are outputs to write.

        Args:
            run: The run. Records that were taken back are not part of it any more.
            failures: The records that failed; all others have succeeded.
            now_ms: The time.
            failed: The error of a whole batch: all records but those of `failures` have failed together.
            outputs: What to write before the records at these positions are accepted. Those of records that failed are
                left out.
        """
        del self.under_way[run]
        if run.unstarted:  # the handler ended its thread, or its task was cancelled
            self._put_back(run)
        if not run.records:
            return  # all were taken back, which shows nothing about the sink
        errors = {failure.index: failure.error for failure in failures}
        # The function raised, which undoes what it had decided about single records. `errors` has only those whose
        # values could not be parsed, which were no part of the call.
        if failed is not None:
            self._batch_failed(run, failed, errors, now_ms)
            return
        # The common case: fresh records, all of which succeeded and kept their locks. They are acknowledged together,
        # without creating a state for each. The records of a batch may be of several deliveries, so only those of other
        # runs are ranges.
        if not failures and run.opened is None and not run.lost:
            if not outputs:
                self._outcomes.worked(now_ms)
                self._outbox.settle(run.records, AcknowledgeType.ACCEPT, is_run=not run.is_batch)
                return
            if self._write_together(run, outputs, now_ms):
                return
        self._sort_out(run, errors, outputs, now_ms)

    def _write_together(self, run: InvokeHandler[R], outputs: Outputs, now_ms: int) -> bool:
        """Write the outputs of a run in one step. Returns False if they have to be written for each record."""
        # Their outputs are in the order of the records, except for those that a batch handler has added.
        if run.is_batch or not self._writing.may_write_together(outputs.values()):
            return False
        self._outcomes.worked(now_ms)
        in_hand = run.records
        if len(outputs) < len(in_hand):
            nothing = [record for index, record in enumerate(in_hand) if index not in outputs]
            self._outbox.settle(nothing, AcknowledgeType.ACCEPT)
            in_hand = [in_hand[index] for index in outputs]
        self._writing.write_together(in_hand, tuple(outputs.values()))
        return True

    def _sort_out(self, run: InvokeHandler[R], errors: Mapping[int, Exception], outputs: Outputs, now_ms: int) -> None:
        """Settle what has succeeded, and judge what has failed, in order: a success ends a row of failures."""
        kept: list[OpenRecord[R]] = []
        for index, each in enumerate(self._opened(run)):
            error = errors.get(index)
            # A success says that the sink works, whether or not its record still has its lock.
            if error is None:
                self._outcomes.worked(now_ms)
            records = outputs.get(index, ())
            # Outputs of a record whose lock is lost are not written, so another attempt has to make them.
            if run.lost and self._was_lost(run, each, now_ms, has_succeeded=error is None and not records):
                continue
            if error is None and records:
                self._writing.write(each, WritePurpose.OUTPUT, records, now_ms)
            elif error is None:
                kept.append(each)
            else:
                self._outcomes.failed(each, error, now_ms, is_probe=run.is_probe)
        # All successes of the run go into one acknowledgement. They leave their keys afterwards, because a record that
        # follows may be settled at once, and must not be acknowledged before them.
        self._outbox.settle([each.record for each in kept], AcknowledgeType.ACCEPT)
        for each in kept:
            self._holdings.leave(each, now_ms)

    def _opened(self, run: InvokeHandler[R]) -> Sequence[OpenRecord[R]]:
        if run.opened is not None:
            return run.opened
        return list(map(self._holdings.opened, run.records))

    def _was_lost(self, run: InvokeHandler[R], opened: OpenRecord[R], now_ms: int, *, has_succeeded: bool) -> bool:
        if opened.place not in run.lost:
            return False
        # The broker would refuse an acknowledgement, and another member may have the record. A redelivery to this
        # process has waited for the handler to end: it is accepted now if the handler succeeded, and runs otherwise.
        waited = self._holdings.lost.ended(opened.place, has_succeeded=has_succeeded)
        self._holdings.leave(opened, now_ms)
        self._holdings.admit(waited, now_ms)
        return True

    def _batch_failed(
        self, run: InvokeHandler[R], error: Exception, errors: Mapping[int, Exception], now_ms: int
    ) -> None:
        """Halve a batch that failed, to find the bad record. Rules that decide at once decide about all its records."""
        opened = self._opened(run)
        rest = [each for index, each in enumerate(opened) if index not in errors]
        kept = [each for each in rest if not self._was_lost(run, each, now_ms, has_succeeded=False)]
        # A record that is no part of the call, because its value could not be parsed, is decided on its own.
        for index, own_error in errors.items():
            if not self._was_lost(run, opened[index], now_ms, has_succeeded=False):
                self._outcomes.failed(opened[index], own_error, now_ms, is_probe=run.is_probe)
        # There are three cases. A stop, and a rule that decides at once, such as ACCEPT or DEAD_LETTER, apply to the
        # whole call: halving would call the function again, although the user has said what this error means.
        is_decided = isinstance(error, WorkerStoppedError) or isinstance(self._rules.failures.judge(error), Decision)
        # A single record is the bad one, and is judged like that of any other handler.
        if len(kept) == 1 or is_decided:
            for each in kept:
                self._outcomes.failed(each, error, now_ms, is_probe=run.is_probe)
        # Otherwise one record has made all fail, or the sink is down. Only the first counts as failed for the breaker:
        # a whole batch would open it at once. No record uses a retry or a wait for an attempt that it did not have
        # alone.
        elif kept:
            self._outcomes.tried(kept[0], error, now_ms, is_probe=run.is_probe)
            for each in kept:
                each.attempts += 1
                each.halvings += 1
            # `extendleft` reverses its argument: the first half runs next, and then the second one.
            half = (len(kept) + 1) // 2
            self._holdings.halves.extendleft((list(kept[half:]), list(kept[:half])))

    # ---------------------------------------------------------------------------------------- lost locks

    def lose(self, matches: Callable[[R], bool], now_ms: int) -> list[RecordId]:
        """Forget the records that match. Returns their places.

        Handlers that run for such records continue, but their results no longer count. Until they end, this process
        starts no second handler for these records.
        """
        return [place for run in list(self.under_way) for place in self._lost_of(run, matches, now_ms)]

    def _lost_of(self, run: InvokeHandler[R], matches: Callable[[R], bool], now_ms: int) -> list[RecordId]:
        record_id = self._rules.record_id
        if not any(matches(record) and record_id(record) not in run.lost for record in run.records):
            return []
        # The records that a slot has not started can be dropped, so their handlers never run without a lock. All
        # records of a batch are in its call already.
        gone = [] if run.is_batch else self._put_back_kept(run, matches, now_ms)
        # What has been started may run on, because a thread cannot be stopped. Redeliveries of these records wait for
        # its end.
        places = {record_id(record) for record in run.records if matches(record)} - run.lost
        run.lost |= places
        for place in places:
            self._holdings.lost.lost_while_running(place)
        return [*gone, *places]

    def _put_back_kept(self, run: InvokeHandler[R], matches: Callable[[R], bool], now_ms: int) -> list[RecordId]:
        """Take back what the run has not started, and drop what is lost of it. Returns the latter's places."""
        opened = self._opened(run)
        rest = opened[len(opened) - len(run.take_back()) :]
        # The slot may have started a record since the loss was noticed, so all that it has not started comes back
        # first. The records that still have their locks run again later, before others.
        kept = [each for each in rest if not matches(each.record)]
        if run.opened is None:
            self._holdings.fresh.put_back([each.record for each in kept])
        else:
            self._holdings.put_back(kept)
        # A record that is dropped frees its key, or those behind it would wait for ever.
        gone = [each for each in rest if matches(each.record)]
        for each in gone:
            self._holdings.leave(each, now_ms)
        return [each.place for each in gone]
