"""A worker process of the demo: a member of the streams group that counts the flights of its tasks."""

import signal
import threading
from contextlib import ExitStack, suppress
from typing import Final

import click
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as Position

from kafka_groups.cli.demo.flights import flight_of_line
from kafka_groups.cli.demo.streams.changelog import reader, restored
from kafka_groups.cli.demo.streams.counts import CHANGELOG_SUFFIX, TaskCounts
from kafka_groups.errors import KafkaGroupsError, TasksLostError
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams import (
    ChangelogTopic,
    StreamsGroupMember,
    StreamsMembershipEvent,
    TaskId,
    TaskPosition,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
    Topology,
    TopologyBuilder,
)
from kafka_groups.types import TopicPartition

__all__ = ["CountingWorker", "WorkerStoppedError", "demo_topology", "main"]

_MOST_FLIGHTS: Final = 500
_WAIT_SECONDS: Final = 0.1
_COMMIT_EVERY_MS: Final = 1_000
_FLUSH_SECONDS: Final = 30.0
_SUBTOPOLOGY: Final = "0"


class WorkerStoppedError(KafkaGroupsError):
    """The changelog does not take what was counted."""


def demo_topology(application: str, topic: str) -> Topology:
    """Return the topology: one sub-topology that reads the flights and has a store with a changelog."""
    changelog = ChangelogTopic(f"{application}-{CHANGELOG_SUFFIX}", {"cleanup.policy": "compact"})
    return TopologyBuilder().add_subtopology(_SUBTOPOLOGY, sources=[topic], changelogs=[changelog]).build()


class CountingWorker:
    """Counts the flights of the tasks that its member owns.

    Args:
        bootstrap_servers: Addresses of the brokers.
        application: The application's id.
        topic: The topic with the flights.
        stack: Closes what the worker opens.
    """

    def __init__(self, bootstrap_servers: str, application: str, topic: str, stack: ExitStack) -> None:
        self._topic = topic
        self._changelog = f"{application}-{CHANGELOG_SUFFIX}"
        self._tasks: dict[int, TaskCounts] = {}
        self._flights: Consumer = stack.enter_context(reader(bootstrap_servers, application))
        self._stores: Consumer = stack.enter_context(reader(bootstrap_servers, application))
        self._refused: str | None = None
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "client.id": "kafka-groups-demo",
                "enable.idempotence": True,
                "linger.ms": 5,
                "log_level": 2,
            }
        )
        self._member = stack.enter_context(
            StreamsGroupMember(
                bootstrap_servers=bootstrap_servers,
                application_id=application,
                topology=demo_topology(application, topic),
                task_offsets=self._positions,
                client_id="kafka-groups-demo",
            )
        )

    def __repr__(self) -> str:
        return f"<CountingWorker {self._member!r}>"

    def run(self, stopped: threading.Event) -> None:
        """Count until `stopped` is set, and commit.

        Raises:
            KafkaGroupsError: The group refused the member, or the changelog refused a record.
            KafkaException: A partition cannot be read.
        """
        clock = SystemClock()
        committed_ms = clock.now_ms()
        self._member.join()
        while not stopped.is_set():
            for event in self._member.poll(0 if self._tasks else _WAIT_SECONDS):
                self._handle(event)
            if self._tasks:
                self._count()
            if clock.now_ms() - committed_ms >= _COMMIT_EVERY_MS:
                self._commit(list(self._tasks))
                committed_ms = clock.now_ms()
        self._commit(list(self._tasks))

    def _handle(self, event: StreamsMembershipEvent) -> None:
        if isinstance(event, TasksAssigned):
            for task in event.tasks.active:
                self._tasks[task.partition] = restored(self._stores, self._changelog, task.partition)
        elif isinstance(event, TasksRevoked | TasksLost):
            partitions = [task.partition for task in event.tasks.active]
            if isinstance(event, TasksRevoked):
                self._commit(partitions)
            for partition in partitions:
                del self._tasks[partition]
            self._member.confirm(event)
        else:
            return
        self._flights.assign([Position(self._topic, each, counts.next_offset) for each, counts in self._tasks.items()])

    def _count(self) -> None:
        for message in self._flights.consume(_MOST_FLIGHTS, _WAIT_SECONDS):
            error = message.error()
            if error is not None:
                raise KafkaException(error)
            partition = message.partition() or 0
            carrier = flight_of_line((message.value() or b"").decode()).carrier
            value = self._tasks[partition].count(carrier, message.offset() or 0)
            self._write(partition, carrier, value)
        self._producer.poll(0)

    def _write(self, partition: int, carrier: str, value: str) -> None:
        while True:
            try:
                self._producer.produce(self._changelog, value, carrier, partition, on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(_WAIT_SECONDS)
            else:
                return

    def _delivered(self, error: object, _message: object) -> None:
        if error is not None:
            self._refused = str(error)

    def _commit(self, partitions: list[int]) -> None:
        left = self._producer.flush(_FLUSH_SECONDS)
        if left > 0 or self._refused is not None:
            raise WorkerStoppedError(
                f"The changelog did not take {left or 'all'} records: {self._refused or 'no answer'}."
            )
        with suppress(TasksLostError):  # the next poll says which tasks are lost
            self._member.commit(
                {TopicPartition(self._topic, each): self._tasks[each].next_offset for each in partitions}
            )

    def _positions(self) -> dict[TaskId, TaskPosition]:
        return {
            TaskId(_SUBTOPOLOGY, partition): TaskPosition(counts.changelog_offset)
            for partition, counts in tuple(self._tasks.items())
        }


@click.command()
@click.option("--bootstrap-servers", required=True)
@click.option("--application", required=True)
@click.option("--topic", required=True)
def main(bootstrap_servers: str, application: str, topic: str) -> None:
    """Work until SIGTERM."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with ExitStack() as stack:
        CountingWorker(bootstrap_servers, application, topic, stack).run(stopped)


if __name__ == "__main__":
    main()
