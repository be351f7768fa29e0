"""Decide about records whose attempt has ended: retry, hold or give them up, and notice when the sink is down."""

import random
from typing import Generic, TypeVar

from kafka_groups.errors.texts import text_of
from kafka_groups.share.workers.rules.failures.breaker import Breaker
from kafka_groups.share.workers.rules.failures.signals import ParseError, WorkerStoppedError
from kafka_groups.share.workers.rules.failures.verdicts import Again, Decision, OnError, tells_of_sink
from kafka_groups.share.workers.rules.holdings import Holdings
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.outbox import EventKind, HandlingOutbox
from kafka_groups.share.workers.rules.record_writes import RecordWrites
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopic
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryHeadersError
from kafka_groups.share.workers.rules.steps import OpenRecord
from kafka_groups.types import AcknowledgeType

__all__ = ["AttemptOutcomes"]

R = TypeVar("R")

# An error that looks like an outage of the sink may still be the fault of its record, for example one whose address
# does not exist. After an hour it uses up its retries, so that it does not hold back its partition for ever.
_OUTAGE_MS = 3_600_000
"""For this long after a record's first failure, errors of the sink use none of its retries."""

_KINDS = {
    OnError.ACCEPT: AcknowledgeType.ACCEPT,
    OnError.REJECT: AcknowledgeType.REJECT,
    OnError.RELEASE: AcknowledgeType.RELEASE,
    OnError.STOP: AcknowledgeType.RELEASE,
}


class AttemptOutcomes(Generic[R]):
    """Decides about records whose attempts have ended.

    Args:
        rules: The rules of the handler.
        holdings: Gets the records that wait.
        breaker: Learns of successes and failures.
        writing: Gets the records that are given up.
        outbox: Gets the records that end.
        rng: For the jitter of waits.

    Attributes:
        stopped_by: The error for which a rule stops the worker; None otherwise.
    """

    def __init__(
        self,
        rules: HandlingRules[R],
        holdings: Holdings[R],
        breaker: Breaker,
        writing: RecordWrites[R],
        outbox: HandlingOutbox[R],
        rng: random.Random,
    ) -> None:
        self._rules = rules
        self._holdings = holdings
        self._breaker = breaker
        self._writing = writing
        self._outbox = outbox
        self._rng = rng
        self._is_stopping = self._keeps_long_waits = False
        self.stopped_by: Exception | None = None

    def worked(self, now_ms: int) -> None:
        """Note a success, which shows that the sink works."""
        if self._breaker.succeeded(now_ms):
            self._outbox.tell(EventKind.BREAKER_CLOSED)

    # ---------------------------------------------------------------------------------------- failures

    def tried(self, opened: OpenRecord[R], error: Exception, now_ms: int, *, is_probe: bool) -> None:
        """Note that the batch of a record has failed, which says something about the sink only."""
        # The record uses no retry and gets no wait: with others in the batch, nothing shows that it is the bad one.
        self._note_failure(opened, now_ms)
        if tells_of_sink(self._rules.failures.judge(error)) and not self._is_bad(opened):
            self._suspect_sink(opened, error, now_ms, is_probe=is_probe)

    def failed(self, opened: OpenRecord[R], error: Exception, now_ms: int, *, is_probe: bool = False) -> None:
        """Decide about a record whose attempt failed."""
        # The end of the worker is no fault of the record, so no rule in `errors` is asked and no retry is used. Another
        # process gets it.
        if isinstance(error, WorkerStoppedError):
            self._outbox.end(opened, AcknowledgeType.RELEASE, now_ms)
            return
        opened.attempts += 1
        opened.error = error
        self._note_failure(opened, now_ms)
        judged = self._rules.failures.judge(error)
        # The record has failed for a reason of its own, so the probe does not say whether the sink works. The next one
        # waits as after a failure, or records that the handler rejects would be run at full speed during an outage.
        if is_probe and not tells_of_sink(judged):
            self._breaker.proved_nothing(now_ms)
        if isinstance(judged, Decision):
            self.decide(opened, judged, now_ms)
        else:
            self._try_again(opened, judged, error, now_ms, is_probe=is_probe)

    def _try_again(self, opened: OpenRecord[R], again: Again, error: Exception, now_ms: int, *, is_probe: bool) -> None:
        # The breaker comes first: if this failure opens it, the record already counts as one of the outage and uses no
        # retry.
        if again.tells_of_sink and not self._is_bad(opened):
            self._suspect_sink(opened, error, now_ms, is_probe=is_probe)
        # There are four cases. While the sink seems to be down, the record waits for its turn as a probe.
        if again.tells_of_sink and self._breaker.is_open:
            self._wait(opened, 0, now_ms)  # the breaker says when, and no retry is used
        # The fault is that of another system, or the breaker is open and a rule asks for a wait: the wait grows with
        # the attempts, without those that only searched a batch for its bad record, but none of the retries is used.
        elif not self._uses_retry(opened, again, now_ms):
            self._wait(opened, again.wait_ms(opened.all_attempts - opened.halvings, self._rng), now_ms)
        # The record has used its retries: the rule for exhausted records decides.
        elif opened.all_retries >= again.backoff.times:
            self.decide(opened, self._rules.failures.gives_up(error), now_ms)
        # Any other failure uses a retry, and the wait grows with the retries.
        else:
            opened.retries += 1
            self._wait(opened, again.wait_ms(opened.all_retries, self._rng), now_ms)

    def _note_failure(self, opened: OpenRecord[R], now_ms: int) -> None:
        # Only the first failure counts. A success of others after it shows that the record fails on its own.
        if opened.failing_since_ms is None:
            retry, breaker = self._rules.retry, self._breaker
            opened.failing_since_ms = now_ms if retry is None else retry.failing_since_ms(opened, now_ms)
            moved_ms = None if retry is None else retry.moved_here_ms(opened, now_ms)
            # A record of a retry topic has failed before it came there. Bad records gather in these topics, so without
            # the successes since then they would open the breaker whenever nothing else runs.
            opened.successes_before = breaker.successes if moved_ms is None else breaker.successes_before(moved_ms)

    def _is_bad(self, opened: OpenRecord[R]) -> bool:
        """Return whether a record failed before and after a success of others: this says nothing about the sink.

        If such failures counted, a few remaining bad records would open the breaker, and be held until others arrive.
        """
        return not self._breaker.is_open and opened.successes_before < self._breaker.successes

    def _uses_retry(self, opened: OpenRecord[R], again: Again, now_ms: int) -> bool:
        # While nothing succeeds, a failure says nothing about the record, whatever its exception is.
        if self._breaker.is_open:
            return False
        since_ms = now_ms if opened.failing_since_ms is None else opened.failing_since_ms
        return again.is_counted or now_ms - since_ms >= _OUTAGE_MS

    def _suspect_sink(self, opened: OpenRecord[R], error: Exception, now_ms: int, *, is_probe: bool) -> None:
        if self._breaker.failed(opened.place, now_ms, is_probe=is_probe):
            self._outbox.tell(EventKind.BREAKER_OPENED, opened, error)
        elif self._breaker.is_open and is_probe:
            self._outbox.tell(EventKind.PROBE_FAILED, opened, error)

    # ---------------------------------------------------------------------------------------- waiting

    def _wait(self, opened: OpenRecord[R], wait_ms: int, now_ms: int) -> None:
        opened.due_ms = now_ms + wait_ms
        topic = self._topic_for(opened, now_ms)
        self._outbox.tell(EventKind.RETRIED, opened, opened.error, "" if topic is None else topic.topic)
        # In a retry topic, the record holds back nothing, and its wait costs no delivery.
        if topic is not None:
            self._writing.move(opened, topic, now_ms)
            return
        self._holdings.waiting.add(opened)
        # A worker that stops has no time for retries. What waits would be released at the end anyway, and another
        # member can try it sooner if it is released now.
        if self._is_stopping:
            self._release_delayed(now_ms)

    def _topic_for(self, opened: OpenRecord[R], now_ms: int) -> RetryTopic | None:
        """Return the retry topic for a record that waits; None if it waits in the process."""
        if self._rules.retry is None:
            return None
        topic = self._rules.retry.topics.topic_for(opened.due_ms - now_ms)
        # During an outage, all records fail, and all would move. They are wanted as soon as the sink is back, and one
        # after the other as probes before.
        if topic is not None and self._breaker.is_open:
            self._keeps_long_waits = True
            return None
        return topic

    def keep_or_move(self, now_ms: int) -> None:
        """Keep records that were about to move while the breaker is open. Afterwards, move those with long waits."""
        if self._rules.retry is None:
            return
        if self._breaker.is_open:
            self._keeps_long_waits |= self._writing.keep()
        elif self._keeps_long_waits:
            self._keeps_long_waits = False
            smallest_ms = self._rules.retry.topics.smallest_ms
            for opened in self._holdings.waiting.remove(lambda each: each.due_ms - now_ms >= smallest_ms):
                self._wait(opened, opened.due_ms - now_ms, now_ms)

    def unblock(self, opened: OpenRecord[R], on_blocked: OnError | None, reason: str, now_ms: int) -> None:
        """Take away a record that waits for its retry, because it fills the window of its partition."""
        retry = self._rules.retry
        if on_blocked is not None:
            self.decide(opened, Decision(on_blocked, reason), now_ms)
        elif retry is not None:
            smallest = retry.topics.topics[0]
            self._outbox.tell(EventKind.RETRIED, opened, opened.error, smallest.topic)
            self._writing.move(opened, smallest, now_ms)

    def order(self, opened: OpenRecord[R], now_ms: int) -> None:
        """Ask for the key of a record again. Without one it ends, as if its value could not be parsed."""
        if self._holdings.orders(opened, now_ms):
            return
        reason = "" if opened.error is None else text_of(opened.error)
        # A record of a retry topic with broken headers is never dropped, and has no attempts to go on with.
        is_broken = isinstance(opened.error, ParseError) and isinstance(opened.error.error, RetryHeadersError)
        decision = Decision(OnError.DEAD_LETTER if is_broken else self._rules.failures.exhausted, reason)
        # A record that is held for lack of a key has no place in the order, so it waits apart from the retries and is
        # not run: its key is asked for again first.
        if decision.on_error is OnError.HOLD:
            self._outbox.tell(EventKind.HOLDS, opened, opened.error, decision.reason, decision)
            opened.due_ms = now_ms + self._rules.held_ms
            self._holdings.hold_unordered(opened, now_ms)
        else:
            self.decide(opened, decision, now_ms)

    def stop(self, now_ms: int) -> None:
        """Release the records that wait for a retry, now and from now on."""
        self._is_stopping = True
        self._release_delayed(now_ms)

    def _release_delayed(self, now_ms: int) -> None:
        for opened in self._holdings.remove_waiting(lambda _: True):
            self._outbox.end(opened, AcknowledgeType.RELEASE, now_ms)

    # ---------------------------------------------------------------------------------------- decisions

    def decide(self, opened: OpenRecord[R], decision: Decision, now_ms: int) -> None:
        """Do with a record what a rule says."""
        on_error = decision.on_error
        # The record is kept and tried again at the longest wait, until it succeeds or its partition's window is full.
        # In retry topics, it goes through the largest delay again and again.
        if on_error is OnError.HOLD:
            self._outbox.tell(EventKind.HOLDS, opened, opened.error, decision.reason, decision)
            self._wait(opened, self._rules.held_ms, now_ms)
            return
        self._outbox.tell(EventKind.GAVE_UP, opened, opened.error, decision.reason, decision)
        # Several attempts may end with such an error before the worker has stopped. The first is the cause.
        if on_error is OnError.STOP:
            self.stopped_by = self.stopped_by or opened.error
            self._outbox.tell(EventKind.STOPS, opened, opened.error, decision.reason)
        # A dead letter needs its copy before the acknowledgement; everything else is acknowledged at once.
        if on_error is OnError.DEAD_LETTER:
            self._writing.write_dead_letter(opened, decision.reason, now_ms)
        else:
            self._outbox.end(opened, _KINDS[on_error], now_ms)
