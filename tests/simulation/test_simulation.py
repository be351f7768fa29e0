"""The whole cluster and its clients in virtual time, under seeded faults."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.simulation.mutants import MUTANTS
from tests.simulation.seeded_faults import CLASSES
from tests.simulation.world import Report, run_world

pytestmark = pytest.mark.simulation

_MUTANT_SEEDS = range(100, 108)


def _explain(seed: int, report: Report) -> str:
    shown = "\n  ".join(report.violations[:10])
    return (
        f"seed {seed} (run it again: python -m tests.simulation {seed}): {len(report.violations)} violations\n  {shown}"
    )


def test_nothing_is_lost_or_doubly_held_whatever_strikes(simulation_seed: int, struck: Counter[str]) -> None:
    report = run_world(simulation_seed)

    struck.update(report.faults)
    assert not report.violations, _explain(simulation_seed, report)
    assert report.produced > 200


def test_every_class_of_fault_struck(struck: Counter[str], record_property: Callable[[str, object], None]) -> None:
    record_property("to_show", f"faults that struck the simulation: {dict(struck)}")
    assert [name for name in CLASSES if not struck[name]] == []


def test_a_seed_makes_the_same_run_again() -> None:
    assert run_world(7) == run_world(7)


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)

    for seed in _MUTANT_SEEDS:
        try:
            if run_world(seed).violations:
                return
        except Exception:
            return
    pytest.fail(f"{name}: {len(_MUTANT_SEEDS)} seeds saw nothing wrong")
