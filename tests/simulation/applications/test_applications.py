"""Streams applications in virtual time, under seeded faults: exactly once means what a plain computation says.

`python -m tests.simulation --application SEED` runs one seed by hand, with `--at-least-once` without transactions, and
with `--truncated` while the source loses records.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.testing import SimulationReport, simulate_streams
from kafka_groups.testing.simulation.streams.kept_engines import DormantTasks
from tests.simulation.applications.counting import (
    build,
    run_classic_application,
    run_counting_world,
    run_counting_world_at_least_once,
)
from tests.simulation.applications.mutants import CAUGHT_BY, KEPT_MUTANTS, MUTANTS, SLOW_MUTANTS
from tests.simulation.applications.named_states import NamedStates
from tests.simulation.applications.plane_mutants import CAUGHT_AT_LEAST_ONCE, OF_PRODUCERS, OF_TRUNCATED_LOGS
from tests.simulation.applications.truncated import run_truncated_world, run_truncated_world_at_least_once
from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.reporting import explained

pytestmark = pytest.mark.simulation

_ALWAYS_STRUCK = ("late_append", "slow_load", "lost_producer_response")
_OFTEN_STRUCK = (
    *("process_killed", "process_stalled", "coordinator_moved", "leader_moved", "broken_connection"),
    *("half_dead_connection", "broker_killed", "broker_restarted", "producers_forgotten"),
)
_SEEDS_FOR_OFTEN_ONES = 20
_SEEDS_OF_CONTROL = range(500, 504)
_MUTANT_SEEDS = range(413, 425)


@pytest.fixture(scope="module")
def applications_struck() -> Counter[str]:
    """Faults by class, over all seeds."""
    return Counter()


def test_committed_results_equal_a_computation(streams_seed: int, applications_struck: Counter[str]) -> None:
    report = run_counting_world(streams_seed)

    applications_struck.update(report.faults)
    assert not report.violations, explained(report, "--application")


@pytest.mark.slow
def test_nothing_is_missing_at_least_once(at_least_once_seed: int, applications_struck: Counter[str]) -> None:
    report = run_counting_world_at_least_once(at_least_once_seed)

    applications_struck.update(report.faults)
    assert not report.violations, explained(report, "--at-least-once")


@pytest.mark.slow
def test_what_a_truncated_source_has_left_is_counted(truncated_seed: int, applications_struck: Counter[str]) -> None:
    run = run_truncated_world if truncated_seed % 2 else run_truncated_world_at_least_once
    report = run(truncated_seed)

    applications_struck.update(report.faults)
    assert not report.violations, explained(report, "--truncated")


@pytest.mark.slow
def test_results_of_an_application_in_a_classic_group(classic_seed: int, applications_struck: Counter[str]) -> None:
    report = run_classic_application(classic_seed)

    applications_struck.update(report.faults)
    assert not report.violations, explained(report, "--classic-application")


def run_of_two_workers(seed: int) -> tuple[SimulationReport, NamedStates]:
    """Run one seed in a classic group, with two workers in each process and stores on disk."""
    named = NamedStates({"lines": "0", "counting-words-repartition": "1"})
    report = run_counting_world(seed, default_store="lmdb", protocol="classic", workers=2, named=named)
    return report, named


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_one_worker_of_a_process_names_each_state(seed: int) -> None:
    report, named = run_of_two_workers(seed)
    assert not report.violations, explained(report, "--classic-application")
    assert named.named


@pytest.mark.slow
def test_a_state_that_each_worker_names_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DormantTasks, "claim", lambda self: self._engines.positions_left())
    _, named = run_of_two_workers(0)
    assert any("2 workers of process" in each for each in named.violations)


def test_every_class_of_fault_struck(
    applications_struck: Counter[str], record_property: Callable[[str, object], None], pytestconfig: pytest.Config
) -> None:
    record_property("to_show", f"faults that struck streams applications: {dict(applications_struck)}")
    assert [name for name in _ALWAYS_STRUCK if not applications_struck[name]] == []
    if pytestconfig.getoption("--seeds") >= _SEEDS_FOR_OFTEN_ONES:
        assert [name for name in _OFTEN_STRUCK if not applications_struck[name]] == []


def test_a_wrong_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"Invalid value -1 for producer\.linger\.ms"):
        simulate_streams(build, {}, 1, config={"producer.linger.ms": -1})


@pytest.mark.slow
def test_sources_were_truncated(applications_struck: Counter[str]) -> None:
    assert applications_struck["source truncated"]


@pytest.mark.slow
def test_at_least_once_repeats_results() -> None:
    run = partial(run_counting_world_at_least_once, promised="exactly_once_v2")
    assert any("the counts of" in violation for seed in _SEEDS_OF_CONTROL for violation in run(seed).violations)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_PRODUCERS)
def test_a_planted_defect_is_caught_at_least_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    OF_PRODUCERS[name](monkeypatch)

    found = is_caught(run_counting_world_at_least_once, _MUTANT_SEEDS, CAUGHT_AT_LEAST_ONCE.get(name))
    assert found, "no seed saw anything wrong"


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_TRUNCATED_LOGS)
def test_a_planted_defect_of_truncated_logs_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    OF_TRUNCATED_LOGS[name](monkeypatch)

    assert is_caught(run_truncated_world, _MUTANT_SEEDS), "no seed saw anything wrong"
