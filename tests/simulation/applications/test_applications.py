"""Streams applications in virtual time, under seeded faults: exactly once means what a plain computation says.

`python -m tests.simulation --application SEED` runs one seed by hand.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from kafka_groups.streams.workers import data_plane
from tests.simulation.applications.counting import run_counting_world, run_counting_world_at_least_once
from tests.simulation.applications.mutants import CAUGHT_BY, KEPT_MUTANTS, MUTANTS, SLOW_MUTANTS
from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.reporting import explained

pytestmark = pytest.mark.simulation

_ALWAYS_STRUCK = ("late_append", "slow_load", "lost_producer_response")
_OFTEN_STRUCK = ("process_killed", "process_stalled", "coordinator_moved", "leader_moved", "broken_connection")
_SEEDS_FOR_OFTEN_ONES = 20
_SEEDS_OF_CONTROL = range(500, 504)
_ENGINE_SEEDS = range(600, 603)
_MUTANT_SEEDS = range(413, 425)


@pytest.fixture(scope="module")
def applications_struck() -> Counter[str]:
    """Faults by class, over all seeds."""
    return Counter()


def test_committed_results_equal_a_computation(streams_seed: int, applications_struck: Counter[str]) -> None:
    report = run_counting_world(streams_seed)

    applications_struck.update(report.faults)
    assert not report.violations, explained(report, "--application")


def test_every_class_of_fault_struck(
    applications_struck: Counter[str], record_property: Callable[[str, object], None], pytestconfig: pytest.Config
) -> None:
    record_property("to_show", f"faults that struck streams applications: {dict(applications_struck)}")
    assert [name for name in _ALWAYS_STRUCK if not applications_struck[name]] == []
    if pytestconfig.getoption("--seeds") >= _SEEDS_FOR_OFTEN_ONES:
        assert [name for name in _OFTEN_STRUCK if not applications_struck[name]] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", _ENGINE_SEEDS)
def test_committed_results_equal_a_computation_on_our_own_engine(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_plane, "DEFAULT_PLANE", data_plane.ENGINE)
    report = run_counting_world(seed)
    assert not report.violations, explained(report, "--application")


@pytest.mark.slow
def test_at_least_once_repeats_results() -> None:
    reports = [run_counting_world_at_least_once(seed) for seed in _SEEDS_OF_CONTROL]
    assert any("the counts of" in violation for report in reports for violation in report.violations)


@pytest.mark.slow
def test_a_seed_makes_the_same_run_again_in_another_process() -> None:
    assert run_elsewhere(run_counting_world, 4) == run_counting_world(4).digest


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in SLOW_MUTANTS else []) for name in MUTANTS]
)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)

    run = partial(run_counting_world, default_store="in_memory")
    assert is_caught(run, _MUTANT_SEEDS, CAUGHT_BY.get(name)), "no seed saw anything wrong"


@pytest.mark.slow
@pytest.mark.parametrize("name", KEPT_MUTANTS)
def test_a_planted_defect_of_stores_on_disk_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    KEPT_MUTANTS[name](monkeypatch)

    run = partial(run_counting_world, default_store="lmdb")
    assert is_caught(run, _MUTANT_SEEDS), "no seed saw anything wrong"
