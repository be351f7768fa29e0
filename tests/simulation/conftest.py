"""How many seeds the simulation runs, and the count of the faults that struck in all of them."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

import pytest

_COUNTS: Final[Mapping[str, Callable[[int], int]]] = {
    "simulation_seed": lambda seeds: seeds,
    "streams_seed": lambda seeds: max(seeds // 2, 1),
    "at_least_once_seed": lambda seeds: max(seeds // 4, 1),
    "truncated_seed": lambda seeds: max(seeds // 4, 1),
    "classic_seed": lambda seeds: min(seeds, 200),
    "assignor_seed": lambda seeds: min(20 * seeds // 9 or 1, 500),  # a second each: 44 of them with the 20 of .ci/run
    "letters_seed": lambda seeds: min(max(seeds, 1), 100),
    "retry_topics_seed": lambda seeds: min(max(seeds // 2, 1), 200),  # a few seconds each: 10 with the 20 of .ci/run
    "workers_seed": lambda seeds: min(max(2 * seeds // 9, 1), 200),  # four seconds each: 4 with the 20 of .ci/run
}
"""The number of seeds of each kind."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed from 1 up. `--seeds` says how many; see `_COUNTS` for those that have others."""
    seeds = metafunc.config.getoption("--seeds")
    for name, count in _COUNTS.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, range(1, count(seeds) + 1))


@pytest.fixture(scope="session")
def struck() -> Counter[str]:
    """Faults by class, over all seeds of this run."""
    return Counter()
