"""A classic group of static and dynamic members in virtual time, under seeded faults.

`python -m tests.simulation --classic SEED` runs one seed by hand.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from kafka_groups.testing.simulation.faults.seeded_faults import USUAL_FAULT_NAMES
from tests.simulation.classic.deployment import OWN_FAULTS
from tests.simulation.classic.mutants import CAUGHT_BY, MUTANTS
from tests.simulation.classic.world import run_classic_world
from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.reporting import explained

pytestmark = pytest.mark.simulation

_MUTANT_SEEDS = range(400, 412)
_RARELY_STRUCK = ("refused_append", "half_dead_connection", "session_expired")
_NEVER_STRUCK = ("leader_moved", "lost_producer_response")
_OFTEN_STRUCK = [name for name in (*USUAL_FAULT_NAMES, *OWN_FAULTS) if name not in (*_RARELY_STRUCK, *_NEVER_STRUCK)]
_SEEDS_FOR_RARE_ONES = 100


@pytest.fixture(scope="module")
def classic_struck() -> Counter[str]:
    """Faults by class, over all seeds."""
    return Counter()


def test_one_member_of_each_instance_lives_and_nothing_moves(
    simulation_seed: int, classic_struck: Counter[str]
) -> None:
    report = run_classic_world(simulation_seed)

    classic_struck.update(report.faults)
    assert not report.violations, explained(report, "--classic")


@pytest.mark.slow  # one seed does not have all of them
def test_every_class_of_fault_struck(
    classic_struck: Counter[str], record_property: Callable[[str, object], None], pytestconfig: pytest.Config
) -> None:
    record_property("to_show", f"faults that struck classic groups: {dict(classic_struck)}")
    assert [name for name in _OFTEN_STRUCK if not classic_struck[name]] == []
    if pytestconfig.getoption("--seeds") >= _SEEDS_FOR_RARE_ONES:
        assert [name for name in (*_RARELY_STRUCK, "lost_append") if not classic_struck[name]] == []


@pytest.mark.slow
def test_a_seed_makes_the_same_run_again_in_another_process() -> None:
    assert run_elsewhere(run_classic_world, 4) == run_classic_world(4).digest


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)

    assert is_caught(run_classic_world, _MUTANT_SEEDS, CAUGHT_BY.get(name)), "no seed saw anything wrong"
