"""The figures of handlers: what a worker reports is what exporters read, over several processes and their restarts."""

import pickle
from collections.abc import Mapping

import pytest

from kafka_groups.telemetry.handler_details import HandlerDetails, LastFailure
from kafka_groups.telemetry.handler_sensors import HandlerSensors
from kafka_groups.telemetry.histograms import HistogramValue
from kafka_groups.telemetry.workers import NoSensors, WorkerObserver, WorkerTelemetry

Values = Mapping[tuple[str, ...], float | HistogramValue]


def values(worker: WorkerTelemetry, name: str) -> Values:
    """The values of a metric by the labels after the group."""
    full = f"kafka_groups_worker_{name}"
    return {sample.labels: sample.value for sample in worker.telemetry.read() if sample.family.name == full}


def busy(observer: WorkerObserver) -> None:
    """Report a bit of everything."""
    observer.settled("accepted", 3)
    observer.ran({("succeeded", ""): 2}, 2, 0.002)
    observer.ran({("succeeded", ""): 1}, 1, 0.2)
    observer.ran({("failed", "ValueError"): 1}, 1, 40.0)
    observer.waited(1, 0.0)
    observer.waited(1, 0.3)
    observer.in_hand({"running": 2, "waiting": 1})
    observer.oldest(7.5)
    observer.windows({("orders", 0): 0.5, ("orders", 1): 0.25})
    observer.breaker(is_open=True)
    observer.outputs(4)
    observer.locks_lost(2)
    observer.dead_letters("exhausted", 1)
    observer.rate_limited(1.5)
    observer.details(HandlerDetails(rate=1.5, last_failure=LastFailure("ValueError", "orders", 0, 7, 1_000)))


def test_what_a_worker_reports_is_exported_with_its_labels() -> None:
    worker = WorkerTelemetry("invoices")
    busy(worker.handler("pay"))
    pay = ("pay", "0")
    assert worker.telemetry.labels == (("group", "invoices"),)
    assert values(worker, "records_total") == {(*pay, "accepted"): 3}
    assert values(worker, "attempts_total") == {(*pay, "succeeded", ""): 3, (*pay, "failed", "ValueError"): 1}
    assert values(worker, "records_in_hand") == {(*pay, "running"): 2, (*pay, "waiting"): 1}
    assert values(worker, "oldest_record_seconds") == {pay: 7.5}
    assert values(worker, "window_used_ratio") == {(*pay, "orders", "0"): 0.5, (*pay, "orders", "1"): 0.25}
    assert values(worker, "breaker_open") == {pay: 1.0}
    assert values(worker, "unconfirmed_outputs") == {pay: 4}
    assert values(worker, "locks_lost_total") == {pay: 2}
    assert values(worker, "dead_letters_total") == {(*pay, "exhausted"): 1}
    assert values(worker, "rate_limited_seconds_total") == {pay: 1.5}
    (took,) = values(worker, "handler_seconds").values()
    assert isinstance(took, HistogramValue)
    assert (sum(took.counts), took.counts[1]) == (4, 2)
    assert took.total == pytest.approx(40.204)
    (waited,) = values(worker, "waiting_seconds").values()
    assert isinstance(waited, HistogramValue)
    assert sum(waited.counts) == 2
    assert waited.total == pytest.approx(0.3)


def test_samples_have_a_value_for_each_label() -> None:
    worker = WorkerTelemetry("invoices")
    busy(worker.handler("pay"))
    worker.received("1", worker.snapshot())
    worker.restarted("1")
    samples = list(worker.telemetry.read())
    assert {sample.family for sample in samples} == set(worker.telemetry.families)
    assert all(len(sample.labels) + 1 == len(sample.family.labels) for sample in samples)


def test_counts_grow_and_gauges_change() -> None:
    worker = WorkerTelemetry("invoices")
    figures = worker.handler("pay")
    busy(figures)
    busy(figures)
    figures.in_hand({"running": 1})
    figures.windows({("orders", 1): 0.75})
    figures.breaker(is_open=False)
    pay = ("pay", "0")
    assert values(worker, "records_total") == {(*pay, "accepted"): 6}
    assert values(worker, "records_in_hand") == {(*pay, "running"): 1, (*pay, "waiting"): 0}
    assert values(worker, "window_used_ratio") == {(*pay, "orders", "1"): 0.75}
    assert values(worker, "breaker_open") == {pay: 0.0}


def test_each_process_has_its_own_time_series() -> None:
    parent = WorkerTelemetry("invoices", process="parent")
    for process, count in (("1", 5), ("2", 7)):
        child = WorkerTelemetry("invoices", process)
        child.handler("pay").settled("accepted", count)
        parent.received(process, pickle.loads(pickle.dumps(child.snapshot())))
    assert values(parent, "records_total") == {("pay", "1", "accepted"): 5, ("pay", "2", "accepted"): 7}
    assert values(parent, "process_restarts_total") == {("1",): 0, ("2",): 0}


def test_a_later_snapshot_replaces_the_one_before() -> None:
    parent, child = WorkerTelemetry("invoices", "parent"), HandlerSensors()
    for _ in range(2):
        child.settled("accepted", 5)
        parent.received("1", {"pay": child.snapshot()})
    assert values(parent, "records_total") == {("pay", "1", "accepted"): 10}


def test_counts_survive_a_restart_and_gauges_do_not() -> None:
    parent, first, second = WorkerTelemetry("invoices", "parent"), HandlerSensors(), HandlerSensors()
    busy(first)
    parent.received("1", {"pay": first.snapshot()})
    parent.restarted("1")
    pay = ("pay", "1")
    assert values(parent, "process_restarts_total") == {("1",): 1}
    assert values(parent, "records_total") == {(*pay, "accepted"): 3}
    assert values(parent, "records_in_hand") == {}
    assert values(parent, "window_used_ratio") == {}
    assert values(parent, "breaker_open") == {pay: 0.0}
    assert values(parent, "unconfirmed_outputs") == {pay: 0}
    second.settled("accepted", 1)
    second.settled("rejected", 1)
    second.waited(1, 1.0)
    second.oldest(1.5)
    parent.received("1", {"pay": second.snapshot(), "ship": HandlerSensors().snapshot()})
    assert values(parent, "records_total") == {(*pay, "accepted"): 4, (*pay, "rejected"): 1}
    assert values(parent, "oldest_record_seconds") == {pay: 1.5, ("ship", "1"): 0.0}
    waited = values(parent, "waiting_seconds")[pay]
    assert isinstance(waited, HistogramValue)
    assert sum(waited.counts) == 3
    assert waited.total == pytest.approx(1.3)
    parent.restarted("1")
    assert values(parent, "process_restarts_total") == {("1",): 2}
    assert values(parent, "records_total") == {(*pay, "accepted"): 4, (*pay, "rejected"): 1}


def test_a_process_that_dies_before_it_sends_figures_counts_as_restarted() -> None:
    parent = WorkerTelemetry("invoices", "parent")
    parent.restarted("1")
    assert values(parent, "process_restarts_total") == {("1",): 1}
    assert values(parent, "records_total") == {}


def test_two_processes_cannot_have_one_name() -> None:
    parent = WorkerTelemetry("invoices", "1")
    parent.handler("pay")
    with pytest.raises(ValueError, match="Process '1' sent metrics, but that is the name of this process"):
        parent.received("1", {})


def test_a_snapshot_does_not_change_afterwards() -> None:
    figures = HandlerSensors()
    busy(figures)
    before = figures.snapshot()
    copy = pickle.loads(pickle.dumps(before))
    busy(figures)
    figures.in_hand({})
    assert before == copy
    assert before != figures.snapshot()


def test_a_worker_without_metrics_takes_the_same_reports() -> None:
    busy(NoSensors())
