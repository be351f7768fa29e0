"""A worker process of the demo: a member of the streams group that counts the flights of its tasks."""

import secrets
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import click
from attrs import frozen
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Position

from kafka_groups.cli.demo.flights import flight_of_line
from kafka_groups.cli.demo.streams.changelog import keyed, messages, reader, writer
from kafka_groups.cli.demo.streams.counts import CHANGELOG_SUFFIX, CLAIM, OwnedTask, OwnershipLostError
from kafka_groups.errors import TasksLostError
from kafka_groups.streams import (
    ChangelogTopic,
    GroupTopology,
    GroupTopologyBuilder,
    StreamsGroupMember,
    StreamsMembershipEvent,
    TaskId,
    TaskPosition,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.types import TopicPartition

__all__ = ["CountingApplication", "CountingWorker", "main"]

_MOST_MESSAGES: Final = 500
_WAIT_SECONDS: Final = 0.1
_SUBTOPOLOGY: Final = "0"


@frozen
class CountingApplication:
    """The application that the worker is part of.

    Attributes:
        bootstrap_servers: Addresses of the brokers.
        name: Its id.
        topic: The topic with the flights.
        transactions: Whether the brokers have transactions. All workers must agree.
    """

    bootstrap_servers: str
    name: str
    topic: str
    transactions: bool

    @property
    def changelog(self) -> str:
        """The changelog's name."""
        return f"{self.name}-{CHANGELOG_SUFFIX}"

    @property
    def topology(self) -> GroupTopology:
        """The topology: one sub-topology that reads the flights and has a store with a changelog.

        Without transactions the changelog is not compacted: a record that readers ignore could replace one that counts.
        """
        kept = {"cleanup.policy": "compact"} if self.transactions else {"retention.ms": "-1"}
        changelog = ChangelogTopic(self.changelog, kept)
        return (
            GroupTopologyBuilder().add_subtopology(_SUBTOPOLOGY, sources=[self.topic], changelogs=[changelog]).build()
        )


class CountingWorker:
    """Counts the flights of the tasks that its member owns, until the member has lost them.

    Args:
        application: The application.
        process_id: The id of the process.
        stack: Closes what the worker opens.
    """

    def __init__(self, application: CountingApplication, process_id: str, stack: ExitStack) -> None:
        self._topic, self._changelog = application.topic, application.changelog
        self._transactions = application.transactions
        self._tasks: dict[int, OwnedTask] = {}
        servers, name = application.bootstrap_servers, application.name
        self._producer = writer(servers, f"{name}-{process_id}" if application.transactions else None)
        self._consumer: Consumer = stack.enter_context(reader(servers, name))
        self._member = stack.enter_context(
            StreamsGroupMember(
                bootstrap_servers=servers,
                application_id=name,
                topology=application.topology,
                process_id=process_id,
                task_offsets=self._positions,
                client_id="kafka-groups-demo",
            )
        )

    def __repr__(self) -> str:
        return f"<CountingWorker {self._member!r}>"

    def run(self, stopped: threading.Event) -> None:
        """Count until `stopped` is set.

        Raises:
            TasksLostError: The member has lost its tasks.
            KafkaGroupsError: The group refused the member.
            KafkaException: A partition cannot be read, or the changelog does not take the counts.
        """
        self._member.join()
        while not stopped.is_set():
            for event in self._member.poll(0 if self._tasks else _WAIT_SECONDS):
                self._handle(event)
            if self._tasks:
                self._work(list(messages(self._consumer, _MOST_MESSAGES, _WAIT_SECONDS)))

    def _handle(self, event: StreamsMembershipEvent) -> None:
        if isinstance(event, TasksAssigned):
            self._take([task.partition for task in event.tasks.active], event.epoch)
        elif isinstance(event, TasksRevoked | TasksLost):
            self._drop([task.partition for task in event.tasks.active])  # everything is committed after each batch
            self._member.confirm(event)

    def _take(self, partitions: Sequence[int], epoch: int) -> None:
        with self._all_or_nothing():
            for partition in partitions:
                task = self._tasks[partition] = OwnedTask(epoch)
                self._write(partition, CLAIM, task.claim)
        self._consumer.incremental_assign([Position(self._changelog, each, OFFSET_BEGINNING) for each in partitions])

    def _drop(self, partitions: Sequence[int]) -> None:
        for partition in partitions:
            topic = self._topic if self._tasks.pop(partition).is_restored else self._changelog
            self._consumer.incremental_unassign([Position(topic, partition)])

    def _work(self, polled: Sequence[Message]) -> None:
        for message in polled:
            if message.topic() == self._changelog:
                self._restore(message.partition() or 0, message)
        flights = [message for message in polled if message.topic() == self._topic]
        if flights:
            with self._all_or_nothing():
                self._count(flights)

    def _restore(self, partition: int, record: Message) -> None:
        task = self._tasks[partition]
        if not task.is_restored and task.restore(*keyed(record)):
            self._consumer.incremental_unassign([Position(self._changelog, partition)])
            self._consumer.incremental_assign([Position(self._topic, partition, task.counts.next_offset)])

    def _count(self, flights: Sequence[Message]) -> None:
        for message in flights:
            partition = message.partition() or 0
            _, line, offset = keyed(message)
            carrier = flight_of_line(line).carrier
            self._write(partition, carrier, self._tasks[partition].counts.count(carrier, offset))

    def _write(self, partition: int, key: str, value: str) -> None:
        self._producer.produce(self._changelog, value, key, partition, on_delivery=self._delivered)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        task = self._tasks.get(message.partition() or 0)
        if error is None and task is not None and task.is_restored:
            task.counts.changelog_offset = (message.offset() or 0) + 1
        elif error is not None and not self._transactions:  # a transaction fails as a whole
            raise KafkaException(error)

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
        offsets = {each: task.counts.next_offset for each, task in self._tasks.items() if task.is_restored}
        if self._transactions:
            positions = [Position(self._topic, each, offset) for each, offset in offsets.items()]
            if positions:
                self._producer.send_offsets_to_transaction(positions, self._member.group_metadata())
            self._producer.commit_transaction()
        else:
            self._member.commit({TopicPartition(self._topic, each): offset for each, offset in offsets.items()})

    def _positions(self) -> dict[TaskId, TaskPosition]:
        return {
            TaskId(_SUBTOPOLOGY, partition): TaskPosition(task.counts.changelog_offset)
            for partition, task in tuple(self._tasks.items())
        }


@click.command()
@click.option("--bootstrap-servers", required=True)
@click.option("--application", required=True)
@click.option("--topic", required=True)
@click.option("--transactions", is_flag=True)
def main(bootstrap_servers: str, application: str, topic: str, *, transactions: bool) -> None:
    """Work until SIGTERM, with a new member and a new producer after the tasks were lost."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    process_id = secrets.token_hex(8)
    while not stopped.is_set():
        try:
            with ExitStack() as stack:
                started = CountingApplication(bootstrap_servers, application, topic, transactions)
                CountingWorker(started, process_id, stack).run(stopped)
        except (TasksLostError, OwnershipLostError, KafkaException) as error:
            if isinstance(error, KafkaException) and not _is_aborted(error.args[0]):
                raise
            click.echo(f"Starting again: {error}", err=True)


def _is_aborted(error: KafkaError) -> bool:
    """Whether a transaction did not succeed, and a new producer may continue."""
    return error.txn_requires_abort() or error.retriable() or error.code() == KafkaError._FENCED


if __name__ == "__main__":
    main()
