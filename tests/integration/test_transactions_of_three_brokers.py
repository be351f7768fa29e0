"""Transactions whose partitions and coordinators are on several brokers, and move meanwhile."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock

PARTITIONS, TRANSACTIONS, PATIENCE_S = 6, 12, 30.0
SETTINGS = {
    "transaction.state.log.num.partitions": 3,
    "offsets.topic.num.partitions": 3,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 200,
}
INTERNAL = ("__transaction_state", "__consumer_offsets")


class Patience:
    """The time until something must have happened."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._deadline_ms = self._clock.now_ms() + round(PATIENCE_S * 1000)

    @property
    def is_left(self) -> bool:
        return self._clock.now_ms() < self._deadline_ms


def retried(step: Callable[[], object]) -> None:
    """Do a step of a transaction again as long as librdkafka says that this may help."""
    patience = Patience()
    while True:
        try:
            step()
        except KafkaException as error:
            if not (error.args[0].retriable() and patience.is_left):
                raise
        else:
            return


def consumed(cluster: EmbeddedCluster, topic: str, count: int) -> dict[int, list[bytes]]:
    """The committed records by partition, once there are so many."""
    consumer = Consumer({
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": "reader",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    found: dict[int, list[bytes]] = {number: [] for number in range(PARTITIONS)}
    patience = Patience()
    while sum(map(len, found.values())) < count and patience.is_left:
        for message in consumer.consume(count, 0.2):
            assert message.error() is None, message.error()
            partition, value = message.partition(), message.value()
            assert partition is not None
            assert value is not None
            found[partition].append(value)
    extra = consumer.consume(1, 0.5)
    consumer.close()
    assert not [message.value() for message in extra]
    return found


class Writer:
    """A producer with its transactions, and what has to come of them."""

    def __init__(self, cluster: EmbeddedCluster, name: str, rng: random.Random) -> None:
        self._rng = rng
        self.name = name
        self.committed: dict[int, list[bytes]] = {number: [] for number in range(PARTITIONS)}
        self.offset = -1
        self._servers = {"bootstrap.servers": cluster.bootstrap_servers}
        self._producer = Producer({**self._servers, "transactional.id": name, "transaction.timeout.ms": 20_000})
        self._consumer = Consumer({**self._servers, "group.id": name})
        retried(lambda: self._producer.init_transactions(5))

    def run(self, number: int, between: Callable[[], None], *, with_offsets: bool = True) -> None:
        """A transaction, and something that happens between its steps."""
        self._producer.begin_transaction()
        sent: list[tuple[int, bytes]] = []
        for index in range(self._rng.randint(1, 8)):
            partition, value = self._rng.randrange(PARTITIONS), f"{self.name}-{number}-{index}".encode()
            self._producer.produce("t", value, partition=partition)
            sent.append((partition, value))
        self._producer.flush(0 if self._rng.random() < 0.5 else PATIENCE_S)
        between()
        if with_offsets:
            offsets, metadata = [TopicPartition("in", 0, number)], self._consumer.consumer_group_metadata()
            retried(lambda: self._producer.send_offsets_to_transaction(offsets, metadata, 5))
        between()
        if self._rng.random() < 0.3:
            retried(lambda: self._producer.abort_transaction(5))
            return
        retried(lambda: self._producer.commit_transaction(5))
        self.offset = number if with_offsets else self.offset
        for partition, value in sent:
            self.committed[partition].append(value)

    def check(self, found: dict[int, list[bytes]]) -> None:
        """Check that readers see what was committed, in order, and nothing else of this producer."""
        own = {
            partition: [value for value in values if value.startswith(f"{self.name}-".encode())]
            for partition, values in found.items()
        }
        assert own == self.committed
        patience = Patience()
        while (stored := self._stored()) is None:
            assert patience.is_left
        assert stored.offset == self.offset or (stored.offset < 0 and self.offset < 0)
        self._consumer.close()

    def _stored(self) -> TopicPartition | None:
        """The committed offset, or None if the coordinator has moved, which librdkafka reports once."""
        try:
            return self._consumer.committed([TopicPartition("in", 0)], 5)[0]
        except KafkaException:
            return None


class Moves:
    """Moves leaders and coordinators at random."""

    def __init__(self, cluster: EmbeddedCluster, rng: random.Random) -> None:
        self._cluster = cluster
        self._rng = rng

    def __call__(self) -> None:
        topic, partitions = self._rng.choice([("t", PARTITIONS), *((name, 3) for name in INTERNAL)])
        self._cluster.move_leader(topic, self._rng.randrange(partitions), self._rng.randint(1, 3))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_committed_transactions_are_whole_and_aborted_ones_are_not_seen(seed: int) -> None:
    rng = random.Random(seed)
    with EmbeddedCluster(brokers=3, settings=SETTINGS) as cluster:
        cluster.create_topic("t", PARTITIONS)
        cluster.create_topic("in")
        writers = [Writer(cluster, f"w{number}", random.Random(f"{seed}/{number}")) for number in range(2)]
        moves = Moves(cluster, rng)
        for number in range(TRANSACTIONS):
            for writer in writers:
                writer.run(number, moves)
        wanted = sum(len(values) for writer in writers for values in writer.committed.values())
        found = consumed(cluster, "t", wanted)
        for writer in writers:
            writer.check(found)
        assert cluster.unexpected_errors == ()


def test_brokers_that_die_do_not_keep_a_transaction_from_its_end() -> None:
    with EmbeddedCluster(brokers=3, settings=SETTINGS) as cluster:
        cluster.create_topic("t", PARTITIONS, replication_factor=3)
        cluster.create_topic("in", replication_factor=3)
        writer = Writer(cluster, "w", random.Random(1))
        victims = iter((1, 2) * 4)  # the third one is where clients find the others

        def kill_one() -> None:
            node_id: Any = next(victims)
            cluster.kill_broker(node_id)
            cluster.start_broker(node_id)

        for number in range(4):
            # librdkafka 2.16 never commits offsets again once their coordinator was not among the brokers for a moment.
            writer.run(number, kill_one, with_offsets=False)
        found = consumed(cluster, "t", sum(map(len, writer.committed.values())))
        writer.check(found)
        assert cluster.unexpected_errors == ()
