"""Applications whose stores are on disk are struck: they continue with their files, and none is thrown away.

Beside the one that is struck runs another instance with a standby of each of its tasks, so that tasks move to and fro.
Its blows are those of `test_killed_streams_applications`.
"""

import multiprocessing
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest

from tests.integration.test_exactly_once_applications import (
    BROKERS,
    stored,
    sums,
    unless_kafka_loses_markers,
    where_wrong,
    wrong_results,
)
from tests.integration.test_killed_streams_applications import (
    PATIENCE_S,
    SHORT_SESSIONS,
    WORKERS,
    Broker,
    Struck,
    running_broker,
)
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import PARTITIONS, Guarantee
from tests.support.members.counted_application import CountedApplication, CountedInstance

pytestmark = pytest.mark.slow

GUARANTEES: tuple[Guarantee, ...] = ("at_least_once", "exactly_once_v2")
WIPED = "are deleted, because"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed of `--kill-seeds`; without `--long` there is one."""
    if "seed" in metafunc.fixturenames:
        is_long = metafunc.config.getoption("--long")
        metafunc.parametrize("seed", range(metafunc.config.getoption("--kill-seeds") if is_long else 1))


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """One of each kind, whose groups have a standby of each task."""
    with running_broker(request, {**SHORT_SESSIONS, "group.streams.num.standby.replicas": 1}) as made:
        yield made


@pytest.mark.timeout(400)
@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("broker", BROKERS, indirect=True)
def test_files_outlast_blows(
    broker: Broker, tmp_path: Path, capfd: pytest.CaptureFixture[str], guarantee: Guarantee, seed: int
) -> None:
    app = CountedApplication(broker.servers, tmp_path, guarantee)
    app.write(40)
    is_exact = guarantee == "exactly_once_v2"
    excused = unless_kafka_loses_markers(app, broker) if broker.is_real and is_exact else nullcontext()
    with excused:
        with ExitStack() as stack:
            _run_beside(stack, app.instance(zone="beside", default_store="lmdb"))
            struck = Struck(app, broker, app.instance(WORKERS, "struck", "lmdb").run)
            struck.strike_all(random.Random(seed))
        with app.instance(zone="struck", default_store="lmdb").made() as last:
            if is_exact:
                wait_until(lambda: sums(app) >= app.totals().total(), 2 * PATIENCE_S, lambda: wrong_results(app))
                assert not (wrong := where_wrong(app)), wrong
            wait_until(lambda: Counter(app.logged()) >= app.totals(), 2 * PATIENCE_S, app.logged)
            wait_until(lambda: stored(last) == app.logged(), 2 * PATIENCE_S, lambda: (last.state, stored(last)))
        if is_exact:
            assert app.logged() == app.totals()
    assert len(list(tmp_path.glob("*/app-*/tasks/*/*/lmdb/data.mdb"))) > PARTITIONS, "both instances have files"
    assert WIPED not in "".join(capfd.readouterr())


def _run_beside(stack: ExitStack, instance: CountedInstance) -> None:
    process = multiprocessing.get_context("spawn").Process(target=instance.run)
    process.start()
    stack.callback(process.join)
    stack.callback(process.terminate)
