"""The commands on an embedded broker and on a real Kafka, with the same output."""

from collections.abc import Iterator

import pytest

from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.commands import Commands

KAFKA = pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.slow])


@pytest.fixture(params=[pytest.param("embedded", marks=pytest.mark.slow), KAFKA])
def run(request: pytest.FixtureRequest) -> Iterator[Commands]:
    """Runs commands on a broker."""
    if request.param == "kafka":
        process: KafkaProcess = request.getfixturevalue("real_kafka")
        yield Commands(process.bootstrap_servers)
        return
    with EmbeddedCluster(settings={**FAST_SETTINGS, "group.initial.rebalance.delay.ms": 0}) as cluster:
        yield Commands(cluster.bootstrap_servers)
