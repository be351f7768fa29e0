"""What becomes of a record: accepted, retried, rejected, copied, released or held, by what its handler does."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

import pytest
from attrs import frozen

from kafka_groups import Backoff, Batch, OnError, Reject, Retry, ShareRecord, current_attempt, serdes
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.record_builder import NewRecord
from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker
from tests.support.workers.worker_scenes import SOON, Calls, WorkerScene

AFTER_S = 0.3


class ShopError(Exception):
    """An error that has a rule of its own."""


@frozen
class Order:
    """A value."""

    number: int


def test_good_records_are_handled_once_and_accepted(broker: WorkerBroker) -> None:
    scene, calls = WorkerScene(broker, partitions=3), Calls()
    worker = scene.worker()

    @worker.handler(scene.name, value=serdes.string)
    def handle(value: str) -> None:
        calls.add(value)

    for partition in range(3):
        scene.send(*(b"%d-%d" % (partition, n) for n in range(100)), partition=partition)
    with worker:
        scene.wait_until_done()
    assert calls.counts == {f"{partition}-{n}": 1 for partition in range(3) for n in range(100)}
    assert calls.delivery_counts == {1}


async def test_asynchronous_handlers_run_on_the_loop_of_the_program(scene: WorkerScene) -> None:
    worker, loops, calls, done = scene.worker(), set(), Calls(), asyncio.Event()

    @worker.handler(scene.name)
    async def handle(value: bytes) -> None:
        loops.add(asyncio.get_running_loop())
        calls.add(value)
        if len(calls.all) == 10:
            done.set()

    scene.send(*(b"%d" % n for n in range(10)))
    async with worker:
        await asyncio.wait_for(done.wait(), 30)
    assert loops == {asyncio.get_running_loop()}
    scene.wait_until_done()


def test_a_rejected_record_is_copied_with_its_headers_and_not_retried(scene: WorkerScene) -> None:
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name, dead_letters=scene.dead)
    def handle(value: bytes) -> None:
        calls.add(value)
        if value == b"bad":
            raise Reject("negative total")

    offset = scene.send(b"good", NewRecord(b"bad", b"key", headers=[("h", b"x")]), b"good, too")
    with worker:
        scene.wait_until_done()
    assert calls.counts == {b"good": 1, b"bad": 1, b"good, too": 1}
    (letter,) = scene.letters()
    assert letter.place == (0, offset + 1)
    assert (letter.value, letter.reason, letter.delivery_count) == (b"bad", "negative total", 1)
    assert (letter.headers["topic"], letter.headers["group"], letter.headers["h"]) == (scene.name, scene.group_id, "x")
    assert not letter.is_possible_duplicate
    assert [message.key() for message in scene.broker.messages(scene.dead)] == [b"key"]


def test_a_record_that_its_topic_takes_is_not_too_large_for_a_dead_letter(scene: WorkerScene) -> None:
    worker, large = scene.worker(), 1_040_000 * b"x"

    @worker.handler(scene.name, dead_letters=scene.dead)
    def handle(value: bytes) -> None:
        raise Reject("too many x")

    scene.send(large)
    with worker:
        scene.wait_until_done()
    (letter,) = scene.letters()
    assert letter.value == large


def test_a_retry_comes_after_the_time_that_the_handler_asked_for(scene: WorkerScene) -> None:
    worker, calls, clock = scene.worker(), Calls(), SystemClock()
    times_ms: list[int] = []

    @worker.handler(scene.name)
    def handle(value: bytes) -> None:
        times_ms.append(clock.now_ms())
        if calls.add(value) == 1:
            raise Retry("closed", after=AFTER_S)

    scene.send(b"1")
    with worker:
        scene.wait_until_done()
    assert calls.all == [(b"1", 1, 1), (b"1", 1, 2)]
    assert times_ms[1] - times_ms[0] >= 1000 * AFTER_S


def test_a_record_that_fails_too_often_becomes_a_dead_letter(scene: WorkerScene) -> None:
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name, dead_letters=scene.dead, retries=SOON)
    def handle(value: bytes) -> None:
        calls.add(value)
        if value == b"bad":
            raise ValueError("no such product")

    scene.send(b"bad", b"good")
    with worker:
        scene.wait_until_done()
    assert [call for call in calls.all if call[0] == b"bad"] == [(b"bad", 1, number) for number in (1, 2, 3)]
    assert [(letter.value, letter.reason) for letter in scene.letters()] == [(b"bad", "ValueError: no such product")]


def test_without_a_topic_for_dead_letters_a_record_is_held_and_released_at_the_end(
    scene: WorkerScene, caplog: pytest.LogCaptureFixture
) -> None:
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name, retries=SOON)
    def handle(value: bytes) -> None:
        if calls.add(value) < 6:
            raise ValueError("not yet")

    scene.send(b"1")
    with worker:
        calls.wait_for(5)
        assert scene.broker.lag(scene.group_id, scene.topic) in (None, 1)
        scene.wait_until_done()
    assert calls.delivery_counts == {1}
    assert "is held, because there is no topic for dead letters" in caplog.text


def test_values_that_cannot_be_parsed_become_dead_letters_without_a_call(scene: WorkerScene) -> None:
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name, value=serdes.json(Order), dead_letters=scene.dead)
    def handle(order: Order) -> None:
        calls.add(order)

    scene.send(b'{"number": 1}', b"{", NewRecord(None), b'{"number": 2}')
    with worker:
        scene.wait_until_done()
    assert calls.counts == {Order(1): 1, Order(2): 1}
    letters = scene.letters()
    assert [letter.value for letter in letters] == [b"{", None]
    assert all("the value cannot be parsed" in letter.reason for letter in letters)
    assert "serdes.nullable" in letters[1].reason


def test_null_values_are_passed_on_if_the_serde_is_nullable(scene: WorkerScene) -> None:
    worker, seen = scene.worker(), Calls()

    @worker.handler(scene.name, value=serdes.nullable(serdes.string))
    def handle(value: str | None, record: ShareRecord[bytes, str | None]) -> None:
        seen.add((value, record.raw_key))

    scene.send(NewRecord(None, b"ann"), NewRecord(b"x", None))
    with worker:
        scene.wait_until_done()
    assert seen.counts == {(None, b"ann"): 1, ("x", None): 1}


# ------------------------------------------------------------------------------------------- rules for errors


def calls_with_rule(scene: WorkerScene, rule: OnError | Backoff) -> Calls:
    """The calls of a handler that raises the first time; afterwards the group is done."""
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name, errors={ShopError: rule}, retries=SOON, dead_letters=scene.dead)
    def handle(value: bytes) -> None:
        if calls.add(value) == 1:
            raise ShopError("closed")

    scene.send(b"1")
    with worker:
        scene.wait_until_done()
    return calls


@pytest.mark.parametrize("rule", [OnError.ACCEPT, OnError.REJECT])
def test_errors_that_are_accepted_or_rejected_end_their_record(scene: WorkerScene, rule: OnError) -> None:
    assert calls_with_rule(scene, rule).all == [(b"1", 1, 1)]
    assert scene.letters() == []


def test_errors_with_the_rule_dead_letter_are_not_retried(scene: WorkerScene) -> None:
    assert calls_with_rule(scene, OnError.DEAD_LETTER).all == [(b"1", 1, 1)]
    assert [letter.reason for letter in scene.letters()] == ["ShopError: closed"]


def test_errors_with_the_rule_release_spend_a_delivery(scene: WorkerScene) -> None:
    assert calls_with_rule(scene, OnError.RELEASE).all == [(b"1", 1, 1), (b"1", 2, 1)]
    assert scene.letters() == []


@pytest.mark.parametrize("rule", [OnError.HOLD, Backoff(first=0.05, most=0.05, times=1)])
def test_errors_that_are_held_or_waited_for_spend_no_delivery(scene: WorkerScene, rule: OnError | Backoff) -> None:
    assert calls_with_rule(scene, rule).all == [(b"1", 1, 1), (b"1", 1, 2)]
    assert scene.letters() == []


def test_errors_with_the_rule_stop_end_the_worker_and_release_the_record(scene: WorkerScene) -> None:
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name, errors={ShopError: OnError.STOP})
    def handle(value: bytes) -> None:
        calls.add(value)
        raise ShopError("closed")

    scene.send(b"1")
    with pytest.raises(ShopError, match="closed"), worker:
        wait_until(lambda: not worker.health().is_ready and calls.all)
    assert calls.all == [(b"1", 1, 1)]
    assert released_to_another(scene, 1) == {(b"1", 2)}


def released_to_another(scene: WorkerScene, count: int) -> set[tuple[bytes, int]]:
    """The values and delivery counts of the records that another worker accepts."""
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name)
    def handle(value: bytes) -> None:
        calls.add(value)

    with worker:
        calls.wait_for(count)
        scene.wait_until_done()
    return {(value, deliveries) for value, deliveries, _ in calls.all}


# ------------------------------------------------------------------------------------------- batches and keys


def test_a_bad_record_of_a_batch_is_found_by_halves(scene: WorkerScene) -> None:
    worker, stored, batches = scene.worker(), Calls(), []

    @worker.batch_handler(scene.name, max_records=16, max_wait=20, retries=SOON, dead_letters=scene.dead)
    def store(batch: Batch[bytes]) -> None:
        batches.append(list(batch))
        if b"bad" in batch:
            raise ValueError("constraint violated")
        for value in batch:
            stored.add(value)

    scene.send(*(b"bad" if n == 5 else b"%d" % n for n in range(16)))
    with worker:
        scene.wait_until_done()
    assert stored.counts == {b"%d" % n: 1 for n in range(16) if n != 5}
    assert len(batches[0]) == 16
    assert [len(batch) for batch in batches if b"bad" in batch][:5] == [16, 8, 4, 2, 1]
    assert [letter.value for letter in scene.letters()] == [b"bad"]


def test_a_batch_handler_decides_about_single_records(scene: WorkerScene) -> None:
    worker, calls = scene.worker(), Calls()

    @worker.batch_handler(scene.name, value=serdes.string, max_records=4, max_wait=0.2, retries=SOON,
                          dead_letters=scene.dead)  # fmt: skip
    def store(batch: Batch[str]) -> None:
        for index, value in enumerate(batch):
            if value == "reject":
                batch.reject(index, "unknown")
            elif value == "retry" and calls.add(value) == 1:
                batch.retry(index, ShopError("later"))
            elif value != "retry":
                calls.add(value)

    scene.send(b"good", b"reject", b"retry", b"good, too")
    with worker:
        scene.wait_until_done()
    assert calls.counts == {"good": 1, "good, too": 1, "retry": 2}
    assert calls.delivery_counts == {1}
    assert [(letter.value, letter.reason) for letter in scene.letters()] == [(b"reject", "unknown")]


def test_records_of_one_key_run_in_the_order_of_their_offsets(scene: WorkerScene) -> None:
    worker, calls, running = scene.worker(), Calls(), KeysInUse()

    @worker.handler(scene.name, order_by="key", retries=SOON, outages=())
    def handle(value: bytes) -> None:
        key, _, number = value.partition(b"-")
        with running.one(key):
            first = calls.add(value) == 1
            if first and number == b"3":
                raise Retry("once")

    keys = (b"ann", b"bob", b"eve")
    scene.send(*(NewRecord(b"%s-%d" % (key, n), key) for n in range(20) for key in keys))
    with worker:
        scene.wait_until_done()
    for key in keys:
        ran = [int(value.partition(b"-")[2]) for value in calls.values if value.startswith(key)]
        assert [number for number, _ in groupby(ran)] == list(range(20))
        assert ran.count(3) == 2
    assert running.overlaps == 0


class KeysInUse:
    """The keys whose records run now."""

    def __init__(self) -> None:
        self._keys: set[bytes] = set()
        self.overlaps = 0

    @contextmanager
    def one(self, key: bytes) -> Iterator[None]:
        """A context in which the key is in use."""
        self.overlaps += key in self._keys
        self._keys.add(key)
        try:
            yield
        finally:
            self._keys.discard(key)


def test_several_handlers_of_one_worker_get_their_topics(broker: WorkerBroker) -> None:
    scene, other, calls = WorkerScene(broker), broker.new_topic(), Calls()
    worker, both = scene.worker(), threading.Barrier(2)

    @worker.handler(scene.name)
    def orders(value: bytes) -> None:
        both.wait(30)
        calls.add(("orders", value, current_attempt().handler))

    @worker.handler(other.name, name="others")
    def payments(value: bytes) -> None:
        both.wait(30)
        calls.add(("payments", value, current_attempt().handler))

    scene.send(b"1")
    broker.produce(other, [b"2"])
    with worker:
        scene.wait_until_done()
        broker.wait_for_lag(scene.group_id, other)
    assert calls.counts == {("orders", b"1", "orders"): 1, ("payments", b"2", "others"): 1}
