"""Retry topics in virtual time, under seeded faults: no record is lost, starts early, or comes to its end twice.

`python -m tests.simulation --retry-topics SEED` runs one seed by hand.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.reporting import explained
from tests.simulation.retry_topics.retry_world import run_retry_world
from tests.unit.share.workers.rules.retry_topics.waiting_defects import WAITING_DEFECTS

pytestmark = pytest.mark.simulation

_SEEDS = range(1, 7)
_SEEDS_FOR_ALL = 10
_STRUCK = ("killed", "deployed", "topic outage", "write dropped", "not confirmed", "leader_moved", "dead letters")
_DEFECTS = (
    "records_run_when_the_delay_of_their_topic_is_over",
    "forwarding_forgets_the_due_time",
    "due_records_are_forgotten",
)


@pytest.fixture(scope="module")
def retry_topics_struck() -> Counter[str]:
    """Faults by class, over all seeds."""
    return Counter()


@pytest.mark.timeout(600)
def test_every_record_comes_to_its_end_when_it_is_due(
    retry_topics_seed: int, retry_topics_struck: Counter[str]
) -> None:
    report = run_retry_world(retry_topics_seed)

    retry_topics_struck.update({**report.faults, "runs": 1})
    assert not report.violations, explained(report, "--retry-topics")
    assert report.produced > 40


def test_every_class_of_fault_struck_retry_topics(
    retry_topics_struck: Counter[str], record_property: Callable[[str, object], None]
) -> None:
    record_property("to_show", f"faults that struck retry topics: {dict(retry_topics_struck)}")
    if retry_topics_struck["runs"] >= _SEEDS_FOR_ALL:
        assert [name for name in _STRUCK if not retry_topics_struck[name]] == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_seed_makes_the_same_run_of_retry_topics_in_another_process() -> None:
    digest = run_retry_world(2).digest

    assert run_elsewhere(run_retry_world, 2, hash_seed=1, collector="set_threshold(500)") == digest


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", _DEFECTS)
def test_a_planted_defect_of_retry_topics_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    WAITING_DEFECTS[name](monkeypatch)

    assert is_caught(run_retry_world, _SEEDS, None), "no seed saw anything wrong"
