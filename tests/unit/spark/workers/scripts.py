"""Random scripts of polls, failures and outages, and a task that plays them and notes every call."""

import random
from collections import Counter
from collections.abc import Callable, Iterable

from attrs import frozen

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords, deliveries_of
from kafka_groups.share.workers.polling import Poller
from kafka_groups.share.workers.rules.failures.outages import Outage, Waits
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.spark.acknowledger import Acknowledger, Tally
from kafka_groups.spark.dead_letters import DeadLetters
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.workers.sub_batch_driver import SubBatchDriver, SubBatchWork
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import Header
from tests.unit.spark.polled import Broker, Range, delivery

__all__ = ["Played", "Script", "random_script"]

BEGAN_MS = 1_000_000
_MOST_WAITS = 60
_MOST_CALLS = 300

Span = tuple[int, int]


class PlayedLongEnoughError(BaseException):
    """A script whose sink stays away has no end of its own."""


@frozen(kw_only=True)
class Script:
    """What happens to one task.

    Attributes:
        seed: For what is decided while it is played.
        limit: The group's delivery limit.
        on_error: The option of the workers.
        is_patient: Whether failing records are held.
        has_letters: Whether there is a dead-letter topic.
        polls: The polls of the task, one range of records each or several.
        others: What polls during waits bring.
        bad: Offsets that always fail.
        flaky: Offset → how many times it fails.
        outages: When the sink is away.
        letters_away: When the dead-letter topic is away.
        ends_ms: When the run is to end.
        process_ms: How long the function takes.
        confirm_ms: How long brokers take to confirm.
        decides: The share of records that the function rejects, and that it releases.
        odd_call: The call that returns something.
        fixed_ms: When the lock of the first poll expires, which then cannot be renewed.
        go_on: How often an operator ends a wait.
    """

    seed: int
    limit: int
    on_error: str
    is_patient: bool
    has_letters: bool
    polls: tuple[tuple[Range, ...], ...]
    others: tuple[tuple[Range, ...], ...]
    bad: frozenset[int]
    flaky: dict[int, int]
    outages: tuple[Span, ...]
    letters_away: tuple[Span, ...]
    ends_ms: int | None
    process_ms: int
    confirm_ms: int
    decides: tuple[float, float]
    odd_call: int | None
    fixed_ms: int | None
    go_on: float


class _Offsets:
    def __init__(self, rng: random.Random, limit: int) -> None:
        self.next = 0
        self._rng = rng
        self._limit = limit

    def ranges(self, most: int, sizes: tuple[int, ...]) -> tuple[Range, ...]:
        return tuple(self._one(self._rng.choice(sizes)) for _ in range(self._rng.randint(1, most)))

    def _one(self, size: int) -> Range:
        first = self.next + self._rng.choice((0, 0, 3))
        self.next = first + size
        return first, self.next - 1, self._rng.choice((1, 1, self._limit, self._rng.randint(1, self._limit)))


def random_script(seed: int) -> Script:
    """Make a script; the same for the same seed."""
    rng = random.Random(seed)
    limit = rng.choice((2, 3, 5, 5, 10))
    offsets = _Offsets(rng, limit)
    polls = tuple(offsets.ranges(4, (1, 1, 2, 3, 7, 30, 70)) for _ in range(rng.randint(1, 3)))
    others = tuple(offsets.ranges(1, (1, 1, 2, 10)) for _ in range(rng.choice((0, 0, 1, 2, 25))))
    share, flaky_share = rng.choice((0, 0, 0.01, 0.05, 0.3, 1)), rng.choice((0, 0, 0.1))
    return Script(
        seed=seed,
        limit=limit,
        on_error=rng.choice(("release", "per_record", "reject")),
        is_patient=rng.random() < 0.6,
        has_letters=rng.random() < 0.6,
        polls=polls,
        others=others,
        bad=frozenset(offset for offset in range(offsets.next) if rng.random() < share),
        flaky={offset: rng.randint(1, 4) for offset in range(offsets.next) if rng.random() < flaky_share},
        outages=_spans(rng, rng.choice((0, 0, 1, 1, 2))),
        letters_away=_spans(rng, rng.choice((0, 0, 1))),
        ends_ms=rng.choice((None, None, None, 0, 500, 100_000)),
        process_ms=rng.choice((0, 0, 1, 30, 1_000)),
        confirm_ms=rng.choice((0, 0, 7, 400)),
        decides=(rng.choice((0, 0, 0.1, 0.5)), rng.choice((0, 0, 0.1))),
        odd_call=rng.choice((None,) * 9 + (rng.randint(1, 12),)),
        fixed_ms=rng.choice((None, None, None, 0, 1, 3_000, 40_000)),
        go_on=rng.choice((0, 0, 0.2)),
    )


def _spans(rng: random.Random, count: int) -> tuple[Span, ...]:
    spans, at_ms = [], BEGAN_MS
    for _ in range(count):
        since_ms = at_ms + rng.choice((0, 0, 50, 2_000, 20_000))
        at_ms = since_ms + rng.choice((10, 300, 3_000, 60_000, 600_000))
        spans.append((since_ms, at_ms))
    return tuple(spans)


class Played:
    """A script, played.

    Attributes:
        events: Every call that the driver made, in order, with its time.
        succeeded: Offsets that a call of the function has stored.
        copied: Offsets that are in the dead-letter topic.
        broker: What was acknowledged.
        is_over: Whether the script was played to its end.
    """

    def __init__(self, script: Script) -> None:
        self.events: list[tuple[object, ...]] = []
        self.succeeded: set[int] = set()
        self.copied: set[int] = set()
        self.is_over = False
        self._script, self._rng = script, random.Random(script.seed)
        self._clock, self._tally = ManualClock(), Tally()
        self._tries: Counter[int] = Counter()
        self._calls = self._waits = 0
        self._letters: list[int] = []
        self._polls, self._others = _batches(script.polls), _batches(script.others)
        self._fix(self._polls[0].records)
        self.broker = Broker(self._polls[0].records)
        self.broker.more = [batch.records for batch in (*self._polls[1:], *self._others)]
        poller = Poller(self.broker, lambda error: self._tally.note_error(error, failed=False))
        self._acknowledger = _NotedAcknowledger(poller, self._tally, self._clock, self._note, script.confirm_ms)
        self._driver = SubBatchDriver(self._work(), self._acknowledger, self._tally, self._clock)
        self._play()

    def _work(self) -> SubBatchWork:
        script = self._script
        return SubBatchWork(
            process=self._process,
            on_error=script.on_error,
            policy=DeliveryPolicy(script.limit),
            is_patient=script.is_patient,
            dead_letters=DeadLetters("dlq", "g", {}, self) if script.has_letters else None,
            pause=self._pause,
            outage=Outage(Waits.of_tries_in_hand(5_000), random.Random(1)),
            is_ending=lambda: script.ends_ms is not None and self._clock.now_ms() >= BEGAN_MS + script.ends_ms,
        )

    def _fix(self, records: AnyRecords) -> None:
        if self._script.fixed_ms is not None:
            for part in deliveries_of(records):
                part.renewable, part.lock_deadline_ms = False, BEGAN_MS + self._script.fixed_ms

    def _play(self) -> None:
        try:
            for batch in self._polls:
                handled = self._driver.handle(batch)
                figures = {name: value for name, value in self._tally.values().items() if name != "error"}
                self._note("handled", handled, sorted(figures.items()), self._tally.last_error)
            self.is_over = True
        except PlayedLongEnoughError:
            self._note("long enough")

    def _note(self, *event: object) -> None:
        self.events.append((self._clock.now_ms() - BEGAN_MS, *event))

    def _is_in(self, spans: Iterable[Span]) -> bool:
        return any(since_ms <= self._clock.now_ms() < until_ms for since_ms, until_ms in spans)

    # ------------------------------------------------------------------------------------- the function

    def _process(self, batch: ShareBatch) -> object:
        self._calls += 1
        if self._calls > _MOST_CALLS:
            raise PlayedLongEnoughError
        offsets = [record.offset for record in batch]
        self._note("process", offsets)
        self._clock.advance(self._script.process_ms)
        for share, decide in zip(self._script.decides, (batch.reject, batch.release), strict=True):
            if share:
                decide([self._rng.random() < share for _ in offsets])
        if self._calls == self._script.odd_call:
            return 7
        if self._is_in(self._script.outages):
            raise ConnectionError("the sink is away")
        for offset in offsets:
            self._store(offset)
        self.succeeded.update(offsets)
        return None

    def _store(self, offset: int) -> None:
        self._tries[offset] += 1
        if offset in self._script.bad or self._tries[offset] <= self._script.flaky.get(offset, 0):
            raise ValueError(f"bad {offset}")

    # ----------------------------------------------------------------------------- dead letters and waits

    def produce(self, topic: str, *, key: bytes | None, value: bytes | None, headers: list[Header]) -> None:
        """Take a dead letter."""
        offset, reason = (dict(headers)[f"__dlq.errors.{name}"] or b"" for name in ("offset", "message"))
        self._note("letter", int(offset), reason)
        self._letters.append(int(offset))

    def flush(self, timeout_s: float) -> None:
        """Write the dead letters, or refuse."""
        letters, self._letters = self._letters, []
        if self._is_in(self._script.letters_away):
            raise DeliveryFailedError("nobody there", failed=len(letters), unanswered=0)
        self.copied.update(letters)

    def _pause(self, wait_ms: int, *, may_poll: bool, held: int = 0) -> ShareBatch | None:
        self._acknowledger.finish()
        self._note("pause", wait_ms, may_poll, held)
        self._waits += 1
        if self._waits > _MOST_WAITS:
            raise PlayedLongEnoughError
        if may_poll and self._others:
            return self._others.pop(0)
        is_over_early = held > 0 and self._rng.random() < self._script.go_on
        self._clock.advance(wait_ms // 3 if is_over_early else wait_ms)
        return None


class _NotedAcknowledger(Acknowledger):
    def __init__(
        self, poller: Poller, tally: Tally, clock: ManualClock, note: Callable[..., None], confirm_ms: int
    ) -> None:
        super().__init__(poller, tally, clock)
        self._time, self._confirm_ms = clock, confirm_ms
        self._note = note

    def send(self, records: AnyRecords) -> None:
        self._note("send", [(part.first_offset, part.marks.hex()) for part in deliveries_of(records)])
        super().send(records)

    def finish(self) -> None:
        self._note("finish")
        self._time.advance(self._confirm_ms)
        super().finish()


def _batches(polls: Iterable[tuple[Range, ...]]) -> list[ShareBatch]:
    return [ShareBatch(ShareRecords([delivery(*ranges)])) for ranges in polls]
