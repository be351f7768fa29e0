"""What excuses a run in which Kafka lost the end of a transaction: only a transaction that nobody can end any more."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import create_autospec

import pytest
from confluent_kafka import Producer

from kafka_groups.admin import KafkaAdmin
from kafka_groups.admin.rules.transaction_values import PartitionProducer, TransactionList
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.types import TopicPartition
from tests.support.kafka.lost_markers import lost_markers

FIRST, SECOND = TopicPartition("out", 0), TopicPartition("out", 1)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}) as cluster:
        cluster.create_topic("out", 2)
        yield cluster
        assert cluster.unexpected_errors == ()


def test_a_transaction_that_times_out_is_waited_for(cluster: EmbeddedCluster) -> None:
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    producer = Producer({**servers, "transactional.id": "left", "transaction.timeout.ms": 1_000})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("out", b"open", partition=0)
    assert producer.flush(30) == 0
    with KafkaAdmin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        assert admin.describe_producers([FIRST])[FIRST][0].transaction_start_offset == 0
        assert lost_markers(admin, [FIRST, SECOND]) == []
        assert admin.describe_producers([FIRST])[FIRST][0].transaction_start_offset is None


def test_a_transaction_that_no_coordinator_knows_is_found() -> None:
    def producer(start: int | None) -> tuple[PartitionProducer, ...]:
        return (PartitionProducer(7, 0, 0, 0, None, start),)

    admin: Any = create_autospec(KafkaAdmin, instance=True)
    admin.list_transactions.return_value = TransactionList()
    admin.describe_producers.return_value = {FIRST: producer(0), SECOND: producer(None)}
    assert lost_markers(admin, [FIRST, SECOND]) == [FIRST]
