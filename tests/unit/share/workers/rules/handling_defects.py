"""Defects planted into the rules of handler workers. Random scenes must find each of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kafka_groups.errors import is_retriable
from kafka_groups.share.workers.rules import outcomes
from kafka_groups.share.workers.rules.failures.breaker import Breaker
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.in_hand import FreshRecords, WaitingRecords
from kafka_groups.share.workers.rules.keys import KeyOrder
from kafka_groups.share.workers.rules.limited_starts import LimitedStarts
from kafka_groups.share.workers.rules.lost import LostRecords
from kafka_groups.share.workers.rules.outbox import HandlingOutbox
from kafka_groups.share.workers.rules.outcomes import AttemptOutcomes
from kafka_groups.share.workers.rules.record_writes import RecordWrites
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopic
from kafka_groups.share.workers.rules.retry_topics.retry_rules import RetryRules
from kafka_groups.share.workers.rules.run_choice import RunChoice
from kafka_groups.share.workers.rules.runs import Outputs, RunningRecords
from kafka_groups.share.workers.rules.steps import InvokeHandler, OpenRecord, WriteOutputs, WritePurpose, WriteRecords
from kafka_groups.share.workers.rules.suspects import SuspectRecords
from kafka_groups.types import AcknowledgeType, RecordId
from tests.support.planted_defects import Patch, by_name

__all__ = ["DEFECTS"]

Handling = RecordHandling[Any]
Opened = OpenRecord[Any]
Outcomes = AttemptOutcomes[Any]
Runs = RunningRecords[Any]


# ---------------------------------------------------------------------------------------------- dead letters


def copies_follow_rejects(patch: Patch) -> None:
    """A record is rejected at once, and copied at some time."""

    def write_dead_letter(self: RecordWrites[Any], opened: Opened, reason: str, now_ms: int) -> None:
        self._outbox.end(opened, AcknowledgeType.REJECT, now_ms)

    patch.setattr(RecordWrites, "write_dead_letter", write_dead_letter)


def copies_need_no_confirmation(patch: Patch) -> None:
    """A dead letter that was not written counts as written."""
    written = RecordWrites.written
    patch.setattr(RecordWrites, "written", lambda self, write, error, now_ms: written(self, write, None, now_ms))


def late_copies_count_for_redeliveries(patch: Patch) -> None:
    """The result of a copy whose record's lock was lost is taken for that of its redelivery."""

    def written(self: RecordWrites[Any], write: WriteRecords[Any], error: Exception | None, now_ms: int) -> None:
        for other in [each for each in self._dead_letters if each.place == write.opened.place]:
            del self._dead_letters[other]
            self._go_on(write.opened, now_ms)

    patch.setattr(RecordWrites, "written", written)


# ---------------------------------------------------------------------------------------------- outputs


def outputs_need_no_confirmation(patch: Patch) -> None:
    """A record is accepted when its outputs are handed over to be written."""
    begun = RecordWrites._begun

    def accept(self: RecordWrites[Any], under_way: Any, opened: Opened, records: Any) -> WriteRecords[Any]:
        if opened.purpose is WritePurpose.OUTPUT:
            self._outbox.end(opened, AcknowledgeType.ACCEPT, 0)
        return begun(self, under_way, opened, records)

    patch.setattr(RecordWrites, "_begun", accept)


def handlers_run_again_after_a_failed_write(patch: Patch) -> None:
    """A record whose outputs had no answer waits for another attempt."""
    again = RecordWrites._again

    def run_again(self: RecordWrites[Any], opened: Opened, error: Exception, now_ms: int) -> None:
        if opened.purpose is WritePurpose.OUTPUT:
            opened.purpose, opened.due_ms = None, now_ms + 1_000
            self._holdings.waiting.add(opened)
        else:
            again(self, opened, error, now_ms)

    patch.setattr(RecordWrites, "_again", run_again)


def an_outage_of_one_topic_delays_the_confirmations_of_others(patch: Patch) -> None:
    """While any topic is held, no record goes on."""
    written, late = RecordWrites.written, list[tuple[Any, ...]]()

    def wait(self: RecordWrites[Any], *result: Any) -> None:
        late.append(result)
        if not self._held:
            for each in late:
                written(self, *each)
            late.clear()

    patch.setattr(RecordWrites, "written", wait)


def refused_outputs_are_accepted(patch: Patch) -> None:
    """A record whose outputs are refused for good is accepted without them."""
    written = RecordWrites.written

    def accept(self: RecordWrites[Any], write: WriteRecords[Any], error: Exception | None, now_ms: int) -> None:
        is_refusal = write.purpose is WritePurpose.OUTPUT and error is not None and not is_retriable(error)
        written(self, write, None if is_refusal else error, now_ms)

    patch.setattr(RecordWrites, "written", accept)


def keys_do_not_wait_for_outputs(patch: Patch) -> None:
    """While outputs are written, the next record of the key runs."""
    write = RecordWrites.write

    def leave(self: RecordWrites[Any], opened: Opened, purpose: Any, records: Any, now_ms: int) -> None:
        write(self, opened, purpose, records, now_ms)
        self._holdings.leave(opened, now_ms)
        opened.key = None

    patch.setattr(RecordWrites, "write", leave)


def redeliveries_do_not_wait_for_outputs(patch: Patch) -> None:
    """A redelivered record runs while the outputs of its earlier delivery are written."""
    leave_behind = RecordWrites._leave_behind

    def forget(self: RecordWrites[Any], write: WriteRecords[Any]) -> None:
        leave_behind(self, write)
        self._holdings.lost._running.pop(write.opened.place, None)

    patch.setattr(RecordWrites, "_leave_behind", forget)


def outputs_of_lost_records_count_as_written(patch: Patch) -> None:
    """A record that ran without its lock is finished, although its outputs were dropped."""
    was_lost = RunningRecords._was_lost

    def finished(self: Runs, run: Any, opened: Opened, now_ms: int, *, has_succeeded: bool) -> bool:
        del has_succeeded
        return was_lost(self, run, opened, now_ms, has_succeeded=True)

    patch.setattr(RunningRecords, "_was_lost", finished)


def runs_need_no_confirmation(patch: Patch) -> None:
    """The records of a run are accepted when their outputs are handed over to be written together."""
    write_together = RecordWrites.write_together

    def accept(self: RecordWrites[Any], in_hand: Any, outputs: Any) -> None:
        write_together(self, in_hand, outputs)
        self._outbox.settle(in_hand, AcknowledgeType.ACCEPT)

    patch.setattr(RecordWrites, "write_together", accept)


def a_refusal_fails_the_whole_run(patch: Patch) -> None:
    """One refused output is a failure of all records of its run."""
    written = RecordWrites.written

    def fail(self: RecordWrites[Any], write: Any, error: Exception | None, now_ms: int) -> None:
        if not isinstance(write, WriteOutputs) or error is None:
            written(self, write, error, now_ms)
            return
        self._open(write)
        _, singles = self.opened.pop()
        for single in singles:
            written(self, single, error, now_ms)

    patch.setattr(RecordWrites, "written", fail)


def a_refusal_in_a_run_is_overlooked(patch: Patch) -> None:
    """The run waits for a confirmation that never comes."""
    together_written = RecordWrites._together_written

    def overlook(self: RecordWrites[Any], write: WriteOutputs[Any], error: Exception | None) -> None:
        if error is None:
            together_written(self, write, None)

    patch.setattr(RecordWrites, "_together_written", overlook)


def a_refusal_in_a_run_is_accepted(patch: Patch) -> None:
    """A run is accepted although one of its outputs was refused."""
    together_written = RecordWrites._together_written
    patch.setattr(RecordWrites, "_together_written", lambda self, write, error: together_written(self, write, None))


def locks_of_a_run_that_is_written_are_not_looked_at(patch: Patch) -> None:
    """A record whose lock is lost is accepted with the others of its run."""
    lose = RecordWrites.lose

    def overlook(self: RecordWrites[Any], matches: Callable[[Any], bool], now_ms: int) -> list[RecordId]:
        of_runs, self._of_runs = self._of_runs, {}
        gone = lose(self, matches, now_ms)
        self._of_runs = of_runs
        return gone

    patch.setattr(RecordWrites, "lose", overlook)


def a_lost_lock_ends_the_whole_run(patch: Patch) -> None:
    """All records of a run that is written are forgotten with the one that is lost."""
    lose = RecordWrites.lose

    def forget(self: RecordWrites[Any], matches: Callable[[Any], bool], now_ms: int) -> list[RecordId]:
        lost = [each for each in self._of_runs if any(map(matches, each.in_hand))]
        gone = [record for each in lost for record in each.in_hand]
        return lose(self, lambda record: matches(record) or record in gone, now_ms)

    patch.setattr(RecordWrites, "lose", forget)


def windows_leave_out_runs_that_are_written(patch: Patch) -> None:
    """Records of runs whose outputs are written do not count for their partition's window."""
    patch.setattr(RecordWrites, "places", property(lambda self: [each.opened.place for each in self._under_way]))


def outputs_of_a_stop_are_forgotten(patch: Patch) -> None:
    """When the time of a stop is over, records whose outputs are under way are in nobody's hand."""
    patch.setattr(RecordWrites, "give_up", lambda self, now_ms, *, only_held: None)


# ---------------------------------------------------------------------------------------------- outages


def outages_use_retries(patch: Patch) -> None:
    """Each probe uses a retry of its record."""
    wait = AttemptOutcomes._wait

    def use_one(self: Outcomes, opened: Opened, wait_ms: int, now_ms: int) -> None:
        opened.retries += int(self._breaker.is_open)
        wait(self, opened, wait_ms, now_ms)

    patch.setattr(AttemptOutcomes, "_wait", use_one)


def probes_are_of_one_record(patch: Patch) -> None:
    """The record that was probed is probed again."""

    def take_newest(self: WaitingRecords[Any], matches: Callable[[Opened], bool]) -> Opened | None:
        found = max((entry for entry in self._heap if matches(entry[2])), key=lambda entry: entry[1], default=None)
        return None if found is None else self.remove(lambda opened: opened is found[2])[0]

    patch.setattr(WaitingRecords, "take_longest_there", take_newest)


def probes_do_not_wait(patch: Patch) -> None:
    """One probe follows another."""
    patch.setattr(Breaker, "may_probe", lambda self, now_ms: True)


def one_record_opens_the_breaker(patch: Patch) -> None:
    """Three failures of one record are taken for an outage."""
    failed = Breaker.failed

    def count_failures(self: Breaker, place: Any, now_ms: int, *, is_probe: bool) -> bool:
        return failed(self, (place, len(self._failed)), now_ms, is_probe=is_probe)

    patch.setattr(Breaker, "failed", count_failures)


def successes_leave_the_breaker_open(patch: Patch) -> None:
    """Nothing closes the breaker."""
    patch.setattr(Breaker, "succeeded", lambda self, now_ms: False)


def empty_runs_are_successes(patch: Patch) -> None:
    """A run of which everything was taken back closes the breaker."""
    ran = RunningRecords.ran

    def ran_well(self: Runs, run: InvokeHandler[Any], failures: Any, now_ms: int, **more: Any) -> None:
        if not run.records:
            self._outcomes.worked(now_ms)
        ran(self, run, failures, now_ms, **more)

    patch.setattr(RunningRecords, "ran", ran_well)


def successes_count_before_failures(patch: Patch) -> None:
    """Of a run, the successes are counted first, so that failures that were not in a row open the breaker."""
    sort_out = RunningRecords._sort_out

    def count_first(
        self: Runs, run: InvokeHandler[Any], errors: Mapping[int, Exception], outputs: Outputs, now_ms: int
    ) -> None:
        if len(errors) < len(run.records):
            self._outcomes.worked(now_ms)
        with Patch.context() as inner:
            inner.setattr(self._outcomes, "worked", lambda now_ms: None)
            sort_out(self, run, errors, outputs, now_ms)

    patch.setattr(RunningRecords, "_sort_out", count_first)


# ---------------------------------------------------------------------------------------------- retry topics


def attempts_are_not_carried_over(patch: Patch) -> None:
    """In each retry topic, the attempts are counted anew."""
    patch.setattr(OpenRecord, "all_attempts", property(lambda self: self.attempts))


def retries_are_not_carried_over(patch: Patch) -> None:
    """In each retry topic, a record has all its retries again."""
    patch.setattr(OpenRecord, "all_retries", property(lambda self: self.retries))


def records_move_while_the_breaker_is_open(patch: Patch) -> None:
    """During an outage, all records with long waits go to retry topics."""

    def topic_for(self: Outcomes, opened: Opened, now_ms: int) -> RetryTopic | None:
        retry = self._rules.retry
        return None if retry is None else retry.topics.topic_for(opened.due_ms - now_ms)

    patch.setattr(AttemptOutcomes, "_topic_for", topic_for)
    patch.setattr(RecordWrites, "keep", lambda self: False)


def what_was_about_to_move_moves_during_an_outage(patch: Patch) -> None:
    """Only records that fail while the breaker is open stay."""
    patch.setattr(RecordWrites, "keep", lambda self: False)


def long_waits_stay_in_the_process_after_an_outage(patch: Patch) -> None:
    """What was kept because the breaker was open is forgotten."""
    patch.setattr(AttemptOutcomes, "_keeps_long_waits", property(lambda self: False, lambda self, value: None), False)


def moves_need_no_confirmation(patch: Patch) -> None:
    """A record is accepted before it is in its retry topic."""
    move = RecordWrites.move

    def move_and_end(self: RecordWrites[Any], opened: Opened, topic: RetryTopic, now_ms: int) -> None:
        move(self, opened, topic, now_ms)
        self._holdings.writes.remove(lambda each: each is opened)
        self._outbox.end(opened, AcknowledgeType.ACCEPT, now_ms, has_moved=True)

    patch.setattr(RecordWrites, "move", move_and_end)


def the_first_failure_is_forgotten(patch: Patch) -> None:
    """A record seems to fail for the first time in each retry topic."""
    patch.setattr(RetryRules, "failing_since_ms", lambda self, opened, now_ms: now_ms)
    patch.setattr(RetryRules, "_first_failure_ms", lambda self, opened, due_ms: self.wall_ms(opened.failing_since_ms))


def bad_records_of_retry_topics_open_the_breaker(patch: Patch) -> None:
    """That a record of a retry topic has failed before says nothing."""
    patch.setattr(RetryRules, "moved_here_ms", lambda self, opened, now_ms: None)


# ---------------------------------------------------------------------------------------------- locks


def redeliveries_run_beside_lost_handlers(patch: Patch) -> None:
    """A redelivered record does not wait for the handler of its earlier delivery."""
    patch.setattr(LostRecords, "holds_back", lambda self, opened: False)


def redeliveries_do_not_end_deliveries(patch: Patch) -> None:
    """A loss that nobody reported stays unnoticed."""
    patch.setattr(RecordHandling, "_forget_earlier", lambda *arguments: None)


def successes_after_a_loss_are_forgotten(patch: Patch) -> None:
    """A record that this process has finished is run again."""
    patch.setattr(LostRecords, "was_finished", lambda self, place: False)


def only_losses_of_runs_are_told(patch: Patch) -> None:
    """Records that wait when their locks are lost go without a word."""
    lost = RecordHandling.lost

    def lose(self: Handling, matches: Callable[[Any], bool], now_ms: int) -> int:
        def tell(places: Iterable[RecordId]) -> None:
            running = set().union(*(run.lost for run in self.runs.under_way))
            HandlingOutbox.tell_lost(self.outbox, [place for place in places if place in running])

        with Patch.context() as inner:
            inner.setattr(self.outbox, "tell_lost", tell)
            return lost(self, matches, now_ms)

    patch.setattr(RecordHandling, "lost", lose)


def lost_records_are_settled(patch: Patch) -> None:
    """A run whose lock was lost is settled all the same."""
    patch.setattr(RunningRecords, "_was_lost", lambda *arguments, **named: False)


def dropped_records_keep_their_key(patch: Patch) -> None:
    """Records that are lost before their slot starts them block those behind them."""

    def put_back_kept(self: Runs, run: InvokeHandler[Any], matches: Callable[[Any], bool], now_ms: int) -> Any:
        opened = self._opened(run)
        rest = opened[len(opened) - len(run.take_back()) :]
        kept = [each for each in rest if not matches(each.record)]
        if run.opened is None:
            self._holdings.fresh.put_back([each.record for each in kept])
        else:
            self._holdings.put_back(kept)
        return [each.place for each in rest if matches(each.record)]

    patch.setattr(RunningRecords, "_put_back_kept", put_back_kept)


# ---------------------------------------------------------------------------------------------- order


def suspects_run_with_others(patch: Patch) -> None:
    """Records that were delivered before run as all others do."""
    patch.setattr(SuspectRecords, "is_alone", lambda self, now_ms, *, is_quiet: False)
    take = SuspectRecords.take
    patch.setattr(SuspectRecords, "take", lambda self, now_ms, *, is_quiet: take(self, now_ms, is_quiet=True))


def sub_batches_do_not_wait_for_confirmation(patch: Patch) -> None:
    """The next suspect starts while the last one's acknowledgement is under way."""
    patch.setattr(RecordHandling, "_is_quiet", property(lambda self: not self.runs.under_way))


def the_newest_of_a_key_goes_on(patch: Patch) -> None:
    """After a record, the last one of its key follows."""
    leaves = KeyOrder.leaves

    def leaves_backwards(self: KeyOrder[Any], key: Any) -> Any:
        self._waiting[key].reverse()
        return leaves(self, key)

    patch.setattr(KeyOrder, "leaves", leaves_backwards)


def retries_do_not_block_their_key(patch: Patch) -> None:
    """While a record waits for its retry, the next one of its key runs."""
    wait = AttemptOutcomes._wait

    def wait_and_leave(self: Outcomes, opened: Opened, wait_ms: int, now_ms: int) -> None:
        self._holdings.leave(opened, now_ms)
        opened.key = None
        wait(self, opened, wait_ms, now_ms)

    patch.setattr(AttemptOutcomes, "_wait", wait_and_leave)


# ---------------------------------------------------------------------------------------------- settling


def partial_batches_are_not_settled(patch: Patch) -> None:
    """If some records of a batch fail, the others are forgotten."""
    sort_out = RunningRecords._sort_out

    def forget(
        self: Runs, run: InvokeHandler[Any], errors: Mapping[int, Exception], outputs: Outputs, now_ms: int
    ) -> None:
        def settle_failures(records: Sequence[Any], kind: AcknowledgeType, **more: Any) -> None:
            if kind is not AcknowledgeType.ACCEPT or not (run.is_batch and errors):
                HandlingOutbox.settle(self._outbox, records, kind, **more)

        with Patch.context() as inner:
            inner.setattr(self._outbox, "settle", settle_failures)
            sort_out(self, run, errors, outputs, now_ms)

    patch.setattr(RunningRecords, "_sort_out", forget)


def second_halves_are_forgotten(patch: Patch) -> None:
    """Of a batch that fails, half is tried again."""
    failed = RunningRecords._batch_failed

    def keep_the_first(self: Runs, *arguments: Any) -> None:
        before = len(self._holdings.halves)
        failed(self, *arguments)
        if len(self._holdings.halves) == before + 2:
            del self._holdings.halves[1]

    patch.setattr(RunningRecords, "_batch_failed", keep_the_first)


def releases_are_accepted(patch: Patch) -> None:
    """A record that a rule releases is accepted."""
    patch.setitem(outcomes._KINDS, OnError.RELEASE, AcknowledgeType.ACCEPT)


def waits_outlive_the_stop(patch: Patch) -> None:
    """A worker that stops keeps what waits for a retry."""
    patch.setattr(AttemptOutcomes, "_release_delayed", lambda self, now_ms: None)


def what_was_taken_back_is_forgotten(patch: Patch) -> None:
    """Records that a slow run gives back are in nobody's hand."""
    patch.setattr(FreshRecords, "put_back", lambda self, rest: None)


# ---------------------------------------------------------------------------------------------- figures and times


def windows_leave_out_what_waits(patch: Patch) -> None:
    """A record that waits for a retry does not count for its partition's window."""
    oldest_places = Holdings.oldest_places

    def without_waiting(self: Holdings[Any]) -> Any:
        waiting = {opened.place for opened in self.waiting}
        return (place for place in oldest_places(self) if place not in waiting)

    patch.setattr(Holdings, "oldest_places", without_waiting)


def due_times_in_the_past_wake(patch: Patch) -> None:
    """A record that cannot start wakes the driver again and again."""
    patch.setattr(WaitingRecords, "due_after", lambda self, now_ms: self.next_due_ms)
    wakes_ms = RecordHandling.wakes_ms

    def wakes(self: Handling) -> int | None:
        self._asked_ms = -1
        return wakes_ms(self)

    patch.setattr(RecordHandling, "wakes_ms", wakes)


def one_run_too_many(patch: Patch) -> None:
    """More runs than slots."""
    patch.setattr(RecordHandling, "_most_runs", property(lambda self: self._rules.concurrency + 1))


# ---------------------------------------------------------------------------------------------- rates


def batches_take_one_token(patch: Patch) -> None:
    """A batch counts as one attempt for the rate limit."""
    started = LimitedStarts.started
    patch.setattr(LimitedStarts, "started", lambda self, records, now_ms: started(self, min(1, records), now_ms))


def retries_take_no_tokens(patch: Patch) -> None:
    """Only first attempts count for the rate limit."""
    next_run = RecordHandling._next_run

    def next_run_for_nothing(self: Handling, now_ms: int) -> Any:
        run = next_run(self, now_ms)
        if run is not None and run.opened and run.opened[0].attempts and self._starts is not None:
            self._starts.started(-len(run.records), now_ms)
        return run

    patch.setattr(RecordHandling, "_next_run", next_run_for_nothing)


def probes_take_no_tokens(patch: Patch) -> None:
    """While the breaker is open, the rate limit does not hold."""
    may_start = LimitedStarts.may_start

    def may_probe(self: LimitedStarts, now_ms: int) -> bool:
        return self._choice._breaker.is_open or may_start(self, now_ms)

    patch.setattr(LimitedStarts, "may_start", may_probe)


def limited_runs_have_several_records(patch: Patch) -> None:
    """A slot gets several records for whose attempts the tokens are taken at once."""
    single = RunChoice._single

    def unlimited(self: RunChoice[Any], slots: int, now_ms: int) -> Any:
        tokens, self.tokens = self.tokens, None
        try:
            return single(self, slots, now_ms)
        finally:
            self.tokens = tokens

    patch.setattr(RunChoice, "_single", unlimited)


def batches_are_larger_than_their_tokens(patch: Patch) -> None:
    """A batch starts as soon as there is one token."""
    size = RunChoice._size_of_next_batch
    patch.setattr(RunChoice, "_size_of_next_batch", lambda self, *given: min(1, size(self, *given)))
    batch = RunChoice._batch

    def uncut(self: RunChoice[Any], now_ms: int) -> Any:
        tokens, self.tokens = self.tokens, None
        try:
            return batch(self, now_ms)
        finally:
            self.tokens = tokens

    patch.setattr(RunChoice, "_batch", uncut)


def nobody_wakes_for_tokens(patch: Patch) -> None:
    """The driver is not told when the next token comes."""
    wakes_ms = RecordHandling.wakes_ms

    def sleeps(self: Handling) -> int | None:
        if self._starts is not None:
            self._starts.due_ms = None
        return wakes_ms(self)

    patch.setattr(RecordHandling, "wakes_ms", sleeps)


DEFECTS = by_name(
    outputs_need_no_confirmation,
    handlers_run_again_after_a_failed_write,
    an_outage_of_one_topic_delays_the_confirmations_of_others,
    refused_outputs_are_accepted,
    keys_do_not_wait_for_outputs,
    redeliveries_do_not_wait_for_outputs,
    outputs_of_lost_records_count_as_written,
    runs_need_no_confirmation,
    a_refusal_fails_the_whole_run,
    a_refusal_in_a_run_is_overlooked,
    a_refusal_in_a_run_is_accepted,
    locks_of_a_run_that_is_written_are_not_looked_at,
    a_lost_lock_ends_the_whole_run,
    windows_leave_out_runs_that_are_written,
    outputs_of_a_stop_are_forgotten,
    copies_follow_rejects,
    copies_need_no_confirmation,
    late_copies_count_for_redeliveries,
    outages_use_retries,
    probes_are_of_one_record,
    probes_do_not_wait,
    one_record_opens_the_breaker,
    successes_leave_the_breaker_open,
    empty_runs_are_successes,
    successes_count_before_failures,
    attempts_are_not_carried_over,
    retries_are_not_carried_over,
    records_move_while_the_breaker_is_open,
    what_was_about_to_move_moves_during_an_outage,
    long_waits_stay_in_the_process_after_an_outage,
    moves_need_no_confirmation,
    the_first_failure_is_forgotten,
    bad_records_of_retry_topics_open_the_breaker,
    redeliveries_run_beside_lost_handlers,
    redeliveries_do_not_end_deliveries,
    successes_after_a_loss_are_forgotten,
    only_losses_of_runs_are_told,
    lost_records_are_settled,
    dropped_records_keep_their_key,
    suspects_run_with_others,
    sub_batches_do_not_wait_for_confirmation,
    the_newest_of_a_key_goes_on,
    retries_do_not_block_their_key,
    partial_batches_are_not_settled,
    second_halves_are_forgotten,
    releases_are_accepted,
    waits_outlive_the_stop,
    what_was_taken_back_is_forgotten,
    windows_leave_out_what_waits,
    due_times_in_the_past_wake,
    one_run_too_many,
    batches_take_one_token,
    retries_take_no_tokens,
    probes_take_no_tokens,
    limited_runs_have_several_records,
    batches_are_larger_than_their_tokens,
    nobody_wakes_for_tokens,
)
