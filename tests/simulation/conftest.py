"""How many seeds the simulation runs, and the count of the faults that struck in all of them."""

from collections import Counter

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed from 1 up, as many as `--seeds` says; for streams groups half as many."""
    if "simulation_seed" in metafunc.fixturenames:
        metafunc.parametrize("simulation_seed", range(1, metafunc.config.getoption("--seeds") + 1))
    if "streams_seed" in metafunc.fixturenames:
        metafunc.parametrize("streams_seed", range(1, max(metafunc.config.getoption("--seeds") // 2, 1) + 1))


@pytest.fixture(scope="session")
def struck() -> Counter[str]:
    """Faults by class, over all seeds of this run."""
    return Counter()
