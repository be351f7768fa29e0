"""The states of a record in a worker: every event in every state."""

import enum
from collections.abc import Callable

import pytest

from kafka_groups.share.workers.rules.failures.signals import Reject
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.types import AcknowledgeType
from tests.unit.share.workers.rules.bench import Bench, outage, poison
from tests.unit.share.workers.rules.jobs import Job, Unwanted

OTHERS = (1, 2, 3, 4)
GRACE_MS = 25_000


class State(enum.Enum):
    """The states, and what comes after them."""

    HELD = "held"
    RUNNING = "running"
    WAITING = "waiting"
    WRITING = "writing"
    SETTLING = "settling"
    LOST = "lost"
    ENDED = "confirmed by the broker"
    FORGOTTEN = "forgotten"


class Impossible(Exception):  # noqa: N818 - the table's word
    """The driver has nothing that it could report."""


class Subject:
    """One record, beside four that run. All slots are taken if the record is to be held, and one is free otherwise."""

    def __init__(self, state: State) -> None:
        slots = len(OTHERS) if state is State.HELD else len(OTHERS) + 1
        self.bench = Bench(concurrency=slots, errors={Unwanted: OnError.RELEASE})
        self.bench.confirms = False
        self.others = self.bench.take(*OTHERS)
        self.job = self.bench.take(0)[0]
        self.is_confirmed = False
        PREPARE[state](self)

    @property
    def state(self) -> State:
        """Where the record is, as the rules and the driver show it."""
        bench, job = self.bench, self.job
        if job in bench.running:
            return State.LOST if job.place in bench.run_of(job).lost else State.RUNNING
        if any(opened.record is job for opened in bench.handling.holdings.waiting):
            return State.WAITING
        if any(opened.record is job for opened in bench.handling.writing):
            return State.WRITING
        if any(job in settle.records for settle in bench.settles):
            return State.SETTLING
        if self.is_confirmed:
            return State.ENDED
        return State.HELD if bench.handling.in_hand["held"] else State.FORGOTTEN

    # ------------------------------------------------------------------------------------------ events

    def fails(self, error: Exception) -> None:
        """Its handler raises."""
        if self.job not in self.bench.running:
            raise Impossible
        self.bench.fail(self.job, error)

    def succeeds(self) -> None:
        """Its handler returns."""
        if self.job not in self.bench.running:
            raise Impossible
        self.bench.succeed(self.job)

    def copied(self, error: Exception | None) -> None:
        """Its dead letter is confirmed, or fails."""
        if not self.bench.copies:
            raise Impossible
        self.bench.write(error)

    def answered(self, *, is_refused: bool) -> None:
        """The broker answers its acknowledgement."""
        if self.job not in self.bench.outcomes:
            raise Impossible
        self.bench.confirm(*[self.job] if is_refused else [])
        self.is_confirmed = not is_refused

    def breaker_opens(self) -> None:
        """Three others fail."""
        for other in self.others[:3]:
            self.bench.report(self.bench.run_of(other), {0: outage()})
        self.bench.go()
        assert self.bench.handling.breaker.is_open

    def released(self) -> None:
        """Its lock cannot be renewed."""
        self.bench.handling.release(lambda job: job is self.job, self.bench.now_ms)
        self.bench.go()


PREPARE: dict[State, Callable[[Subject], object]] = {
    State.HELD: lambda it: None,
    State.RUNNING: lambda it: None,
    State.WAITING: lambda it: it.fails(poison()),
    State.WRITING: lambda it: it.fails(Reject()),
    State.SETTLING: lambda it: it.succeeds(),
    State.LOST: lambda it: it.bench.lose(it.job),
}

EVENTS: dict[str, Callable[[Subject], object]] = {
    "succeeds": lambda it: it.succeeds(),
    "fails": lambda it: it.fails(poison()),
    "is rejected": lambda it: it.fails(Reject()),
    "is released by a rule": lambda it: it.fails(Unwanted()),
    "a slot gets free": lambda it: it.bench.succeed(it.others[0]),
    "its wait ends": lambda it: it.bench.advance(1_000),
    "copied": lambda it: it.copied(None),
    "copy fails": lambda it: it.copied(OSError()),
    "confirmed": lambda it: it.answered(is_refused=False),
    "refused": lambda it: it.answered(is_refused=True),
    "lock lost": lambda it: it.bench.lose(it.job),
    "cannot be renewed": lambda it: it.released(),
    "breaker opens": lambda it: it.breaker_opens(),
    "stop": lambda it: it.bench.stop(GRACE_MS),
    "second signal": lambda it: it.bench.stop(0),
}

_H, _R, _W, _C, _S, _L = State.HELD, State.RUNNING, State.WAITING, State.WRITING, State.SETTLING, State.LOST
_E, _F, NO = State.ENDED, State.FORGOTTEN, None

TABLE: dict[str, tuple[State | None, ...]] = {
    # from:                  HELD RUNNING WAITING WRITING SETTLING LOST
    "succeeds":              (NO,   _S,     NO,     NO,     NO,    _F),
    "fails":                 (NO,   _W,     NO,     NO,     NO,    _F),
    "is rejected":           (NO,   _C,     NO,     NO,     NO,    _F),
    "is released by a rule": (NO,   _S,     NO,     NO,     NO,    _F),
    "a slot gets free":      (_R,   _R,     _W,     _C,     _S,    _L),
    "its wait ends":         (_H,   _R,     _R,     _C,     _S,    _L),
    "copied":                (NO,   NO,     NO,     _S,     NO,    NO),
    "copy fails":            (NO,   NO,     NO,     _C,     NO,    NO),
    "confirmed":             (NO,   NO,     NO,     NO,     _E,    NO),
    "refused":               (NO,   NO,     NO,     NO,     _F,    NO),
    "lock lost":             (_F,   _L,     _F,     _F,     _S,    _L),
    "cannot be renewed":     (_S,   _R,     _S,     _C,     _S,    _L),
    "breaker opens":         (_H,   _R,     _W,     _C,     _S,    _L),
    "stop":                  (_H,   _R,     _S,     _C,     _S,    _L),
    "second signal":         (_S,   _R,     _S,     _C,     _S,    _L),
}  # fmt: skip

PAIRS = [
    (state, event, after)
    for event, row in TABLE.items()
    for state, after in zip((_H, _R, _W, _C, _S, _L), row, strict=True)
]


@pytest.mark.parametrize(("state", "event", "after"), PAIRS)
def test_every_event_in_every_state(state: State, event: str, after: State | None) -> None:
    subject = Subject(state)
    assert subject.state is state
    if after is None:
        with pytest.raises(Impossible):
            EVENTS[event](subject)
    else:
        EVENTS[event](subject)
        assert subject.state is after


@pytest.mark.parametrize(("state", "after"), [(_H, _F), (_R, _L), (_W, _F), (_C, _F), (_S, _S), (_L, _L)], ids=str)
def test_a_redelivery_shows_that_a_lock_was_lost(state: State, after: State) -> None:
    subject = Subject(state)
    again = Job(subject.job.place, 2)
    subject.bench.arrive([again])
    subject.bench.handling.release(lambda job: job is again, subject.bench.now_ms)
    assert subject.state is after


def test_the_table_covers_all_states() -> None:
    covered = {state for state, _, _ in PAIRS} | {after for _, _, after in PAIRS if after is not None}
    assert covered == set(State)
    assert len(PAIRS) == len(PREPARE) * len(EVENTS)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(None, AcknowledgeType.ACCEPT), (Reject(), AcknowledgeType.REJECT), (Unwanted(), AcknowledgeType.RELEASE)],
)
def test_what_the_broker_is_told(error: Exception | None, kind: AcknowledgeType) -> None:
    subject = Subject(State.RUNNING)
    if error is None:
        subject.succeeds()
    else:
        subject.fails(error)
    subject.bench.write()
    assert subject.bench.outcomes[subject.job] is kind
