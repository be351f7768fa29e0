"""Random scripts by the seed on Java's driver and ours: the same comes out of each topology."""

import pytest

from tests.topologies.allowed import NOT_COMPARED, NOT_RESTARTED, without_real_times, without_row_numbers
from tests.topologies.catalogue import TWINS
from tests.topologies.golden import golden_names, read_golden
from tests.topologies.oracle import CACHED, UNCACHED, JavaOracle
from tests.topologies.scripts import Restart, Script, script_for, with_restarts
from tests.topologies.shrinking import shrunk, written_out
from tests.topologies.twin_runs import differences, run_twin

FEW_SEEDS, MANY_SEEDS, RECORDS = 2, 20, 100
VERSIONED_RECORDS = 500
"""Late records, tombstones and expiry have to meet in a versioned store."""
FEW_RESTARTS, MANY_RESTARTS = 1, 10
NAMES = [name for name in golden_names() if not read_golden(name).refused]
WITH_STORES = [name for name in NAMES if name not in NOT_RESTARTED and TWINS[name].build().graph.stores]

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.xdist_group("java_topologies")]


def records_of(name: str) -> int:
    return VERSIONED_RECORDS if name.startswith("versioned_") else RECORDS


def differing(oracle: JavaOracle, name: str, script: Script, *, is_cached: bool) -> list[str]:
    java = oracle.run(name, script, CACHED if is_cached else UNCACHED)
    python = run_twin(TWINS[name], script, is_cached=is_cached)
    if Restart() in script:
        java, python = (without_row_numbers(TWINS[name], run) for run in (java, python))
    return differences(without_real_times(name, java), without_real_times(name, python))


@pytest.mark.parametrize("name", NAMES)
def test_java_and_python_agree(java_oracle: JavaOracle, name: str, request: pytest.FixtureRequest) -> None:
    inputs = java_oracle.describe(name).inputs
    for seed in range(MANY_SEEDS if request.config.getoption("--long") else FEW_SEEDS):
        compare(java_oracle, name, script_for(name, seed, inputs, records_of(name)), seed)


@pytest.mark.parametrize("name", WITH_STORES)
def test_java_and_python_agree_after_restarts(
    java_oracle: JavaOracle, name: str, request: pytest.FixtureRequest
) -> None:
    inputs = java_oracle.describe(name).inputs
    for seed in range(MANY_RESTARTS if request.config.getoption("--long") else FEW_RESTARTS):
        compare(java_oracle, name, with_restarts(seed, script_for(name, seed, inputs, records_of(name))), seed)


def compare(oracle: JavaOracle, name: str, script: Script, seed: int) -> None:
    for is_cached in (False, True):
        if (name, is_cached) not in NOT_COMPARED and differing(oracle, name, script, is_cached=is_cached):
            pytest.fail(report(oracle, name, script, seed=seed, is_cached=is_cached))


def report(oracle: JavaOracle, name: str, script: Script, *, seed: int, is_cached: bool) -> str:
    """The shortest script that both answer differently, and how."""
    short = shrunk(script, lambda tried: bool(differing(oracle, name, tried, is_cached=is_cached)))
    told = "\n".join(differing(oracle, name, short, is_cached=is_cached))
    caches = "with" if is_cached else "without"
    return f"{name} {caches} caches differs at seed {seed}:\n{told}\nwith\n{written_out(short)}"
