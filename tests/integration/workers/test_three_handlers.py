"""Three handlers in one process, whose records of one topic end it: each record is done, or it is a dead letter.

An orchestrator starts the process again whenever it ends. The process knows nothing of its predecessor, unless that
leaves notes in a state directory.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.workers.three_handler_runs import (
    HANDLERS,
    ThreeHandlerRecords,
    run_three_handlers,
    summary,
    violations,
)
from tests.support.workers.three_handlers import EXIT_STATUS, DoneRecord
from tests.support.workers.worker_brokers import BEFORE_PROCESSING, WorkerBroker, WrittenDeadLetter

KILLED = -9
BAD = (1, 0)

Note = Callable[[str, object], None]
Letters = tuple[list[WrittenDeadLetter], list[WrittenDeadLetter], list[WrittenDeadLetter]]


def check(records: ThreeHandlerRecords, note: Note) -> None:
    note("to_show", summary(records))
    assert violations(records) == [], summary(records)
    assert records.ends.keys() == {KILLED, EXIT_STATUS}, summary(records)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_each_record_is_done_or_copied(broker: WorkerBroker, tmp_path: Path, record_property: Note) -> None:
    check(run_three_handlers(broker, tmp_path, size=1_000, poison=2, within_s=240), record_property)


@pytest.mark.slow
@pytest.mark.parametrize(
    "broker", ["embedded", pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.long])], indirect=True
)
@pytest.mark.timeout(300)
def test_with_a_state_directory_no_record_of_another_handler_is_copied(
    broker: WorkerBroker, tmp_path: Path, record_property: Note
) -> None:
    records = run_three_handlers(broker, tmp_path, size=1_000, poison=2, within_s=240, leaves_notes=True)
    check(records, record_property)
    assert records.letters[1:] == [[], []], summary(records)


@pytest.mark.long
@pytest.mark.timeout(1_200)
def test_each_of_300_000_records_is_done_or_copied(broker: WorkerBroker, tmp_path: Path, record_property: Note) -> None:
    check(run_three_handlers(broker, tmp_path, size=100_000, poison=3, within_s=1_000), record_property)


# ------------------------------------------------------------------------------------------- the verdict itself


def found(done: list[DoneRecord], letters: Letters) -> str:
    return "; ".join(violations(ThreeHandlerRecords(2, frozenset({BAD}), done, letters, {}, 1.0)))


def letter(place: tuple[int, int], reason: str = BEFORE_PROCESSING) -> WrittenDeadLetter:
    return WrittenDeadLetter(place, b"", {"message": reason, "delivery.count": "4"})


WELL = [DoneRecord(topic, (0, 0), 1) for topic in range(HANDLERS)]


def test_a_run_may_be_well() -> None:
    again = [DoneRecord(1, (0, 0), 2), DoneRecord(1, BAD, 1)]
    assert found([*WELL, *again], ([letter(BAD)], [], [letter(BAD), letter(BAD)])) == ""


def test_violations_are_found() -> None:
    other = DoneRecord(1, BAD, 1)
    copies: Letters = ([letter(BAD)], [], [letter(BAD)])
    assert found(WELL, copies) == "lost: (1, 0) of topic 1"
    assert "done 2 times with one delivery: DoneRecord(topic=1" in found([*WELL, other, other], copies)
    assert "done although it ends the process" in found([*WELL, other, DoneRecord(0, BAD, 1)], copies)
    given_up: Letters = ([letter(BAD)], [letter((0, 0), "bad")], [letter(BAD)])
    assert "a record was given up" in found([*WELL, other], given_up)
