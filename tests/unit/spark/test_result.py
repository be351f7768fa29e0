"""What workers did, as a table and as rows."""

from kafka_groups.spark.result import METRICS_DDL, ShareRunResult, WorkerMetrics, metrics_batch

FIRST = WorkerMetrics(worker=0, host="a", pid=10, polls=3, acquired=40, accepted=40, process_ms=7, notes=("mind",))
SECOND = WorkerMetrics(
    worker=1,
    host="a",
    pid=11,
    polls=1,
    acquired=5,
    released=5,
    max_delivery_count=4,
    lag=2,
    error="Traceback\n  …\nValueError: boom\n",
    failed=True,
    notes=("mind",),
)


def test_a_table_of_all_workers_with_the_total_and_the_errors() -> None:
    header, first, second, total, error = str(ShareRunResult((FIRST, SECOND))).splitlines()
    assert header.split()[:5] == ["worker", "pid", "polls", "acquired", "accepted"]
    assert first.split()[:5] == ["0", "10", "3", "40", "40"]
    assert second.split()[:6] == ["1", "11", "1", "5", "0", "5"]
    assert total.split()[:4] == ["total", "4", "45", "40"]
    assert len(header) == len(first) == len(total)
    assert error == "worker 1 (pid 11): ValueError: boom"
    assert str(ShareRunResult()).splitlines()[1].split()[:2] == ["total", "0"]


def test_the_total_sums_up_counts_and_times() -> None:
    result = ShareRunResult((FIRST, SECOND))
    total = result.total
    assert (total.polls, total.acquired, total.accepted, total.released, total.process_ms) == (4, 45, 40, 5, 7)
    assert (total.max_delivery_count, total.failed) == (4, True)
    assert (result.failed, result.notes, len(result.errors)) == (True, ("mind",), 1)


def test_runs_add_up_process_by_process() -> None:
    later = ShareRunResult((WorkerMetrics(worker=0, host="a", pid=11, accepted=5), WorkerMetrics(worker=1, pid=12)))
    added = ShareRunResult((FIRST, SECOND)).plus(later)
    assert [worker.pid for worker in added.workers] == [10, 11, 12]
    assert (added.workers[1].accepted, added.workers[1].released, added.workers[1].failed) == (5, 5, True)


def test_rows_there_and_back() -> None:
    rows = [row for metrics in (SECOND, FIRST) for row in metrics_batch(metrics).to_pylist()]
    assert ShareRunResult.of_rows(rows) == ShareRunResult((FIRST, SECOND))
    assert [column.split()[0] for column in METRICS_DDL.split(",")] == list(FIRST.row())


def test_what_the_last_run_does_not_know_is_what_all_runs_do_not_know() -> None:
    unknown, known = WorkerMetrics(worker=0, pid=1, lag_unknown="why"), WorkerMetrics(worker=0, pid=2, lag=0)
    first, second = (ShareRunResult.of_rows([worker.row()]) for worker in (unknown, known))
    assert (first.lag_unknown, second.lag_unknown) == ("why", None)
    assert first.plus(second).lag_unknown is None
    assert second.plus(first).lag_unknown == "why"
