"""What excuses a run in which Kafka lost the end of a transaction: only a transaction that nobody can end any more.

Until then tests wait, also for offsets that an open transaction has committed.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position

from kafka_groups.admin import KafkaAdmin
from kafka_groups.admin.rules.transaction_values import PartitionProducer, TransactionList
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.protocol.record_batch import BatchHeader
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka import mixed_application
from tests.support.kafka.lost_markers import MergedTransactions, _merged, lost_markers, merged_transactions
from tests.support.members.counted_application import CountedApplication

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


def test_offsets_of_an_open_transaction_are_waited_for(
    cluster: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixed_application, "_ASK_S", 0.2)
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    app = CountedApplication(cluster.bootstrap_servers, tmp_path)
    ask, answers = app._ask_committed, []

    def noted(consumer: Consumer, found: list[int]) -> bool:
        answers.append(ask(consumer, found))
        return answers[-1]

    monkeypatch.setattr(app, "_ask_committed", noted)
    producer = Producer({**servers, "transactional.id": "open"})
    producer.init_transactions(30)
    producer.begin_transaction()
    reader = Consumer({**servers, "group.id": app.application_id})
    producer.send_offsets_to_transaction([Position(app.source, 0, 3)], reader.consumer_group_metadata(), 30)
    result = TopicPartition(app.sink, 0)
    producer.produce(app.sink, b"open", partition=0)
    assert producer.flush(30) == 0
    with ThreadPoolExecutor(1) as pool:
        committed = pool.submit(app.committed)
        wait_until(lambda: len(answers) >= 2, 30)
        assert app.ends([result]) == {result: (0, 1)}
        producer.commit_transaction(30)
        assert committed.result(30) == 3
    assert answers[:2] == [False, False]
    reader.close()


def test_a_transaction_that_no_coordinator_knows_is_found() -> None:
    def producer(start: int | None) -> tuple[PartitionProducer, ...]:
        return (PartitionProducer(7, 0, 0, 0, None, start),)

    admin: Any = create_autospec(KafkaAdmin, instance=True)
    admin.list_transactions.return_value = TransactionList()
    admin.describe_producers.return_value = {FIRST: producer(0), SECOND: producer(None)}
    assert lost_markers(admin, [FIRST, SECOND]) == [FIRST]


def test_transactions_that_each_have_a_marker_are_not_merged(cluster: EmbeddedCluster) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "whole"})
    producer.init_transactions(30)
    for number in range(4):
        producer.begin_transaction()
        producer.produce("out", b"%d" % number, partition=0)
        (producer.commit_transaction if number % 2 else producer.abort_transaction)(30)
    assert merged_transactions(cluster.bootstrap_servers, [FIRST, SECOND]) == []


def test_a_marker_that_is_missing_merges_transactions_of_its_producer() -> None:
    def header(offset: int, producer_id: int, epoch: int, *, is_marker: bool = False) -> BatchHeader:
        attributes = 0b110000 if is_marker else 0b010000
        return BatchHeader(offset, 0, 0, 2, 0, attributes, 0, 0, 0, producer_id, epoch, 0, 1)

    log = [header(0, 7, 1), header(1, 8, 1), header(2, 8, 2, is_marker=True), header(3, 8, 2), header(4, 7, 2),
           header(5, 7, 3, is_marker=True), header(6, 8, 3, is_marker=True)]  # fmt: skip
    assert [*_merged(FIRST, log)] == [MergedTransactions(FIRST, 7, (1, 2), 5)]
