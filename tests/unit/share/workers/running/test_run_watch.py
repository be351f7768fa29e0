"""Runs that outlast the worker: what is cancelled, what is left behind, and what the log says."""

from typing import Any

import pytest

from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.workers.rules.failures.signals import WorkerStoppedError
from kafka_groups.share.workers.rules.steps import InvokeHandler
from kafka_groups.share.workers.running.run_watch import RunWatch
from kafka_groups.share.workers.running.slots import AnyRun
from tests.unit.share.deliveries import acquired, batch, decoded


class Spec:
    name = "handle"
    timeout_ms = None


class Slots:
    def __init__(self) -> None:
        self.cancelled: list[tuple[AnyRun, str]] = []
        self.left: list[AnyRun] = []

    def cancel(self, run: AnyRun, reason: Exception) -> bool:
        self.cancelled.append((run, type(reason).__name__))
        return True

    def leave(self, run: AnyRun) -> None:
        self.left.append(run)


def records() -> list[Any]:
    (delivery,) = decoded(Decoder(), acquired((4, 5, 1)), batch(4, 5))
    assert isinstance(delivery, DeliveredRecords)
    return list(delivery)


@pytest.fixture
def slots() -> Slots:
    return Slots()


@pytest.fixture
def watch(slots: Slots) -> RunWatch:
    spec: Any = Spec()
    made: Any = slots
    report: Any = None
    return RunWatch(spec, made, report)


def test_a_run_is_cancelled_once_for_each_record_and_left_a_second_later(
    watch: RunWatch, slots: Slots, caplog: pytest.LogCaptureFixture
) -> None:
    run = InvokeHandler(records())
    run.take()
    for now_ms in (0, 100, 900):
        watch.end([run], now_ms)
    assert slots.cancelled == [(run, WorkerStoppedError.__name__)]
    run.take()
    watch.end([run], 950)
    assert len(slots.cancelled) == 2
    watch.end([run], 1_900)
    assert not watch.left
    watch.end([run], 1_950)
    watch.end([run], 2_000)
    assert list(watch.left) == slots.left == [run]
    assert caplog.text.count("orders-0@5 still runs after shutdown_timeout") == 1


def test_a_run_of_which_all_was_taken_back_is_left_without_a_word(
    watch: RunWatch, caplog: pytest.LogCaptureFixture
) -> None:
    run = InvokeHandler(records())
    run.take_back()
    watch.end([run], 0)
    watch.end([run], 1_000)
    assert watch.left == [run]
    assert not caplog.text
