"""The verdict about a run finds what must not happen."""

import pytest

from tests.support.workers.journal import JournalEntry, Step
from tests.support.workers.journaled_worker import Nature
from tests.support.workers.worker_brokers import BEFORE_PROCESSING, WrittenDeadLetter
from tests.support.workers.worker_plans import StrikePlan, Theme
from tests.support.workers.worker_verdicts import WorkerRecords, violations

GOOD, OTHER, BAD = (0, 0), (0, 1), (0, 2)
WRITTEN = {GOOD: Nature.GOOD, OTHER: Nature.GOOD, BAD: Nature.RAISES}


def entry(step: Step, place: tuple[int, int], *, count: int = 1, process: int = 1) -> JournalEntry:
    return JournalEntry(step, process, place, count, 1, "key")


def letter(
    place: tuple[int, int], *, count: int = 1, reason: str = "bad", is_marked: bool = False
) -> WrittenDeadLetter:
    marks = {"possible.duplicate": "true"} if is_marked else {}
    return WrittenDeadLetter(place, b"", {"message": reason, "delivery.count": str(count), **marks})


def plan(theme: Theme) -> StrikePlan:
    return StrikePlan(1, theme, 1, False, False, True, 5, (), {Nature.RAISES: 1})


WELL = [
    entry(Step.BEGINS, GOOD), entry(Step.DONE, GOOD), entry(Step.BEGINS, OTHER), entry(Step.DONE, OTHER),
    entry(Step.BEGINS, BAD), entry(Step.FAILS, BAD),
]  # fmt: skip


def found(entries: list[JournalEntry], letters: list[WrittenDeadLetter], theme: Theme = Theme.SINK) -> str:
    return "; ".join(violations(WorkerRecords(WRITTEN, entries, letters), plan(theme)))


def test_a_run_may_be_well() -> None:
    assert found(WELL, [letter(BAD)]) == ""
    early = letter(OTHER, count=4, reason=BEFORE_PROCESSING, is_marked=True)
    assert found(WELL, [letter(BAD), early], Theme.POISON) == ""


@pytest.mark.parametrize(
    ("entries", "letters", "expected"),
    [
        (WELL[:2] + WELL[4:], [letter(BAD)], "lost: good (0, 1)"),
        (WELL, [], "no dead letter of raises (0, 2)"),
        (WELL, [letter(BAD), letter(GOOD)], "a dead letter of a good record: (0, 0)"),
        (WELL, [letter(BAD), letter((7, 7))], "a dead letter of a record that nobody wrote: (7, 7)"),
        (WELL, [letter(BAD), letter(BAD)], "copied twice with one delivery: (0, 2)"),
        (WELL, [letter(BAD, count=2)], "a possible duplicate has no mark"),
        (WELL, [letter(BAD, is_marked=True)], "is marked as a duplicate"),
        ([*WELL, entry(Step.DONE, BAD)], [letter(BAD)], "done although it is bad"),
        ([*WELL, entry(Step.BEGINS, BAD, count=2)], [letter(BAD)], "a delivery was spent"),
        ([*WELL, entry(Step.DONE, GOOD)], [letter(BAD)], "done 2 times: (0, 0)"),
        ([WELL[0], *WELL], [letter(BAD)], "a second attempt while the first ran"),
        ([*WELL[2:4], *WELL[:2], *WELL[4:]], [letter(BAD)], "after offset 1"),
    ],
)
def test_violations_are_found(entries: list[JournalEntry], letters: list[WrittenDeadLetter], expected: str) -> None:
    assert expected in found(entries, letters)
