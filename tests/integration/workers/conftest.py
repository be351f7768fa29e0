"""The brokers of these tests: an embedded one for each, a real Kafka for all of them."""

from collections.abc import Iterator

import pytest

from tests.support.workers.worker_brokers import WorkerBroker, embedded_broker, kafka_broker
from tests.support.workers.worker_scenes import WorkerScene


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.slow])])
def broker(request: pytest.FixtureRequest) -> Iterator[WorkerBroker]:
    """An embedded broker; in the slow tests also a real Kafka."""
    if request.param == "embedded":
        with embedded_broker() as embedded:
            yield embedded
    else:
        with kafka_broker(request.getfixturevalue("real_kafka"), is_shared=True) as kafka:
            yield kafka


@pytest.fixture
def scene(broker: WorkerBroker) -> WorkerScene:
    """A topic, a topic for dead letters, and a group with Kafka's defaults."""
    return WorkerScene(broker)
