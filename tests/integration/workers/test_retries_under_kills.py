"""Processes are killed while records wait in retry topics: nothing is lost, and nothing starts before it is due."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.workers.retried_runs import KilledRetries, kill_plan_of
from tests.support.workers.retried_verdicts import ended_while_waiting, summary_of_retries, violations_of_retries
from tests.support.workers.retried_worker import RetriedStep
from tests.support.workers.worker_brokers import WorkerBroker, kafka_broker
from tests.support.workers.worker_fleet import KILLED

pytestmark = pytest.mark.slow

SHORT_HEARTBEATS = {"group.share.min.heartbeat.interval.ms": "100"}
"""With Kafka's own, members die before they hold anything."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each broker and each seed: half as many as `--worker-seeds`, as each takes minutes."""
    if "seed" in metafunc.fixturenames:
        seeds = range((metafunc.config.getoption("--worker-seeds") + 1) // 2)
        metafunc.parametrize(
            ("kind", "seed"), [on_broker(kind, seed) for kind in ("embedded", "kafka") for seed in seeds]
        )


def on_broker(kind: str, seed: int) -> Any:
    """A seed on a broker. All but the first are for `.ci/long`."""
    real = [pytest.mark.real_kafka] if kind == "kafka" else []
    later = [pytest.mark.long] if seed else []
    return pytest.param(kind, seed, marks=[*real, *later])


@pytest.fixture(scope="module")
def mortal_kafka(real_kafka: KafkaProcess) -> Iterator[WorkerBroker]:
    """A real Kafka that may be killed, with short heartbeats."""
    with KafkaProcess(real_kafka.version, SHORT_HEARTBEATS) as kafka, kafka_broker(kafka, is_shared=False) as broker:
        yield broker


@pytest.mark.timeout(600)
def test_no_record_is_lost_whatever_is_killed(
    request: pytest.FixtureRequest,
    kind: str,
    seed: int,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    plan = kill_plan_of(seed, is_real=kind == "kafka")
    run = KilledRetries(request.getfixturevalue(f"mortal_{kind}"), plan, tmp_path)
    records = run.run()
    figures = f"{summary_of_retries(records)}, processes ended {dict(run.fleet.statuses)}"
    record_property("to_show", f"{kind} {seed}, {plan.processes} processes: {figures}")
    assert violations_of_retries(records) == [], (plan, figures, run.fleet.log_tail())
    assert any(entry.delivery_count > 1 for entry in records.entries_with(RetriedStep.WAIT)), "nothing was struck"
    run.fleet.check_ends({KILLED}, had_outages=bool(plan.broker_outages))


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["embedded", pytest.param("kafka", marks=pytest.mark.real_kafka)])
def test_records_never_get_their_next_attempt_without_forwarding(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    plan = evolve(kill_plan_of(0, is_real=kind == "kafka"), large_s=60, kills=40, forwards=False)
    records = KilledRetries(request.getfixturevalue(f"mortal_{kind}"), plan, tmp_path).run()
    record_property("to_show", f"{kind}, without forwarding: {summary_of_retries(records)}")
    assert ended_while_waiting(records), summary_of_retries(records)
