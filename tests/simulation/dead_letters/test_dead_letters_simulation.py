"""Dead letters of the brokers in virtual time, while leaders move and die: no archived record goes without a word.

`python -m tests.simulation --letters SEED` runs one seed by hand.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.simulation.dead_letters.letter_defects import LETTER_DEFECTS
from tests.simulation.dead_letters.letters_world import run_letters_world
from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.reporting import explained

pytestmark = pytest.mark.simulation

_SEEDS = range(1, 11)
_SEEDS_FOR_ALL = 10
_STRUCK = (
    "leader_moved",
    "broker_killed",
    "struck while archiving",
    "queue disabled",
    "letters again",
    "logged reasons",
)


@pytest.fixture(scope="module")
def letters_struck() -> Counter[str]:
    """Faults by class, over all seeds."""
    return Counter()


def test_each_archived_record_has_a_letter_or_a_logged_reason(letters_seed: int, letters_struck: Counter[str]) -> None:
    report = run_letters_world(letters_seed)

    letters_struck.update({**report.faults, "runs": 1})
    assert not report.violations, explained(report, "--letters")
    assert report.faults["letters"] > 10


def test_every_class_of_fault_struck_dead_letters(
    letters_struck: Counter[str], record_property: Callable[[str, object], None]
) -> None:
    record_property("to_show", f"faults that struck dead letters: {dict(letters_struck)}")
    if letters_struck["runs"] >= _SEEDS_FOR_ALL:
        assert [name for name in _STRUCK if not letters_struck[name]] == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_seed_makes_the_same_run_of_dead_letters_in_another_process() -> None:
    digest = run_letters_world(2).digest

    assert run_elsewhere(run_letters_world, 2, hash_seed=1, collector="set_threshold(500)") == digest


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", LETTER_DEFECTS)
def test_a_planted_defect_of_dead_letters_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    LETTER_DEFECTS[name](monkeypatch)

    assert is_caught(run_letters_world, _SEEDS, None), "no seed saw anything wrong"
