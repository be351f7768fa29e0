"""The word count of Kafka Streams as a Python program: it shares the tasks of the group with instances in Java.

It keeps what Java's instances keep: the ids of a word's lines, in the same changelog and the same form.
"""

import threading
from collections import defaultdict
from contextlib import ExitStack, closing

from confluent_kafka import Consumer, Message, Producer
from confluent_kafka import TopicPartition as Position

from kafka_groups.streams import (
    ChangelogTopic,
    GroupTopology,
    GroupTopologyBuilder,
    MemberTasks,
    RepartitionTopic,
    StreamsGroupMember,
    StreamsMembershipEvent,
    TaskId,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.members.confluent_reader import PATIENCE_S

__all__ = ["PythonWordCount", "word_count_topology"]

SPLITTING, COUNTING = "0", "1"


def word_count_topology(application_id: str, source: str) -> GroupTopology:
    """The topology of the Java application, as its members send it."""
    repartition, changelog = f"{application_id}-words-repartition", f"{application_id}-lines-changelog"
    time = {"message.timestamp.type": "CreateTime"}
    of_repartition = {"cleanup.policy": "delete", "retention.ms": "-1", "segment.bytes": "52428800", **time}
    return (
        GroupTopologyBuilder()
        .add_subtopology(SPLITTING, sources=[source], sinks=[repartition])
        .add_subtopology(
            COUNTING,
            repartition_sources=[RepartitionTopic(repartition, configs=of_repartition)],
            changelogs=[ChangelogTopic(changelog, {"cleanup.policy": "compact", **time})],
        )
        .build()
    )


class PythonWordCount:
    """A process of the application, on a thread. Use it as a context manager.

    Args:
        bootstrap_servers: Addresses of the brokers.
        application_id: The application.
        source: The topic with the lines.
        sink: The topic for the counts.

    Attributes:
        error: What ended the thread, if anything did.
    """

    def __init__(self, bootstrap_servers: str, application_id: str, source: str, sink: str) -> None:
        self._servers, self._application_id, self._source, self._sink = bootstrap_servers, application_id, source, sink
        self._repartition, self._changelog = (
            f"{application_id}-words-repartition",
            f"{application_id}-lines-changelog",
        )
        self._positions: dict[TopicPartition, int] = {}
        self._lines: defaultdict[int, dict[str, set[str]]] = defaultdict(dict)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="python-word-count")
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "partitioner": "murmur2_random"})
        self.member = StreamsGroupMember(
            bootstrap_servers=bootstrap_servers,
            application_id=application_id,
            topology=word_count_topology(application_id, source),
        )
        self.error: BaseException | None = None

    def __enter__(self) -> "PythonWordCount":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    @property
    def tasks(self) -> list[str]:
        """The tasks that it owns."""
        assert self.error is None, self.error
        return sorted(map(str, self.member.tasks.active))

    def _run(self) -> None:
        try:
            with ExitStack() as stack:
                self._reader = stack.enter_context(closing(self._consumer()))
                self._restorer = stack.enter_context(closing(self._consumer()))
                stack.enter_context(self.member)
                self.member.join()
                while not self._stopped.is_set():
                    self._turn()
                self._commit(list(self._positions))
        except BaseException as error:  # the test asks for it
            self.error = error

    def _consumer(self) -> Consumer:
        return Consumer({
            "bootstrap.servers": self._servers, "group.id": "not used", "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        })  # fmt: skip

    def _turn(self) -> None:
        for event in self.member.poll(0 if self._positions else 0.1):
            self._handle(event)
        if not self._positions:
            return
        messages = self._reader.consume(500, 0.1)
        for message in messages:
            assert message.error() is None, message.error()
            self._process(message)
        if messages:
            self._commit(list(self._positions))

    # ------------------------------------------------------------------------------------------- tasks

    def _handle(self, event: StreamsMembershipEvent) -> None:
        if isinstance(event, TasksAssigned):
            self._begin(event.tasks)
        elif isinstance(event, TasksRevoked | TasksLost):
            given_up = [self._input_of(task) for task in event.tasks.active]
            if isinstance(event, TasksRevoked):
                self._commit(given_up)
            for task in event.tasks.active:
                del self._positions[self._input_of(task)]
                if task.subtopology_id == COUNTING:
                    self._lines.pop(task.partition, None)
            self.member.confirm(event)
        self._reader.assign([Position(each.topic, each.partition, at) for each, at in self._positions.items()])

    def _input_of(self, task: TaskId) -> TopicPartition:
        return TopicPartition(self._source if task.subtopology_id == SPLITTING else self._repartition, task.partition)

    def _begin(self, tasks: MemberTasks) -> None:
        inputs = [self._input_of(task) for task in tasks.active]
        for place, offset in self.member.committed(inputs).items():
            self._positions[place] = self._first(place) if offset is None else offset.offset
        for task in tasks.active:
            if task.subtopology_id == COUNTING:
                self._restore(task.partition)

    def _first(self, place: TopicPartition) -> int:
        return self._restorer.get_watermark_offsets(Position(place.topic, place.partition), PATIENCE_S)[0]

    def _restore(self, partition: int) -> None:
        low, end = self._restorer.get_watermark_offsets(Position(self._changelog, partition), PATIENCE_S)
        self._restorer.assign([Position(self._changelog, partition, low)])
        at = low
        while at < end:
            for message in self._restorer.consume(500, 0.2):
                assert message.error() is None, message.error()
                self._lines[partition][_text(message.key())] = set(_text(message.value()).split(","))
                at = (message.offset() or 0) + 1
        self._restorer.unassign()

    # ----------------------------------------------------------------------------------------- records

    def _process(self, message: Message) -> None:
        topic, partition = message.topic() or "", message.partition() or 0
        if topic == self._source:
            for word in _text(message.value()).split():
                self._producer.produce(self._repartition, key=word, value=message.key())
        else:
            self._count(partition, _text(message.key()), _text(message.value()))
        self._positions[TopicPartition(topic, partition)] = (message.offset() or 0) + 1

    def _count(self, partition: int, word: str, line: str) -> None:
        lines = self._lines[partition].setdefault(word, set())
        lines.add(line)
        self._producer.produce(self._changelog, ",".join(sorted(lines)), word, partition)
        self._producer.produce(self._sink, str(len(lines)), word)

    def _commit(self, places: list[TopicPartition]) -> None:
        assert self._producer.flush(PATIENCE_S) == 0
        self.member.commit({place: OffsetAndMetadata(self._positions[place]) for place in places})


def _text(data: str | bytes | None) -> str:
    return data.decode() if isinstance(data, bytes) else data or ""
