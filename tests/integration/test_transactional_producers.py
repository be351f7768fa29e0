"""Producers with a transactional id fail at once on the embedded broker, which has no transactions, and say why."""

from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import TransactionalIdAuthorizationFailed as AiokafkaRefusal
from confluent_kafka import KafkaError, KafkaException, Producer
from kafka import KafkaProducer
from kafka.errors import TransactionalIdAuthorizationFailedError as KafkaPythonRefusal

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock

PATIENCE_S, SOON_MS = 60.0, 10_000


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        yield cluster
        assert cluster.unexpected_errors == ()


def test_confluents_producer(cluster: EmbeddedCluster) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "writer"})
    begun_ms = SystemClock().now_ms()
    with pytest.raises(KafkaException, match="does not support transactions yet") as caught:
        producer.init_transactions(PATIENCE_S)
    assert SystemClock().now_ms() - begun_ms < SOON_MS
    error = caught.value.args[0]
    assert (error.code(), error.fatal()) == (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, True)


def test_kafka_pythons_producer(cluster: EmbeddedCluster) -> None:
    producer = KafkaProducer(  # type: ignore[no-untyped-call]
        bootstrap_servers=cluster.bootstrap_servers, transactional_id="writer", max_block_ms=PATIENCE_S * 1000
    )
    begun_ms = SystemClock().now_ms()
    with pytest.raises(KafkaPythonRefusal):
        producer.init_transactions()  # type: ignore[no-untyped-call]
    assert SystemClock().now_ms() - begun_ms < SOON_MS
    producer.close(timeout=0)  # type: ignore[no-untyped-call]


async def test_aiokafkas_producer() -> None:
    async with EmbeddedCluster() as cluster:
        producer: Any = AIOKafkaProducer(  # type: ignore[no-untyped-call]
            bootstrap_servers=cluster.bootstrap_servers, transactional_id="writer"
        )
        with pytest.raises(AiokafkaRefusal):
            await producer.start()
        await producer.stop()
