"""The assignors of applications answer as Java's did when they were recorded, and defects would be seen."""

from collections.abc import Iterable, Iterator

import pytest

from tests.recording.java_application_assignors import QUESTIONS, SEEDS, recorded
from tests.support.assignors.application_defects import DEFECTS
from tests.support.planted_defects import Plant


def differing(names: Iterable[str] = QUESTIONS) -> Iterator[tuple[str, int]]:
    for name in names:
        for seed, answers in zip(SEEDS, recorded(), strict=True):
            if QUESTIONS[name].ours(seed) != answers[name]:
                yield name, seed


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_those_of_java(name: str) -> None:
    assert list(differing((name,))) == []


@pytest.mark.parametrize("plant", DEFECTS.values(), ids=DEFECTS)
def test_a_planted_defect_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert next(differing(), None) is not None
