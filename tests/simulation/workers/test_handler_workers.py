"""Handler workers in virtual time, under seeded faults: nothing is lost, and nothing is settled before its time.

`python -m tests.simulation --workers SEED` runs one seed by hand.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.reporting import explained
from tests.simulation.workers.mutants import CAUGHT_BY, MUTANTS, SEEDS
from tests.simulation.workers.world import run_workers_world

pytestmark = pytest.mark.simulation

_ALWAYS_STRUCK = ("sink outage", "letters refused", "everything runs", "outages runs", "kills runs")
_OFTEN_STRUCK = (
    *("process_killed", "process_stopped", "process_stalled", "process_failed", "leader_moved", "broker_killed"),
    *("locks runs", "letter refused", "letter not confirmed", "archived", "late_append", "broken_connection"),
    *("runs with several handlers", "result written"),
)
_DEFECTS_IN_CI = 5
_SEEDS_FOR_ALWAYS, _SEEDS_FOR_OFTEN_ONES = 4, 40


@pytest.fixture(scope="module")
def workers_struck() -> Counter[str]:
    """Faults by class, over all seeds."""
    return Counter()


def test_every_record_has_a_good_end_whatever_strikes(workers_seed: int, workers_struck: Counter[str]) -> None:
    report = run_workers_world(workers_seed)

    workers_struck.update(report.faults)
    assert not report.violations, explained(report, "--workers")
    assert report.produced > 40


def test_every_class_of_fault_struck(
    workers_struck: Counter[str],
    record_property: Callable[[str, object], None],
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
) -> None:
    record_property("to_show", f"faults that struck handler workers: {dict(workers_struck)}")
    runs = sum(workers_struck[f"{name} runs"] for name in ("everything", "locks", "outages", "kills"))
    wanted = [(_SEEDS_FOR_ALWAYS, _ALWAYS_STRUCK), (_SEEDS_FOR_OFTEN_ONES, _OFTEN_STRUCK)]
    assert [name for least, names in wanted if runs >= least for name in names if not workers_struck[name]] == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_seed_makes_the_same_run_again_in_another_process() -> None:
    """There sets have another order, objects have other addresses, and garbage is collected at other moments."""
    digest = run_workers_world(4).digest

    assert run_elsewhere(run_workers_world, 4, hash_seed=1, collector="set_threshold(500)") == digest
    assert run_elsewhere(run_workers_world, 4, hash_seed=2, collector="disable()") == digest


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if number < _DEFECTS_IN_CI else pytest.mark.long)
        for number, name in enumerate(MUTANTS)
    ],
)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)

    assert is_caught(run_workers_world, SEEDS, CAUGHT_BY.get(name)), "no seed saw anything wrong"
