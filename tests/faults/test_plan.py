"""What a seed means, and what the processes of a run tell each other; no Spark, no broker."""

from pathlib import Path

import pytest

from tests.faults.board import Board
from tests.faults.plan import (
    BROKERS,
    CLUSTER,
    DELIVERY_LIMIT,
    DESIGNS,
    LOCAL,
    Fault,
    Kind,
    Plan,
    Point,
    classes_of,
    draw,
)

_EACH = [(design, broker) for design in DESIGNS for broker in BROKERS]


@pytest.mark.parametrize(("design", "broker"), _EACH)
def test_a_seed_means_the_same_run(design: str, broker: str) -> None:
    assert draw(design, broker, 7) == draw(design, broker, 7)
    assert draw(design, broker, 7) != draw(design, broker, 8)


@pytest.mark.parametrize(("design", "broker"), _EACH)
def test_twenty_seeds_have_every_class(design: str, broker: str) -> None:
    drawn = {fault.kind for seed in range(1, 21) for fault in draw(design, broker, seed).faults}
    assert drawn == set(classes_of(design, broker))


@pytest.mark.parametrize(("design", "broker"), _EACH)
def test_no_plan_uses_up_the_deliveries_of_a_record(design: str, broker: str) -> None:
    for seed in range(1, 101):
        assert len(draw(design, broker, seed).faults) + 1 < DELIVERY_LIMIT


def test_executors_are_killed_where_they_are_processes_of_their_own() -> None:
    for seed in range(1, 101):
        plan = draw("source", "kafka", seed)
        has_executors = Kind.EXECUTOR_KILLED in {fault.kind for fault in plan.faults}
        assert plan.master == (CLUSTER if has_executors else LOCAL)


def _board(directory: Path, *faults: Fault) -> Board:
    return Board.set_up(directory / "board", Plan("source", "kafka", 1, faults=faults))


def test_a_fault_is_claimed_once_at_its_point_and_time(tmp_path: Path) -> None:
    board = _board(tmp_path, Fault(Kind.PROCESS_RAISES, Point.BEFORE, after_calls=1))

    assert board.claim(Point.BEFORE) is None
    board.count_call()
    assert board.claim(Point.AFTER) is None
    assert board.claim(Point.BEFORE, Kind.TASK_RETRY) is None
    claimed = board.claim(Point.BEFORE)
    assert claimed is not None
    assert claimed.kind is Kind.PROCESS_RAISES
    assert Board(board.directory).claim(Point.BEFORE) is None


def test_a_request_reaches_the_harness_until_it_is_dismissed(tmp_path: Path) -> None:
    board = _board(tmp_path)
    board.request(Fault(Kind.CONNECTIONS_CUT, Point.BEFORE, waits=False, delay_ms=30))

    (request,) = board.requests()
    assert (request.kind, request.delay_ms) == (Kind.CONNECTIONS_CUT, 30)
    board.dismiss(request)
    assert board.requests() == []


def test_what_struck_is_counted_by_class(tmp_path: Path) -> None:
    board = _board(tmp_path)
    assert not board.struck()

    for kind in (Kind.TASK_RETRY, Kind.DRIVER_KILLED, Kind.TASK_RETRY):
        board.note(kind)

    assert board.struck() == {Kind.TASK_RETRY: 2, Kind.DRIVER_KILLED: 1}


def test_an_outage_is_for_all_processes_and_ends(tmp_path: Path) -> None:
    board = _board(tmp_path)
    assert not board.is_sink_away
    board.begin_outage(60_000)
    assert Board(board.directory).is_sink_away
    board.begin_outage(-1)
    assert not board.is_sink_away


def test_a_stop_is_asked_for_once(tmp_path: Path) -> None:
    board = _board(tmp_path)
    board.ask_to_stop()
    assert [board.takes_stop(), board.takes_stop()] == [True, False]
