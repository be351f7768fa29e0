"""A streams group (KIP-1071) of static and dynamic members in virtual time, under seeded faults.

`python -m tests.simulation --streams SEED` runs one seed by hand.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from kafka_groups.testing.simulation.faults.seeded_faults import USUAL_FAULT_NAMES
from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.reporting import explained
from tests.simulation.streams.deployment import OWN_FAULTS
from tests.simulation.streams.mutants import CAUGHT_BY, MUTANTS
from tests.simulation.streams.world import run_streams_world

pytestmark = pytest.mark.simulation

_MUTANT_SEEDS = range(600, 612)
_NEVER_STRUCK = ("leader_moved", "lost_producer_response")
_COINCIDENCES = ("load interrupted", "request waiting at unload")
_EXPECTED = (*(name for name in USUAL_FAULT_NAMES if name not in _NEVER_STRUCK), *OWN_FAULTS, *_COINCIDENCES)
_SEEDS_FOR_ALL = 100


@pytest.fixture(scope="module")
def streams_struck() -> Counter[str]:
    """Faults by class, over all seeds."""
    return Counter()


def test_no_task_has_two_owners_and_all_have_one_in_the_end(streams_seed: int, streams_struck: Counter[str]) -> None:
    report = run_streams_world(streams_seed)

    streams_struck.update(report.faults)
    assert not report.violations, explained(report, "--streams")


def test_every_class_of_fault_struck(
    streams_struck: Counter[str], record_property: Callable[[str, object], None], pytestconfig: pytest.Config
) -> None:
    record_property("to_show", f"faults that struck streams groups: {dict(streams_struck)}")
    if pytestconfig.getoption("--seeds") < _SEEDS_FOR_ALL:
        pytest.skip("a few seeds do not have all of them")
    assert [name for name in _EXPECTED if not streams_struck[name]] == []


@pytest.mark.slow
def test_a_seed_makes_the_same_run_again_in_another_process() -> None:
    assert run_elsewhere(run_streams_world, 4) == run_streams_world(4).digest


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)

    assert is_caught(run_streams_world, _MUTANT_SEEDS, CAUGHT_BY.get(name)), "no seed saw anything wrong"
