"""Transactional producers in virtual time, under seeded faults.

`python -m tests.simulation --transactional SEED` runs one seed by hand.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from kafka_groups.testing.simulation.faults.seeded_faults import USUAL_FAULT_NAMES
from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.reporting import explained
from tests.simulation.transactions.mutants import CAUGHT_BY, MUTANTS
from tests.simulation.transactions.world import OWN_FAULTS, run_transactional_world

pytestmark = pytest.mark.simulation

_MUTANT_SEEDS = range(400, 412)
_NEVER_STRUCK = ("coordinator_moved", "lost_heartbeat_response", "repeated_heartbeat")
_RARELY_STRUCK = (
    *("half_dead_connection", "broker_restarted", "process_stopped", "process_stalled", "slow_broker"),
    "leader_moved",
)
_OFTEN_STRUCK = [name for name in (*USUAL_FAULT_NAMES, *OWN_FAULTS) if name not in (*_RARELY_STRUCK, *_NEVER_STRUCK)]
_SEEDS_FOR_RARE_ONES = 100


@pytest.fixture(scope="module")
def transactions_struck() -> Counter[str]:
    """Faults by class, over all seeds."""
    return Counter()


def test_readers_see_committed_transactions_whole_and_nothing_else(
    simulation_seed: int, transactions_struck: Counter[str]
) -> None:
    report = run_transactional_world(simulation_seed)

    transactions_struck.update(report.faults)
    assert not report.violations, explained(report, "--transactional")
    assert report.faults["committed"]


@pytest.mark.slow  # one seed does not have all of them
def test_every_class_of_fault_struck(
    transactions_struck: Counter[str], record_property: Callable[[str, object], None], pytestconfig: pytest.Config
) -> None:
    record_property("to_show", f"faults that struck transactional producers: {dict(transactions_struck)}")
    assert [name for name in _OFTEN_STRUCK if not transactions_struck[name]] == []
    if pytestconfig.getoption("--seeds") >= _SEEDS_FOR_RARE_ONES:
        assert [name for name in (*_RARELY_STRUCK, "lost_append") if not transactions_struck[name]] == []


@pytest.mark.slow
def test_a_seed_makes_the_same_run_again_in_another_process() -> None:
    assert run_elsewhere(run_transactional_world, 4) == run_transactional_world(4).digest


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)

    assert is_caught(run_transactional_world, _MUTANT_SEEDS, CAUGHT_BY.get(name)), "no seed saw anything wrong"
