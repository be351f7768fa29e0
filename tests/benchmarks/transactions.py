"""What transactions take: of producers of librdkafka, with many ids, with many partitions."""

import asyncio
import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Final

from attrs import frozen
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups.net.tcp import TcpNetwork
from tests.benchmarks.brokers import BrokerProcess
from tests.benchmarks.measures import Say
from tests.support.cluster_client import ClusterClient
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_producer import RawProducer
from tests.support.requests.raw_client import RawClient

__all__ = ["Rate", "open_ids", "rate", "wide"]

_RECORDS: Final = 100
_PARTITIONS: Final = 4
_TIMEOUT_S: Final = 60.0
_VALUE: Final = b"x" * 100
_CONNECTIONS: Final = 20


@frozen
class Rate:
    """What some producers did.

    Attributes:
        transactions: Transactions that were committed, by all of them.
        seconds: How long they took.
        broker_cpu_s: Processor time of the broker, or -1 if it is not known.
    """

    transactions: int
    seconds: float
    broker_cpu_s: float = -1.0

    @property
    def per_second(self) -> float:
        """Transactions a second."""
        return self.transactions / self.seconds


def rate(bootstrap_servers: str, producers: int, count: int, broker: BrokerProcess | None = None) -> Rate:
    """Commit transactions of 100 records each, of some producers at the same time, each in a thread of its own."""
    topic = _topic(bootstrap_servers, _PARTITIONS)
    made = [_producer(bootstrap_servers) for _ in range(producers)]
    for producer in made:
        _commit(producer, topic, _PARTITIONS)  # the first one finds the coordinator
    each = count // producers
    threads = [threading.Thread(target=_commit_all, args=(producer, topic, each)) for producer in made]
    cpu_began, began = 0.0 if broker is None else broker.cpu_seconds(), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    return Rate(each * producers, seconds, -1.0 if broker is None else broker.cpu_seconds() - cpu_began)


def wide(bootstrap_servers: str, partitions: int, rounds: int) -> float:
    """Return the median of the seconds that a transaction takes with a record in each of many partitions."""
    topic, producer = _topic(bootstrap_servers, partitions), _producer(bootstrap_servers)
    _commit(producer, topic, partitions, records=partitions)
    return median(_timed(lambda: _commit(producer, topic, partitions, records=partitions)) for _ in range(rounds))


def open_ids(broker: BrokerProcess, ids: int, say: Say) -> float:
    """Return the bytes of the broker's memory for each of many transactional ids with an open transaction."""
    before = broker.resident_bytes()
    asyncio.run(_open_all(broker.bootstrap_servers, ids))
    each = (broker.resident_bytes() - before) / ids
    say(f"{ids:,} transactional ids with an open transaction: {each:,.0f} bytes each")
    return each


async def _open_all(bootstrap_servers: str, ids: int) -> None:
    host, _, port = bootstrap_servers.rpartition(":")
    network = TcpNetwork()
    admin = ClusterClient(network, host, int(port))
    topic = await admin.create_topic(_PARTITIONS)

    async def some(first: int) -> None:
        async with RawClient(network, host, int(port)) as client:
            for number in range(first, ids, _CONNECTIONS):
                producer = RawProducer(client, f"id-{number}")
                await producer.find()
                assert await producer.init() == "NONE"
                assert await producer.send(topic, _VALUE, partition=number % _PARTITIONS) == "NONE"

    await asyncio.gather(*map(some, range(_CONNECTIONS)))
    await admin.close()


def _topic(bootstrap_servers: str, partitions: int) -> str:
    name = unique("transactions")
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(_TIMEOUT_S)
    return name


def _producer(bootstrap_servers: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": unique("tx"), "linger.ms": 0})
    producer.init_transactions(_TIMEOUT_S)
    return producer


def _commit_all(producer: Producer, topic: str, count: int) -> None:
    for _ in range(count):
        _commit(producer, topic, _PARTITIONS)


def _commit(producer: Producer, topic: str, partitions: int, records: int = _RECORDS) -> None:
    producer.begin_transaction()
    for number in range(records):
        producer.produce(topic, _VALUE, partition=number % partitions)
    producer.commit_transaction(_TIMEOUT_S)


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began
