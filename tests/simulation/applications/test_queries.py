"""Queries of streams applications in virtual time, while tasks move and processes are killed and start again.

`python -m tests.simulation --queries SEED` runs one seed by hand.
"""

from functools import partial

import pytest

from tests.simulation.applications.mutants import QUERIES_CAUGHT_BY, QUERY_MUTANTS
from tests.simulation.applications.queries import QueryCounts, run_queried_world
from tests.simulation.elsewhere import is_caught
from tests.simulation.reporting import explained

pytestmark = [pytest.mark.simulation, pytest.mark.slow]

_SEEDS = [*range(1, 11), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(11, 201))]
_MUTANT_SEEDS = range(1, 17)


@pytest.mark.parametrize("seed", _SEEDS)
def test_each_answer_is_right_for_a_committed_moment_or_an_error(seed: int) -> None:
    counts = QueryCounts()
    report = run_queried_world(seed, counts=counts)
    assert not report.violations, explained(report, "--queries")
    assert min(counts.answers, counts.errors) > 100, "tasks have moved, and between their moves they have answered"


@pytest.mark.parametrize("name", QUERY_MUTANTS)
def test_a_planted_defect_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    QUERY_MUTANTS[name](monkeypatch)
    run = partial(run_queried_world, default_store="lmdb")
    assert is_caught(run, _MUTANT_SEEDS, QUERIES_CAUGHT_BY.get(name)), "no seed saw anything wrong"
