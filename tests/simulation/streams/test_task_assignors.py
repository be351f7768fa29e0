"""Assignors of applications in a simulated streams group: the group's properties hold, whatever the assignors do.

`python -m tests.simulation --assignors SEED` runs one seed by hand.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.reporting import explained
from tests.simulation.streams.assignor_mutants import ASSIGNOR_MUTANTS, CAUGHT_BY
from tests.simulation.streams.assignor_world import run_assignor_world

pytestmark = pytest.mark.simulation

_EXPECTED = ("wrong_assignor", "other_assignor", "hanging_assignor")
_SEEDS_FOR_ALL = 20
_MUTANT_SEEDS = range(700, 712)


@pytest.fixture(scope="module")
def assignors_struck() -> Counter[str]:
    """Faults by class, over all seeds."""
    return Counter()


def test_no_task_has_two_owners_and_all_have_one_in_the_end(assignor_seed: int, assignors_struck: Counter[str]) -> None:
    report = run_assignor_world(assignor_seed)

    assignors_struck.update(report.faults)
    assert not report.violations, explained(report, "--assignors")


def test_right_and_wrong_assignors_were_chosen(
    assignors_struck: Counter[str], record_property: Callable[[str, object], None], pytestconfig: pytest.Config
) -> None:
    record_property("to_show", f"faults that struck groups with assignors: {dict(assignors_struck)}")
    if pytestconfig.getoption("--seeds") < _SEEDS_FOR_ALL:
        pytest.skip("a few seeds do not have all of them")
    assert [name for name in _EXPECTED if not assignors_struck[name]] == []


@pytest.mark.slow
def test_a_seed_makes_the_same_run_again_in_another_process() -> None:
    assert run_elsewhere(run_assignor_world, 4) == run_assignor_world(4).digest


@pytest.mark.slow
@pytest.mark.parametrize("name", ASSIGNOR_MUTANTS)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ASSIGNOR_MUTANTS[name](monkeypatch)

    assert is_caught(run_assignor_world, _MUTANT_SEEDS, CAUGHT_BY.get(name)), "no seed saw anything wrong"
