"""Two threads at the hand-over, as fast as they can: nothing is lost, named twice, or waited for in vain."""

import itertools
import random
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_groups.client.requests import OutgoingRequest
from kafka_groups.errors import KafkaGroupsError, WakeupError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.share.delivery.commits import Acknowledged, CommitTicket
from kafka_groups.types import AcknowledgeType
from tests.unit.share.fetching import Bench, acknowledged_in, wire

RECORDS_PER_FETCH = 40


@pytest.fixture(autouse=True)
def restless_interpreter() -> Iterator[None]:
    """Switch threads as often as the interpreter can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


class Leader:
    """A broker's view: who holds which offset, and complaints about what must not happen."""

    def __init__(self, last_offset: int) -> None:
        self.available = deque(range(last_offset + 1))
        self.acquired: set[int] = set()
        self.ended: dict[int, int] = {}
        self.renewals = 0
        self.complaints: list[str] = []

    def acknowledge(self, types: dict[int, int]) -> None:
        for offset, kind in types.items():
            if offset not in self.acquired:
                self.complaints.append(
                    f"{offset} is not acquired, but comes with {kind}; ended {self.ended.get(offset)}"
                )
            elif kind == AcknowledgeType.RENEW:
                self.renewals += 1
            else:
                self.acquired.discard(offset)
                if kind == AcknowledgeType.RELEASE:
                    self.available.appendleft(offset)
                else:
                    self.ended[offset] = kind

    def acquire(self) -> tuple[tuple[int, int], ...]:
        taken = sorted(self.available.popleft() for _ in range(min(RECORDS_PER_FETCH, len(self.available))))
        self.acquired.update(taken)
        return _ranges(taken)


def _ranges(offsets: list[int]) -> tuple[tuple[int, int], ...]:
    ranges: list[tuple[int, int]] = []
    for offset in offsets:
        if ranges and ranges[-1][1] == offset - 1:
            ranges[-1] = (ranges[-1][0], offset)
        else:
            ranges.append((offset, offset))
    return tuple(ranges)


class Engine:
    """The loop's side on a thread of its own; answers come at once."""

    def __init__(self, bench: Bench, leader: Leader) -> None:
        self.bench, self.leader = bench, leader
        self.failures: list[BaseException] = []
        self.turns = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                for request in self.bench.turn():
                    self._answer(request)
                self.turns += 1
        except BaseException as error:
            self.failures.append(error)
            raise

    def let_time_pass(self, by_ms: int) -> None:
        """Called by the application: the engine sees the new time before the application goes on."""
        self.bench.advance(by_ms)
        seen = self.turns + 2
        while self.turns < seen and not self.failures:
            pass

    def _answer(self, request: OutgoingRequest) -> None:
        for types in acknowledged_in(request).values():
            self.leader.acknowledge(types)
        for topic in wire(request).topics:
            for partition in topic.partitions:
                batches = partition.acknowledgement_batches
                if any(a.last_offset >= b.first_offset for a, b in itertools.pairwise(batches)):
                    self.leader.complaints.append(f"overlap: {batches}")
        if request.api is ApiKey.SHARE_FETCH:
            self.bench.fetched(request, *self.leader.acquire())
        else:
            self.bench.acknowledged(request)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join()
        assert self.failures == []


def poll(bench: Bench, ready: threading.Event) -> list[tuple[int, object]]:
    """The blocking consumer's poll, without its event loop."""
    bench.application.begin_poll()
    records = bench.application.take()
    if not records:
        bench.inbox.is_waiting = True
        try:
            while not records:
                ready.clear()
                bench.application.raise_waiting()
                if not bench.inbox.ready:
                    assert ready.wait(5), "nobody woke the application"
                bench.application.raise_waiting()
                records = bench.application.take()
        finally:
            bench.inbox.is_waiting = False
    return [(record.offset, record) for record in records]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.parametrize("auto_renew", [False, True])
def test_explicit_acknowledgements_under_a_busy_engine(seed: int, auto_renew: bool) -> None:
    total = 1_500
    rng = random.Random(seed)
    bench = Bench(acknowledgement_mode="explicit", auto_renew=auto_renew).warm()
    ready = threading.Event()
    bench.inbox.on_ready = ready.set
    leader = Leader(total - 1)
    results: list[Acknowledged] = []
    bench.application.callback = results.append
    seen: dict[int, int] = {}
    engine = Engine(bench, leader)
    with engine.running():
        while len(seen) < total:
            for offset, record in poll(bench, ready):
                if rng.random() < 0.1:
                    engine.let_time_pass(4_000)
                kind = rng.choice([AcknowledgeType.ACCEPT] * 8 + [AcknowledgeType.REJECT, AcknowledgeType.RENEW])
                bench.application.acknowledge(record, kind)  # type: ignore[arg-type]
                if kind != AcknowledgeType.RENEW:
                    seen[offset] = kind
                if rng.random() < 0.02:
                    settle(bench, rng)
        settle(bench, random.Random(1))
        engine.let_time_pass(0)
    assert leader.complaints == []
    assert leader.renewals > 0
    assert leader.ended == seen
    bench.application.run_callback()
    told = [offset for result in results for offset in result.offsets()]
    assert not [result for result in results if result.error is not None]
    assert set(told) == set(range(total))


def settle(bench: Bench, rng: random.Random) -> None:
    done = threading.Event()
    ticket = CommitTicket(on_done=done.set)
    if bench.application.commit(ticket) and rng.random() < 0.7 and ticket._outstanding:
        assert done.wait(5), "the commit was never settled"
        assert set(ticket.results.values()) == {None}


def test_implicit_acknowledgements_under_a_busy_engine() -> None:
    total = 3_000
    bench = Bench().warm()
    ready = threading.Event()
    bench.inbox.on_ready = ready.set
    leader = Leader(total - 1)
    seen: list[int] = []
    with Engine(bench, leader).running():
        while len(seen) < total:
            seen += [offset for offset, _ in poll(bench, ready)]
        bench.application.commit(ticket := CommitTicket(on_done=(done := threading.Event()).set))
        assert ticket.is_done or done.wait(5)
    assert leader.complaints == []
    assert sorted(seen) == list(range(total))
    assert leader.ended == dict.fromkeys(range(total), AcknowledgeType.ACCEPT)


def test_no_wake_up_is_lost() -> None:
    bench = Bench()
    ready, turnstile, woken = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)
    bench.inbox.on_ready = ready.set
    rounds = 3_000

    def wake() -> None:
        for _ in range(rounds):
            turnstile.acquire()
            bench.application.wake()
            woken.acquire()

    thread = threading.Thread(target=wake)
    thread.start()
    for _ in range(rounds):
        turnstile.release()
        with pytest.raises(WakeupError):
            poll(bench, ready)
        woken.release()
    thread.join()


def test_no_error_of_the_background_is_lost() -> None:
    bench = Bench()
    ready, turnstile, seen = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)
    bench.inbox.on_ready = ready.set
    rounds = 2_000

    def fail() -> None:
        for number in range(rounds):
            turnstile.acquire()
            bench.errors.report(KafkaGroupsError(str(number)))
            bench.inbox.notify()
            seen.acquire()

    thread = threading.Thread(target=fail)
    thread.start()
    for number in range(rounds):
        turnstile.release()
        with pytest.raises(KafkaGroupsError, match=f"^{number}$"):
            poll(bench, ready)
        seen.release()
    thread.join()
