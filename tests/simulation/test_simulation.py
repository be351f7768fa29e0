"""The whole cluster and its clients in virtual time, under seeded faults."""

import pytest

from tests.simulation.mutants import MUTANTS
from tests.simulation.seeded_faults import CLASSES
from tests.simulation.world import Report, run_world

_MUTANT_SEEDS = range(100, 108)


def _explain(seed: int, report: Report) -> str:
    shown = "\n  ".join(report.violations[:10])
    return (
        f"seed {seed} (run it again: python -m tests.simulation {seed}): {len(report.violations)} violations\n  {shown}"
    )


def test_nothing_is_lost_or_doubly_held_whatever_strikes(
    simulation_seeds: range, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = {seed: run_world(seed) for seed in simulation_seeds}

    failed = [_explain(seed, report) for seed, report in reports.items() if report.violations]
    struck = {name: sum(report.faults[name] for report in reports.values()) for name in CLASSES}
    with capsys.disabled():
        print(f"\n{len(reports)} seeds, faults that struck: {struck}")  # noqa: T201 - the count is asked for
    assert not failed, "\n".join(failed)
    assert all(struck.values()), f"a class of fault never struck: {struck}"
    assert all(report.produced > 200 for report in reports.values())


def test_a_seed_makes_the_same_run_again() -> None:
    assert run_world(7) == run_world(7)


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
