"""Processes of a worker are killed, hang and stand still, sinks and brokers go away: nothing is lost.

A seed says what strikes, in which order, and which records are bad. The handler journals what it does, so that the
verdict rests on what happened and not on what the worker believes.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.share.workers.worker import EXIT_HUNG
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.workers.journaled_worker import Nature
from tests.support.workers.worker_brokers import WorkerBroker, kafka_broker
from tests.support.workers.worker_fleet import KILLED
from tests.support.workers.worker_plans import BlowKind, plan_of
from tests.support.workers.worker_runs import StruckWorker
from tests.support.workers.worker_verdicts import summary, violations

pytestmark = pytest.mark.slow

SEED_IN_CI = 2
"""In this one the broker itself is killed."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each broker and each seed of `--worker-seeds`."""
    if "seed" in metafunc.fixturenames:
        seeds = range(metafunc.config.getoption("--worker-seeds"))
        on_both = [*(("embedded", seed) for seed in seeds), *(on_kafka(seed) for seed in seeds)]
        metafunc.parametrize(("kind", "seed"), on_both)


def on_kafka(seed: int) -> Any:
    """A seed on a real Kafka. Each takes one to two minutes, so most are for `.ci/long`."""
    later = [] if seed == SEED_IN_CI else [pytest.mark.long]
    return pytest.param("kafka", seed, marks=[pytest.mark.real_kafka, *later])


@pytest.fixture(scope="module")
def mortal_kafka(real_kafka: KafkaProcess) -> Iterator[WorkerBroker]:
    """A real Kafka that may be killed."""
    with KafkaProcess(real_kafka.version) as kafka, kafka_broker(kafka, is_shared=False) as broker:
        yield broker


@pytest.mark.timeout(400)
def test_nothing_is_lost(
    request: pytest.FixtureRequest,
    kind: str,
    seed: int,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    plan = plan_of(seed, is_real=kind == "kafka")
    struck = StruckWorker(request.getfixturevalue(f"mortal_{kind}"), plan, tmp_path)
    records = struck.run()
    figures = f"{summary(records)}, processes ended {dict(struck.fleet.statuses)}"
    record_property("to_show", f"{kind} {seed}, {plan.theme.name}: {figures}")
    assert violations(records, plan) == [], (plan, figures, struck.fleet.log_tail())
    expected = {KILLED} | ({EXIT_HUNG} if Nature.HANGS in plan.poisons and not plan.is_async else set())
    struck.fleet.check_ends(expected, had_outages=BlowKind.BROKER_OUTAGE in plan.blows)
