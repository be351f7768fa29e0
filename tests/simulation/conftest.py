"""How many seeds the simulation runs."""

import pytest


@pytest.fixture
def simulation_seeds(request: pytest.FixtureRequest) -> range:
    """Seeds from 1 up, as many as `--seeds` says."""
    count: int = request.config.getoption("--seeds")
    return range(1, count + 1)
