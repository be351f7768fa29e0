"""How many seeds the runs in lock-step get."""

from collections.abc import AsyncIterator

import pytest

from kafka_groups.testing.kafka_process import KafkaProcess
from tests.lockstep.pair import Pair, pair_with


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each seed."""
    if "lockstep_seed" in metafunc.fixturenames:
        metafunc.parametrize("lockstep_seed", range(metafunc.config.getoption("lockstep_seeds")))


@pytest.fixture
async def pair(real_kafka: KafkaProcess) -> AsyncIterator[Pair]:
    """The shared real Kafka, and an embedded cluster of this test."""
    async with pair_with(real_kafka.bootstrap_servers) as both:
        yield both
