"""A consumer group (KIP-848) of static and dynamic members in virtual time, under seeded faults.

`python -m tests.simulation --consumer SEED` runs one seed by hand.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from kafka_groups.testing.simulation.faults.seeded_faults import USUAL_FAULT_NAMES
from tests.simulation.consumer.deployment import OWN_FAULTS
from tests.simulation.consumer.mutants import CAUGHT_BY, MUTANTS
from tests.simulation.consumer.world import run_consumer_world
from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.reporting import explained

pytestmark = pytest.mark.simulation

_MUTANT_SEEDS = range(400, 412)
_RARELY_STRUCK = (
    *("lost_append", "broker_restarted", "process_stopped", "topic_created", "slow_revocation"),
    *("session_expired", "left_for_a_while", "older one fenced", "half_dead_connection"),
)
_COINCIDENCES = ("load interrupted", "request waiting at unload")
_NEVER_STRUCK = ("leader_moved", "lost_producer_response")
_OFTEN_STRUCK = [name for name in (*USUAL_FAULT_NAMES, *OWN_FAULTS) if name not in (*_RARELY_STRUCK, *_NEVER_STRUCK)]
_SEEDS_FOR_RARE_ONES = 100


@pytest.fixture(scope="module")
def consumer_struck() -> Counter[str]:
    """Faults by class, over all seeds."""
    return Counter()


def test_no_partition_has_two_owners_and_all_have_one_in_the_end(
    simulation_seed: int, consumer_struck: Counter[str]
) -> None:
    report = run_consumer_world(simulation_seed)

    consumer_struck.update(report.faults)
    assert not report.violations, explained(report, "--consumer")


@pytest.mark.slow  # one seed does not have all of them
def test_every_class_of_fault_struck(
    consumer_struck: Counter[str], record_property: Callable[[str, object], None], pytestconfig: pytest.Config
) -> None:
    record_property("to_show", f"faults that struck consumer groups: {dict(consumer_struck)}")
    assert [name for name in _OFTEN_STRUCK if not consumer_struck[name]] == []
    if pytestconfig.getoption("--seeds") >= _SEEDS_FOR_RARE_ONES:
        assert [name for name in (*_RARELY_STRUCK, *_COINCIDENCES) if not consumer_struck[name]] == []


@pytest.mark.slow
def test_a_seed_makes_the_same_run_again_in_another_process() -> None:
    assert run_elsewhere(run_consumer_world, 4) == run_consumer_world(4).digest


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)

    assert is_caught(run_consumer_world, _MUTANT_SEEDS, CAUGHT_BY.get(name)), "no seed saw anything wrong"
