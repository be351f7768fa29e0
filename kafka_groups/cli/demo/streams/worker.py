"""A worker process of the demo: a member of the streams group that counts the flights of its tasks."""

import secrets
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import click
from attrs import frozen

from kafka_groups.cli.demo.flights import flight_of_line
from kafka_groups.cli.demo.publish import client_keys
from kafka_groups.cli.demo.streams.changelog import keyed, writer
from kafka_groups.cli.demo.streams.counts import CHANGELOG_SUFFIX, CLAIM, OwnedTask, OwnershipLostError
from kafka_groups.data_plane.deliveries import OutgoingRecord
from kafka_groups.data_plane.reading import BEGINNING, PartitionReader, ReadRecord
from kafka_groups.errors import TasksLostError, TransactionFailedError
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

_MOST_RECORDS: Final = 500
_WAIT_SECONDS: Final = 0.1
_WRITE_SECONDS: Final = 300.0
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
        self._writer = writer(servers, f"{name}-{process_id}" if application.transactions else None, self._written)
        self._reader = stack.enter_context(PartitionReader(client_keys(servers), name))
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
            TransactionFailedError: The brokers aborted a transaction.
            KafkaGroupsError: The group refused the member, a partition cannot be read, or the changelog does not take
                the counts.
        """
        self._member.join()
        while not stopped.is_set():
            for event in self._member.poll(0 if self._tasks else _WAIT_SECONDS):
                self._handle(event)
            if self._tasks:
                self._work(self._reader.read(_MOST_RECORDS, _WAIT_SECONDS))

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
        self._reader.assign({TopicPartition(self._changelog, each): BEGINNING for each in partitions})

    def _drop(self, partitions: Sequence[int]) -> None:
        for partition in partitions:
            topic = self._topic if self._tasks.pop(partition).is_restored else self._changelog
            self._reader.unassign([TopicPartition(topic, partition)])

    def _work(self, polled: Sequence[ReadRecord]) -> None:
        for record in polled:
            if record.topic == self._changelog:
                self._restore(record.partition, record)
        flights = [record for record in polled if record.topic == self._topic]
        if flights:
            with self._all_or_nothing():
                self._count(flights)

    def _restore(self, partition: int, record: ReadRecord) -> None:
        task = self._tasks[partition]
        if not task.is_restored and task.restore(*keyed(record)):
            self._reader.unassign([TopicPartition(self._changelog, partition)])
            self._reader.assign({TopicPartition(self._topic, partition): task.counts.next_offset})

    def _count(self, flights: Sequence[ReadRecord]) -> None:
        for record in flights:
            _, line, offset = keyed(record)
            carrier = flight_of_line(line).carrier
            self._write(record.partition, carrier, self._tasks[record.partition].counts.count(carrier, offset))

    def _write(self, partition: int, key: str, value: str) -> None:
        self._writer.write(OutgoingRecord(self._changelog, key.encode(), value.encode(), partition=partition))

    def _written(self, place: TopicPartition, offset: int) -> None:
        task = self._tasks.get(place.partition)
        if task is not None and task.is_restored:
            task.counts.changelog_offset = offset + 1

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Write records, then commit the offsets; on brokers with transactions both or neither.

        All records are in the changelog before the coordinator accepts the offsets. So if a transaction succeeds, its
        records are before the next owner's claim.
        """
        if self._transactions:
            self._writer.begin_transaction()
        yield
        self._writer.flush(_WRITE_SECONDS)
        offsets = {
            TopicPartition(self._topic, each): task.counts.next_offset
            for each, task in self._tasks.items()
            if task.is_restored
        }
        if self._transactions:
            metadata = self._member.group_metadata() if offsets else None
            self._writer.commit_transaction(offsets, metadata, _WRITE_SECONDS)
        else:
            self._member.commit(offsets)

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
        except (TasksLostError, OwnershipLostError, TransactionFailedError) as error:
            click.echo(f"Starting again: {error}", err=True)


if __name__ == "__main__":
    main()
