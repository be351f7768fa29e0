"""When rounds of workers end a run: nothing left ends it, and what is unknown does so only after a while."""

from typing import Any

from kafka_groups.spark import ShareRunResult, WorkerMetrics
from kafka_groups.spark.workers.share_workers import RunEnd

UNKNOWN: dict[str, Any] = {"lag_unknown": "nobody knows"}


def result(*workers: dict[str, Any]) -> ShareRunResult:
    return ShareRunResult.of_rows(WorkerMetrics(worker=number, **values).row() for number, values in enumerate(workers))


def test_a_run_ends_when_no_worker_gets_records_and_none_are_left() -> None:
    end = RunEnd(1_000)
    end.round_ended(result({"acquired": 5}, {"empty_ms": 1_000, "lag": 0}), 2_000)
    assert not end.is_drained, "one worker still got records"
    end.round_ended(result({"empty_ms": 1_000, "lag": 3}, {"empty_ms": 1_200, "lag": 0}), 4_000)
    assert (end.is_drained, end.is_in_doubt, end.lag) == (False, False, 3)
    end.round_ended(result({"empty_ms": 1_000, "lag": 0}, {"empty_ms": 1_200, "lag": 0}), 6_000)
    assert (end.is_drained, end.is_in_doubt, end.lag) == (True, False, 0)


def test_what_is_known_to_be_left_counts_more_than_a_doubt() -> None:
    end = RunEnd(1_000)
    rest = result({"empty_ms": 1_000, "lag": 3}, {"empty_ms": 1_000, **UNKNOWN})
    end.round_ended(rest, 2_000)
    assert (end.is_drained, end.is_in_doubt, rest.lag_unknown) == (False, False, None)


def test_a_doubt_that_waiting_does_not_solve_ends_the_run_at_once() -> None:
    end = RunEnd(1_000)
    end.round_ended(result({"empty_ms": 1_000, **UNKNOWN}), 2_000)
    assert (end.is_drained, end.is_in_doubt) == (True, True)


def test_other_doubts_end_it_after_a_time_without_records() -> None:
    end, in_doubt = RunEnd(1_000), {**UNKNOWN, "patience_ms": 5_000}
    end.round_ended(result({"empty_ms": 1_000, **in_doubt}), 10_000)  # quiet since 9,000
    assert (end.is_drained, end.is_in_doubt) == (False, True)
    end.round_ended(result({"empty_ms": 1_000, **in_doubt}), 14_999)
    assert not end.is_drained
    end.round_ended(result({"empty_ms": 1_000, "acquired": 3, **in_doubt}), 16_000)  # quiet since 15,000
    assert not end.is_drained
    end.round_ended(result({"empty_ms": 1_000, **in_doubt}), 20_999)
    assert not end.is_drained
    end.round_ended(result({"empty_ms": 1_000, **in_doubt}), 21_000)
    assert end.is_drained
