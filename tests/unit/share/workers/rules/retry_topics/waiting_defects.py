"""Defects planted into the rules for waiting in retry topics. Random scenes must find each of them."""

from typing import Any

from attrs import evolve

from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.record_writes import RecordWrites
from kafka_groups.share.workers.rules.retry_topics.delay_rules import DelayRules, DelayTurn, DelayVerdict
from kafka_groups.share.workers.rules.retry_topics.delayed_records import DelayedRecords, FetchSteps
from kafka_groups.share.workers.rules.steps import WriteRecords
from kafka_groups.types import AcknowledgeType
from tests.support.planted_defects import Patch, by_name

__all__ = ["WAITING_DEFECTS"]


def forwarding_forgets_the_due_time(patch: Patch) -> None:
    """A record that is written again is due when the delay of its next topic is over."""
    forwarded = DelayRules.forwarded

    def forget(self: DelayRules[Any], record: Any, state: Any, deaths: int, wall_ms: int) -> RecordToWrite | None:
        return forwarded(self, record, evolve(state, due_ms=wall_ms + self.delay_ms), deaths, wall_ms)

    patch.setattr(DelayRules, "forwarded", forget)


def records_move_on_from_the_last_delivery_only(patch: Patch) -> None:
    """A record that waits is written again on delivery 5 and not before."""
    judge = DelayRules.judge

    def late(self: DelayRules[Any], record: Any, state: Any, count: int, wall_ms: int) -> DelayVerdict:
        return judge(self, record, state, 1 if count < 5 else count, wall_ms)

    patch.setattr(DelayRules, "judge", late)


def records_run_when_the_delay_of_their_topic_is_over(patch: Patch) -> None:
    """The due time in the headers is not looked at."""
    judge = DelayRules.judge

    def early(self: DelayRules[Any], record: Any, state: Any, count: int, wall_ms: int) -> DelayVerdict:
        verdict = judge(self, record, state, count, wall_ms)
        is_over = self.is_over(record, state, wall_ms)
        return evolve(verdict, turn=DelayTurn.RUN) if is_over and verdict.turn is DelayTurn.REST else verdict

    patch.setattr(DelayRules, "judge", early)


def records_run_a_moment_early(patch: Patch) -> None:
    """The time of day is taken for a little later than it is."""
    wall_ms = DelayedRecords.wall_ms
    patch.setattr(DelayedRecords, "wall_ms", lambda self, now_ms: wall_ms(self, now_ms) + 1)


def more_is_fetched_than_two_records_of_each_partition(patch: Patch) -> None:
    """Records are fetched as long as there are any."""
    patch.setattr(DelayedRecords, "wanted", property(lambda self: self.fetches.next_size))


def fetches_stay_large(patch: Patch) -> None:
    """A fetch that overtakes the records that are ready is followed by another large one."""

    def ended(self: FetchSteps, partitions: int) -> None:
        self._step = min(2 * self._step, 500)
        self._seen.clear()

    patch.setattr(FetchSteps, "ended", ended)


def records_stay_after_their_delay(patch: Patch) -> None:
    """A record spends the rest of its wait in the process, however long it is."""
    judge = DelayRules.judge

    def stay(self: DelayRules[Any], record: Any, state: Any, count: int, wall_ms: int) -> DelayVerdict:
        verdict = judge(self, record, state, count, wall_ms)
        if verdict.turn is DelayTurn.FORWARD and self.is_over(record, state, wall_ms):
            return evolve(verdict, turn=DelayTurn.REST, at_ms=self.due_ms(record, state))
        return verdict

    patch.setattr(DelayRules, "judge", stay)


def forwarded_records_are_accepted_before_the_confirmation(patch: Patch) -> None:
    """A record is accepted when the write of its next place begins."""
    next_other = RecordWrites._next_other

    def accept_first(self: RecordWrites[Any], now_ms: int) -> WriteRecords[Any] | None:
        write = next_other(self, now_ms)
        if write is not None:
            self._outbox.end(write.opened, AcknowledgeType.ACCEPT, now_ms)
        return write

    patch.setattr(RecordWrites, "_next_other", accept_first)


def early_records_wait_until_the_worker_has_stopped(patch: Patch) -> None:
    """A worker that stops keeps records that are not due."""

    def go_on(self: RecordHandling[Any], delay: DelayRules[Any], now_ms: int) -> None:
        self.holdings.go_on_early(now_ms)

    patch.setattr(RecordHandling, "_go_on_early", go_on)


def due_records_are_forgotten(patch: Patch) -> None:
    """Nobody looks at early records again."""
    patch.setattr(Holdings, "go_on_early", lambda self, now_ms: None)


WAITING_DEFECTS = by_name(
    forwarding_forgets_the_due_time,
    records_move_on_from_the_last_delivery_only,
    records_run_when_the_delay_of_their_topic_is_over,
    records_run_a_moment_early,
    more_is_fetched_than_two_records_of_each_partition,
    fetches_stay_large,
    records_stay_after_their_delay,
    forwarded_records_are_accepted_before_the_confirmation,
    early_records_wait_until_the_worker_has_stopped,
    due_records_are_forgotten,
)
