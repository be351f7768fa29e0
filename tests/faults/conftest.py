"""Brokers and drivers for all runs of this folder: starting one takes seconds, and a run leaves nothing behind."""

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from kafka_groups.testing.kafka_jars import RealKafkaUnavailableError, kafka_jars, missing_tools
from kafka_groups.testing.pytest_plugin import REQUIRE_VARIABLE
from tests.faults.drivers import Drivers, running_drivers
from tests.faults.plan import BROKERS, DESIGNS, Kind
from tests.faults.targets import Target, running_target
from tests.support.spark.sessions import reason_to_skip

Struck = dict[tuple[str, str], Counter[Kind]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each broker of `--fault-brokers`, and for each design and seed."""
    brokers = metafunc.config.getoption("--fault-brokers").split(",")
    marks = {broker: [pytest.mark.real_kafka] if broker == "kafka" else [] for broker in brokers}
    if "fault_broker" in metafunc.fixturenames:
        metafunc.parametrize("fault_broker", [pytest.param(broker, marks=marks[broker]) for broker in brokers])
    if "fault_seed" in metafunc.fixturenames:
        seeds: int = metafunc.config.getoption("--fault-seeds")
        cases = [
            pytest.param(broker, design, seed, id=f"{broker}-{design}-{seed}", marks=marks[broker])
            for broker in brokers for design in DESIGNS for seed in range(1, seeds + 1)
        ]  # fmt: skip
        metafunc.parametrize(("target", "fault_design", "fault_seed"), cases, indirect=["target"])


@pytest.fixture(scope="package")
def drivers() -> Iterator[Drivers]:
    """Driver processes, started when they are needed."""
    reason = reason_to_skip()
    if reason is not None:
        if os.environ.get("KAFKA_GROUPS_REQUIRE_SPARK"):
            pytest.fail(f"KAFKA_GROUPS_REQUIRE_SPARK is set, but there is {reason}")
        pytest.skip(reason)
    with running_drivers() as running:
        yield running


@pytest.fixture(scope="package")
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """The broker of a kind."""
    kind: str = request.param
    assert kind in BROKERS
    if kind == "kafka":
        _need_real_kafka()
    with running_target(kind) as running:
        yield running


@pytest.fixture(scope="package")
def struck() -> Struck:
    """Faults that have struck, for each broker and design, over all seeds."""
    return {}


def _need_real_kafka() -> None:
    reason = missing_tools()
    if reason is None:
        try:
            kafka_jars()
        except RealKafkaUnavailableError as error:
            reason = str(error)
    if reason is None:
        return
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(f"{REQUIRE_VARIABLE}=1, but {reason}")
    pytest.skip(reason)
