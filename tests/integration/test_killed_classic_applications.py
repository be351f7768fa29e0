"""An application in a classic group is struck while records flow, with the blows of `test_killed_streams_applications`.

Exactly once, its committed results equal a computation; at least once, nothing is lost.
"""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.integration.test_exactly_once_applications import sums, unless_kafka_loses_markers, where_wrong
from tests.integration.test_killed_streams_applications import PATIENCE_S, WORKERS, Broker, Struck, running_broker
from tests.support.conditions import wait_until
from tests.support.members.counted_application import CountedApplication

pytestmark = pytest.mark.slow

SETTINGS = {"group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 1_000}
BROKERS = ("embedded", pytest.param("real", marks=[pytest.mark.real_kafka, pytest.mark.long]))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed of `--kill-seeds`. All but the first are for `.ci/long`."""
    if "seed" in metafunc.fixturenames:
        seeds = range(metafunc.config.getoption("--kill-seeds"))
        metafunc.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.long] if seed else []) for seed in seeds])


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """One of each kind."""
    with running_broker(request, SETTINGS) as made:
        yield made


@pytest.mark.timeout(400)
@pytest.mark.parametrize("broker", BROKERS, indirect=True)
def test_committed_results_equal_a_computation(broker: Broker, tmp_path: Path, seed: int) -> None:
    app = CountedApplication(broker.servers, tmp_path, protocol="classic")
    app.write(40)
    struck = Struck(app, broker, app.instance(WORKERS).run)
    with unless_kafka_loses_markers(app, broker) if broker.is_real else nullcontext():
        struck.strike_all(random.Random(seed))
        with app.instance().made() as last:
            wait_until(lambda: sums(app) >= app.totals().total(), 2 * PATIENCE_S, lambda: (last.state, last.error))
            assert not (wrong := where_wrong(app)), wrong
    assert app.logged() == app.totals()


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize("broker", BROKERS, indirect=True)
def test_nothing_is_lost_at_least_once(broker: Broker, tmp_path: Path, seed: int) -> None:
    app = CountedApplication(broker.servers, tmp_path, "at_least_once", protocol="classic")
    app.write(40)
    struck = Struck(app, broker, app.instance(WORKERS).run)
    struck.strike_all(random.Random(seed))
    with app.instance().made() as last:
        wait_until(lambda: Counter(app.logged()) >= app.totals(), 2 * PATIENCE_S, lambda: (last.state, last.error))
    assert app.committed() == len(app.lines)
