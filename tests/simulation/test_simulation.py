"""The whole cluster and its clients in virtual time, under seeded faults."""

import os
import random
import secrets
import threading
import uuid
from collections import Counter
from collections.abc import Callable

import pytest

from kafka_groups.net.clock import SystemClock
from kafka_groups.testing.simulation.faults.seeded_faults import USUAL_FAULT_NAMES
from kafka_groups.testing.simulation.lifetimes import end_lifetimes
from kafka_groups.testing.simulation.trace import Trace
from tests.simulation.coincidences import COINCIDENCES
from tests.simulation.elsewhere import is_caught, run_elsewhere
from tests.simulation.member import TOO_SLOW
from tests.simulation.mutants import MUTANTS
from tests.simulation.reporting import explained
from tests.simulation.world import run_world

pytestmark = pytest.mark.simulation

_MUTANT_SEEDS = range(100, 116)
_SEEDS_FOR_COINCIDENCES, _OFTEN = 100, 20
_RARELY_STRUCK = ("refused_append", "lost_append")
_NEVER_STRUCK = ("lost_producer_response",)
_OFTEN_STRUCK = [name for name in USUAL_FAULT_NAMES if name not in (*_RARELY_STRUCK, *_NEVER_STRUCK)]
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


def refused(name: str) -> Callable[..., object]:
    def refuse(*_arguments: object, **_keywords: object) -> object:
        raise AssertionError(f"{name} differs from run to run")

    return refuse


def test_nothing_is_lost_or_doubly_held_whatever_strikes(simulation_seed: int, struck: Counter[str]) -> None:
    report = run_world(simulation_seed)

    struck.update(report.faults)
    assert not report.violations, explained(report)
    assert report.produced > 200


@pytest.mark.slow  # one seed does not have all of them
def test_every_class_of_fault_struck(struck: Counter[str], record_property: Callable[[str, object], None]) -> None:
    record_property("to_show", f"faults that struck the simulation: {dict(struck)}")
    assert [name for name in (*_OFTEN_STRUCK, TOO_SLOW, "large fetch") if not struck[name]] == []


def test_every_coincidence_happened_often_enough(struck: Counter[str], pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--seeds") < _SEEDS_FOR_COINCIDENCES:
        pytest.skip("a few seeds do not have all of them")
    assert {name: struck[name] for name in COINCIDENCES if struck[name] < _OFTEN} == {}
    assert [name for name in _RARELY_STRUCK if not struck[name]] == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_seed_makes_the_same_run_again_in_another_process() -> None:
    """There sets have another order, objects have other addresses, and garbage is collected at other moments."""
    digest = run_world(4).digest

    assert run_elsewhere(run_world, 4, hash_seed=1, collector="set_threshold(500)") == digest
    assert run_elsewhere(run_world, 4, hash_seed=2, collector="disable()") == digest


@pytest.mark.slow
def test_runs_read_no_clock_and_draw_no_number_but_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    end_lifetimes()  # of runs before: that takes a thread
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


@pytest.mark.long
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)

    assert is_caught(run_world, _MUTANT_SEEDS), f"{name}: {len(_MUTANT_SEEDS)} seeds saw nothing wrong"
