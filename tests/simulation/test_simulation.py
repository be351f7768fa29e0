"""The whole cluster and its clients in virtual time, under seeded faults."""

import os
import random
import secrets
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.net.clock import SystemClock
from tests.simulation.coincidences import COINCIDENCES
from tests.simulation.mutants import MUTANTS
from tests.simulation.seeded_faults import CLASSES
from tests.simulation.trace import Trace
from tests.simulation.world import Report, run_world

pytestmark = pytest.mark.simulation

_MUTANT_SEEDS = range(100, 108)
_SEEDS_FOR_COINCIDENCES, _OFTEN = 200, 20
_ROOT = Path(__file__).parents[2]
_OUTSIDE: tuple[tuple[object, str], ...] = (
    (SystemClock, "now_ms"),
    (SystemClock, "wall_ms"),
    (os, "urandom"),
    (uuid, "uuid1"),
    (uuid, "uuid4"),
    (random, "random"),
    (random, "choice"),
    (random, "randrange"),
    (secrets, "token_bytes"),
    (threading.Thread, "start"),
)
"""What differs from run to run, whatever the seed."""


def _explain(seed: int, report: Report) -> str:
    shown = "\n  ".join(report.violations[:10])
    return (
        f"seed {seed} (run it again: python -m tests.simulation {seed}): {len(report.violations)} violations\n  {shown}"
    )


def run_elsewhere(seed: int, *, hash_seed: int, collector: str) -> str:
    """The digest of a run in a process of its own, the first that runs there."""
    program = (
        f"import gc; gc.{collector}; from tests.simulation.world import run_world; print(run_world({seed}).digest)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=100,
    )
    return ended.stdout.strip()


def refused(name: str) -> Callable[..., object]:
    def refuse(*_arguments: object, **_keywords: object) -> object:
        raise AssertionError(f"{name} differs from run to run")

    return refuse


def test_nothing_is_lost_or_doubly_held_whatever_strikes(simulation_seed: int, struck: Counter[str]) -> None:
    report = run_world(simulation_seed)

    struck.update(report.faults)
    struck["large fetch"] += report.large_fetches
    assert not report.violations, _explain(simulation_seed, report)
    assert report.produced > 200


def test_every_class_of_fault_struck(struck: Counter[str], record_property: Callable[[str, object], None]) -> None:
    record_property("to_show", f"faults that struck the simulation: {dict(struck)}")
    assert [name for name in (*CLASSES, "large fetch") if not struck[name]] == []


def test_every_coincidence_happened_often_enough(struck: Counter[str], pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--seeds") < _SEEDS_FOR_COINCIDENCES:
        pytest.skip("a few seeds do not have all of them")
    assert {name: struck[name] for name in COINCIDENCES if struck[name] < _OFTEN} == {}
    assert [name for name in ("lost append", "refused append") if not struck[name]] == []


def test_a_seed_makes_the_same_run_again_in_another_process() -> None:
    """There sets have another order, objects have other addresses, and garbage is collected at other moments."""
    digest = run_world(4).digest

    assert run_elsewhere(4, hash_seed=1, collector="set_threshold(500)") == digest
    assert run_elsewhere(4, hash_seed=2, collector="disable()") == digest


def test_runs_read_no_clock_and_draw_no_number_but_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name in _OUTSIDE:
        monkeypatch.setattr(owner, name, refused(name))

    assert run_world(7).violations == ()


def test_digests_differ_if_one_event_does() -> None:
    def digest(*events: object) -> str:
        trace = Trace(lambda: 1000.0)
        for event in events:
            trace.note(event)
        return trace.digest

    assert digest("a", "b") == digest("a", "b")
    assert len({digest("a", "b"), digest("b", "a"), digest("a"), digest("ab")}) == 4


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
