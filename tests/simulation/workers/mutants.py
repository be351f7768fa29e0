"""Defects planted on purpose in handler workers: each must be caught by the simulation within a few seeds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.share.workers.rules.dead_letter_headers import CopiedRecords
from kafka_groups.share.workers.rules.failures import breaker
from kafka_groups.share.workers.rules.failures.breaker import Breaker
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.keys import KeyOrder
from kafka_groups.share.workers.rules.lost import LostRecords
from kafka_groups.share.workers.rules.outcomes import AttemptOutcomes
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.process_gate import ProcessGate
from kafka_groups.share.workers.rules.record_writes import RecordWrites
from kafka_groups.share.workers.rules.runs import RunningRecords
from kafka_groups.share.workers.rules.steps import InvokeHandler, WritePurpose
from kafka_groups.share.workers.rules.suspects import SuspectRecords
from kafka_groups.share.workers.running.driver import HandlerDriver
from kafka_groups.share.workers.running.handler_writes import HandlerWrites
from kafka_groups.share.workers.running.run_watch import RunWatch
from kafka_groups.types import AcknowledgeType
from tests.support.planted_defects import Patch, by_name

__all__ = ["MUTANTS", "SEEDS"]

SEEDS = range(1, 25)

# ----------------------------------------------------------------------------------------- settling


def dead_letters_are_written_after_rejecting(patch: Patch) -> None:
    """A record is rejected at once, and copied afterwards."""
    write_dead_letter = RecordWrites.write_dead_letter

    def reject_first(self: RecordWrites[Any], opened: Any, reason: str, now_ms: int) -> None:
        self._outbox.settle([opened.record], AcknowledgeType.REJECT)
        write_dead_letter(self, opened, reason, now_ms)

    patch.setattr(RecordWrites, "write_dead_letter", reject_first)


def records_are_accepted_before_their_handlers_end(patch: Patch) -> None:
    """A record is accepted when its handler starts."""
    next_run = RecordHandling._next_run

    def accept_first(self: RecordHandling[Any], now_ms: int) -> InvokeHandler[Any] | None:
        run = next_run(self, now_ms)
        if run is not None and run.opened is None:
            self.outbox.settle(run.records, AcknowledgeType.ACCEPT)
        return run

    patch.setattr(RecordHandling, "_next_run", accept_first)


def records_are_accepted_before_their_results_are_confirmed(patch: Patch) -> None:
    """A record is accepted when its handler has returned, while its results are being written."""
    write = RecordWrites.write

    def accept_first(self: RecordWrites[Any], opened: Any, purpose: WritePurpose, *more: Any) -> None:
        if purpose is WritePurpose.OUTPUT:
            self._outbox.settle([opened.record], AcknowledgeType.ACCEPT)
        write(self, opened, purpose, *more)

    patch.setattr(RecordWrites, "write", accept_first)


def results_do_not_keep_their_keys(patch: Patch) -> None:
    """The next record of a key begins while results of the one before are being written."""
    write = RecordWrites.write

    def leave_first(self: RecordWrites[Any], opened: Any, purpose: WritePurpose, records: Any, now_ms: int) -> None:
        self._holdings.leave(opened, now_ms)
        opened.key = None
        write(self, opened, purpose, records, now_ms)

    patch.setattr(RecordWrites, "write", leave_first)


def failed_records_are_accepted(patch: Patch) -> None:
    """A record that has used its retries is accepted, as if it were done."""

    def accept(self: RecordWrites[Any], opened: Any, _reason: str, now_ms: int) -> None:
        self._outbox.end(opened, AcknowledgeType.ACCEPT, now_ms)

    patch.setattr(RecordWrites, "write_dead_letter", accept)


def finished_records_are_forgotten_and_others_remembered(patch: Patch) -> None:
    """Any redelivered record counts as processed, once this process has lost a lock."""
    patch.setattr(LostRecords, "was_finished", lambda self, _place: bool(self._finished))


def every_failure_releases_everything(patch: Patch) -> None:
    """When a record fails, all that wait are released."""
    ran = RunningRecords.ran

    def release(self: RunningRecords[Any], run: Any, failures: Any, now_ms: int, **more: Any) -> None:
        waiting = len(self._holdings.waiting)
        ran(self, run, failures, now_ms, **more)
        if len(self._holdings.waiting) > waiting:
            self._outcomes._writing.lose_aside(lambda _record: True)
            gone = self._holdings.remove(lambda _record: True, now_ms)
            self._outbox.settle([opened.record for opened in gone], AcknowledgeType.RELEASE)

    patch.setattr(RunningRecords, "ran", release)


# -------------------------------------------------------------------------------------- dead letters


def copies_count_as_written_when_they_are_handed_over(patch: Patch) -> None:
    """A record is rejected before its dead letter is confirmed."""
    write = HandlerWrites.write

    def confirm(self: HandlerWrites, step: Any) -> None:
        write(self, step)
        self._rules.written(step, None, 0)

    patch.setattr(HandlerWrites, "write", confirm)


def held_copies_are_forgotten(patch: Patch) -> None:
    """A record whose dead letter could not be written for a while stays in hand for ever."""
    held = HandlerWrites._held

    def forget(self: HandlerWrites, topic: str, error: Any) -> None:
        held(self, topic, error)
        for write in list(self._rules._under_way):
            self._rules._forgotten(write)

    patch.setattr(HandlerWrites, "_held", forget)


def copies_are_forgotten(patch: Patch) -> None:
    """A process copies a record again when it comes again."""
    patch.setattr(CopiedRecords, "__contains__", lambda _self, _place: False)


def last_deliveries_are_not_copied_before(patch: Patch) -> None:
    """A record that kills every process has no dead letter."""
    patch.setattr(DeliveryPolicy, "copy_from", property(lambda _self: 1_000))


# -------------------------------------------------------------------------------------------- outages


def outages_use_retries(patch: Patch) -> None:
    """While the breaker is open, a failure uses a retry as ever."""
    try_again = AttemptOutcomes._try_again

    def count(
        self: AttemptOutcomes[Any], opened: Any, again: Any, error: Exception, now_ms: int, *, is_probe: bool
    ) -> None:
        if self._breaker.is_open:
            opened.retries += 1
        try_again(self, opened, again, error, now_ms, is_probe=is_probe)

    patch.setattr(AttemptOutcomes, "_try_again", count)


def the_breaker_never_opens(patch: Patch) -> None:
    """An outage of the sink is not told from bad records."""
    patch.setattr(breaker, "OPENS_AT", 1_000)


def the_breaker_never_closes(patch: Patch) -> None:
    """A success does not end an outage."""
    succeeded = Breaker.succeeded

    def stay(self: Breaker, now_ms: int) -> bool:
        was_open = self.is_open
        succeeded(self, now_ms)
        self.is_open = was_open
        return False

    patch.setattr(Breaker, "succeeded", stay)


# ---------------------------------------------------------------------------------------------- locks


def lost_deliveries_run_on(patch: Patch) -> None:
    """A record whose lock was lost is run as if it were held."""
    patch.setattr(HandlerDriver, "_lost", lambda *_arguments: None)


def lost_records_have_two_handlers(patch: Patch) -> None:
    """A redelivered record waits neither for the handler of its earlier delivery nor, as a suspect, for all others."""
    is_suspect = Holdings._is_suspect
    patch.setattr(LostRecords, "holds_back", lambda _self, _opened: False)
    patch.setattr(
        Holdings,
        "_is_suspect",
        lambda self, opened: opened.place not in self.lost._running and is_suspect(self, opened),
    )


def deliveries_of_old_leaders_go_on(patch: Patch) -> None:
    """What is delivered again does not end what was delivered before."""
    patch.setattr(HandlerDriver, "_end_earlier", lambda *_arguments: None)


def windows_stay_blocked(patch: Patch) -> None:
    """What fills the window of its partition is kept, whatever the handler says."""
    patch.setattr(RecordHandling, "_unblock", lambda *_arguments: None)


# --------------------------------------------------------------------------------------------- choice


def suspects_are_not_isolated(patch: Patch) -> None:
    """Records on their last deliveries run beside all others."""
    patch.setattr(SuspectRecords, "is_alone", lambda _self, _now_ms, *, is_quiet: False)
    patch.setattr(SuspectRecords, "take", lambda self, _now_ms, *, is_quiet: self.take_any())


def copies_of_other_handlers_hold_up_nothing(patch: Patch) -> None:
    """The gate of the process does not see that another handler copies records on their last deliveries."""
    next_step = RecordHandling.next

    def look_at_own(self: RecordHandling[Any], now_ms: int) -> Any:
        with Patch.context() as inner:
            inner.setattr(ProcessGate, "is_shut", property(lambda _: self.has_records_at_risk))
            return next_step(self, now_ms)

    patch.setattr(RecordHandling, "next", look_at_own)


def suspects_run_beside_other_handlers(patch: Patch) -> None:
    """A record that may kill the process runs while other handlers run theirs."""
    patch.setattr(ProcessGate, "may_isolate", lambda *_arguments: True)


def keys_are_interleaved(patch: Patch) -> None:
    """Records of one key run side by side."""
    patch.setattr(KeyOrder, "enters", lambda _self, _key, _record: True)
    patch.setattr(KeyOrder, "leaves", lambda _self, _key: None)


def attempts_have_no_timeout(patch: Patch) -> None:
    """An attempt that hangs is not cancelled."""
    patch.setattr(RunWatch, "look", lambda *_arguments: None)


def stopping_takes_no_end(patch: Patch) -> None:
    """A worker that is stopped runs on what it holds, however long that takes."""
    patch.setattr(RecordHandling, "_is_over", lambda _self, _now_ms: False)


MUTANTS = by_name(
    dead_letters_are_written_after_rejecting,
    records_are_accepted_before_their_handlers_end,
    failed_records_are_accepted,
    finished_records_are_forgotten_and_others_remembered,
    every_failure_releases_everything,
    copies_count_as_written_when_they_are_handed_over,
    held_copies_are_forgotten,
    copies_are_forgotten,
    the_breaker_never_opens,
    the_breaker_never_closes,
    lost_deliveries_run_on,
    lost_records_have_two_handlers,
    deliveries_of_old_leaders_go_on,
    windows_stay_blocked,
    last_deliveries_are_not_copied_before,
    outages_use_retries,
    suspects_are_not_isolated,
    keys_are_interleaved,
    attempts_have_no_timeout,
    stopping_takes_no_end,
    copies_of_other_handlers_hold_up_nothing,
    suspects_run_beside_other_handlers,
    records_are_accepted_before_their_results_are_confirmed,
    results_do_not_keep_their_keys,
)

CAUGHT_BY: Mapping[str, int] = MappingProxyType({
    "finished_records_are_forgotten_and_others_remembered": 2,
    "held_copies_are_forgotten": 5,
    "copies_are_forgotten": 4,
    "lost_deliveries_run_on": 2,
    "lost_records_have_two_handlers": 14,
    "deliveries_of_old_leaders_go_on": 22,
    "suspects_are_not_isolated": 2,
    "records_are_accepted_before_their_results_are_confirmed": 2,
    "results_do_not_keep_their_keys": 13,
})  # fmt: skip
"""The seeds that catch defects which the first one does not see. They are tried first, and need not stay right."""
