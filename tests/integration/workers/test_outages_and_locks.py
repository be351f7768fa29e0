"""Outages of the sink, locks that are lost, and windows that are full."""

import asyncio
import threading

import pytest

from kafka_groups import Backoff, Batch, OnError, Retry, current_attempt
from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker
from tests.support.workers.worker_scenes import Calls, WorkerScene

PATIENCE_S = 30
NOT_RENEWED = {"share.renew.acknowledge.enable": "false"}
RELEASED_AFTER = 0.75
"""The part of a lock after which records that wait are released if it cannot be renewed."""
WINDOW = 100
NARROW = {"share.partition.max.record.locks": str(WINDOW)}
BATCH = 10


# ------------------------------------------------------------------------------------------- outages


def test_an_outage_opens_the_breaker_and_spends_neither_deliveries_nor_retries(scene: WorkerScene) -> None:
    worker, done, is_down = scene.worker(), Calls(), threading.Event()
    is_down.set()

    @worker.handler(scene.name, dead_letters=scene.dead, retries=Backoff(first=0.01, most=0.01, times=1))
    def handle(value: bytes) -> None:
        if is_down.is_set():
            raise ConnectionError("sink is down")
        done.add(value)

    values = [b"%d" % n for n in range(50)]
    scene.send(*values)
    with worker:
        wait_until(lambda: not worker.health().is_ready and "breaker is open" in str(worker.health().reasons), 30)
        assert "(ConnectionError)" in str(worker.health().reasons)
        is_down.clear()
        scene.wait_until_done()
        wait_until(lambda: worker.health().is_ready, PATIENCE_S, worker.health)
    assert done.counts == dict.fromkeys(values, 1)
    assert done.delivery_counts == {1}
    assert scene.letters() == []


def test_an_outage_of_a_batch_handler_spends_no_delivery(scene: WorkerScene) -> None:
    worker, done, is_down = scene.worker(), Calls(), threading.Event()
    is_down.set()

    @worker.batch_handler(scene.name, max_records=8, max_wait=0.1, dead_letters=scene.dead)
    def store(batch: Batch[bytes]) -> None:
        if is_down.is_set():
            raise ConnectionError("sink is down")
        for value in batch:
            done.add(value)

    values = [b"%d" % n for n in range(50)]
    scene.send(*values)
    with worker:
        wait_until(lambda: "breaker is open" in str(worker.health().reasons), PATIENCE_S)
        is_down.clear()
        scene.wait_until_done()
    assert done.counts == dict.fromkeys(values, 1)
    assert done.delivery_counts == {1}
    assert scene.letters() == []


def test_one_bad_record_does_not_open_the_breaker(scene: WorkerScene) -> None:
    worker, done, reasons = scene.worker(), Calls(), set[str]()

    @worker.handler(scene.name, dead_letters=scene.dead, retries=Backoff(first=0.01, most=0.01, times=10))
    def handle(value: bytes) -> None:
        reasons.update(worker.health().reasons)
        if value == b"bad":
            raise ConnectionError("its host is down")
        done.add(value)
        if len(done.all) % 10 == 0:
            raise Retry("once more")

    scene.send(b"bad", *(b"%d" % n for n in range(50)))
    with worker:
        done.wait_for(50)
        scene.wait_until_done(lag=1)
    assert not any("breaker" in reason for reason in reasons)
    assert done.delivery_counts == {1}


# ------------------------------------------------------------------------------------------- locks


def locking(broker: WorkerBroker, **configs: str) -> WorkerScene:
    return WorkerScene(broker, {"share.record.lock.duration.ms": str(1000 * broker.lock_s), **configs})


def test_locks_are_renewed_while_a_record_runs_and_waits(broker: WorkerBroker) -> None:
    scene, calls = locking(broker), Calls()
    worker = scene.worker(environment=broker.environment)
    go_on, longer_s = threading.Event(), 1.25 * broker.lock_s

    @worker.handler(scene.name, retries=Backoff(first=longer_s, most=longer_s, times=2))
    def handle(value: bytes) -> None:
        if calls.add(value) == 1:
            go_on.wait(PATIENCE_S)
            raise ValueError("not yet")

    scene.send(b"1")
    with worker:
        calls.wait_for(1)
        scene.outlast_locks(worker)
        go_on.set()
        scene.outlast_locks(worker, lambda: len(calls.all) > 1)
        scene.wait_until_done()
    assert calls.all == [(b"1", 1, 1), (b"1", 1, 2)]


def test_a_record_that_was_done_after_its_lock_was_lost_is_not_run_again(broker: WorkerBroker) -> None:
    scene, calls = locking(broker, **NOT_RENEWED), Calls()
    worker = scene.worker(environment=broker.environment)

    @worker.handler(scene.name)
    def handle(value: bytes) -> None:
        attempt = current_attempt()
        calls.add(value)
        if value == b"slow":
            wait_until(lambda: attempt.lock_lost, PATIENCE_S)

    scene.send(b"slow", b"fast")
    with worker:
        calls.wait_for(2)
        broker.end_locks()
        scene.wait_until_done()
    assert calls.counts == {b"slow": 1, b"fast": 1}


async def test_an_asynchronous_handler_is_cancelled_when_its_lock_is_lost(broker: WorkerBroker) -> None:
    scene, calls = await asyncio.to_thread(locking, broker, **NOT_RENEWED), Calls()
    worker, cancelled = scene.worker(environment=broker.environment), Calls()

    @worker.handler(scene.name)
    async def handle(value: bytes) -> None:
        if calls.add(value) == 1:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.add(value)
                raise

    await asyncio.to_thread(scene.send, b"1")
    async with worker:
        await asyncio.to_thread(calls.wait_for, 1)
        await asyncio.to_thread(broker.end_locks)
        await asyncio.to_thread(scene.wait_until_done)
    assert cancelled.counts == {b"1": 1}
    assert calls.all == [(b"1", 1, 1), (b"1", 2, 1)]


def test_records_that_wait_are_released_before_a_lock_ends_that_cannot_be_renewed(
    broker: WorkerBroker, caplog: pytest.LogCaptureFixture
) -> None:
    scene, calls = locking(broker, **NOT_RENEWED), Calls()
    worker = scene.worker(environment=broker.environment)

    @worker.handler(scene.name, retries=Backoff(first=60, most=60, times=1))
    def handle(value: bytes) -> None:
        if calls.add(value) == 1:
            raise ValueError("not yet")

    scene.send(b"1")
    with worker:
        calls.wait_for(1)
        broker.let_pass(RELEASED_AFTER * broker.lock_s)
        scene.wait_until_done()
    assert calls.all == [(b"1", 1, 1), (b"1", 2, 1)]
    assert "cannot renew locks" in caplog.text
    assert "were lost" not in caplog.text


# ------------------------------------------------------------------------------------------- windows


def send_stuck_and_others(scene: WorkerScene) -> tuple[int, list[bytes]]:
    """Write a record and three windows of others. Its offset."""
    return scene.send(b"stuck"), send_in_batches(scene)


def send_in_batches(scene: WorkerScene) -> list[bytes]:
    """Write three windows of records, in small batches, as brokers acquire whole ones."""
    values = [b"%d" % n for n in range(3 * WINDOW)]
    for start in range(0, len(values), BATCH):
        scene.send(*values[start : start + BATCH])
    return values


@pytest.mark.slow
def test_a_full_window_makes_a_worker_not_ready_until_its_oldest_record_is_done(
    broker: WorkerBroker, caplog: pytest.LogCaptureFixture
) -> None:
    scene, done, go_on = WorkerScene(broker, NARROW), Calls(), threading.Event()
    worker = scene.worker()

    @worker.handler(scene.name, errors={ValueError: Backoff(first=0.2, most=0.2, times=1_000)})
    def handle(value: bytes) -> None:
        if value == b"stuck" and not go_on.is_set():
            raise ValueError("not yet")
        done.add(value)

    first, values = send_stuck_and_others(scene)
    with worker:
        wait_until(lambda: f"full, held by offset {first}" in str(worker.health().reasons), PATIENCE_S)
        assert f"offset {first} holds back {scene.name}-0" in caplog.text
        assert WINDOW - BATCH <= len(done.all) < WINDOW + BATCH
        go_on.set()
        scene.wait_until_done()
        wait_until(lambda: worker.health().is_ready, PATIENCE_S, worker.health)
    assert done.counts == dict.fromkeys([b"stuck", *values], 1)
    assert done.delivery_counts == {1}


@pytest.mark.slow
def test_a_record_that_blocks_its_partition_is_given_up(broker: WorkerBroker) -> None:
    scene, done = WorkerScene(broker, NARROW), Calls()
    worker = scene.worker()

    @worker.handler(
        scene.name,
        dead_letters=scene.dead,
        errors={ValueError: Backoff(first=60, most=60, times=1_000)},
        on_blocked=OnError.DEAD_LETTER,
    )
    def handle(value: bytes) -> None:
        if value == b"stuck":
            raise ValueError("not yet")
        done.add(value)

    _, values = send_stuck_and_others(scene)
    with worker:
        scene.wait_until_done()
    assert done.counts == dict.fromkeys(values, 1)
    (letter,) = scene.letters()
    assert letter.value == b"stuck"
    assert "has held back" in letter.reason


@pytest.mark.slow
def test_a_record_is_given_up_also_if_another_member_fills_the_window(broker: WorkerBroker) -> None:
    scene, begun, done, go_on = WorkerScene(broker, NARROW), Calls(), Calls(), threading.Event()
    blocked, other = scene.worker(), scene.worker()

    @blocked.handler(
        scene.name,
        dead_letters=scene.dead,
        concurrency=1,
        buffer=1,
        errors={ValueError: Backoff(first=60, most=60, times=1_000)},
        on_blocked=OnError.DEAD_LETTER,
    )
    def handle(value: bytes) -> None:
        begun.add(value)
        if value == b"stuck":
            raise ValueError("not yet")
        go_on.wait(PATIENCE_S)

    @other.handler(scene.name)
    def take(value: bytes) -> None:
        done.add(value)

    scene.send(b"stuck")
    with blocked:
        begun.wait_for(1)
        scene.send(b"slow")
        begun.wait_for(2)
        with other:
            values = send_in_batches(scene)
            wait_until(scene.letters, PATIENCE_S)
            go_on.set()
            scene.wait_until_done()
    assert {**begun.counts, **done.counts} == dict.fromkeys([b"stuck", b"slow", *values], 1)
    (letter,) = scene.letters()
    assert letter.value == b"stuck"
