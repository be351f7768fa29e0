"""An application with instances in Kafka Streams and in Python: its topics, its instances, its results."""

import multiprocessing
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar

from confluent_kafka import Consumer, ConsumerGroupState, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from kafka_groups.admin import KafkaAdmin, StreamsGroupDescription
from kafka_groups.admin.rules.group_offsets import fetch_question
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.blocking_questions import BlockingQuestions
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.net.clock import SystemClock
from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams import KafkaStreams, StreamsError, StreamsState
from kafka_groups.streams.tasks.commit_metadata import read_commit_metadata
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka.java_program import LineProgram, java_command, pairs
from tests.support.kafka.kafka_classpath import (
    TOOLS_VERSION,
    older_streams_classpath_or_skip,
    streams_classpath_or_skip,
)
from tests.support.kafka.mixed_topologies import (
    STORE,
    Line,
    Result,
    expected,
    expected_versions,
    mixed_topology,
    window_name,
)
from tests.support.kafka.real_kafka import unique
from tests.support.members.confluent_reader import PATIENCE_S

__all__ = ["MixedApplication", "keys_of", "python_instance"]

PARTITIONS = 2
WORDS = ("early", "bird", "worm", "mouse", "cheese", "bush", "trap")
K = TypeVar("K")

_SERDE = "org.apache.kafka.common.serialization.Serdes$StringSerde"
_IN_MEMORY = "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
_AGE_MS, _STEP_MS, _TIMES, _HIGHEST = 5_000_000, 500, 9_000, 20
_PACE_S = 0.03
_PASSING = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
}
"""While a broker restarts, and while a transaction is open that has committed offsets."""
_ASK_S = 5.0
_FIRST = 0
Guarantee = Literal["at_least_once", "exactly_once_v2"]
Protocol = Literal["streams", "classic"]
CLASSIC_TIMES = {"session.timeout.ms": "3000", "heartbeat.interval.ms": "300"}
"""Short ones: an instance in Java that closes stays in a classic group until its session ends."""
AT_LEAST_ONCE: Guarantee = "at_least_once"
EXACTLY_ONCE: Guarantee = "exactly_once_v2"


def keys_of(protocol: Protocol) -> dict[str, str]:
    """Return the keys of an application whose group has a protocol."""
    return {"group.protocol": "classic", **CLASSIC_TIMES} if protocol == "classic" else {}


def python_instance(  # noqa: PLR0917 - what a process is told
    kind: str,
    servers: str,
    application_id: str,
    source: str,
    sink: str,
    num_workers: int = 1,
    guarantee: Guarantee = AT_LEAST_ONCE,
    state_dir: Path | None = None,
    protocol: Protocol = "streams",
    more: Mapping[str, str] = MappingProxyType({}),
) -> KafkaStreams:
    """Return an instance in Python; for other processes. With a directory, its stores are on disk."""
    on_disk = {} if state_dir is None else {"state.dir": state_dir, "default.dsl.store": "lmdb"}
    return KafkaStreams(
        partial(mixed_topology, kind, source, sink),
        {**on_disk, **keys_of(protocol), **more},
        application_id=application_id,
        bootstrap_servers=servers,
        commit_interval_ms=100,
        num_workers=num_workers,
        processing_guarantee=guarantee,
    )


def _run(  # noqa: PLR0917 - what a process is told
    kind: str,
    servers: str,
    application_id: str,
    source: str,
    sink: str,
    guarantee: Guarantee,
    state_dir: Path | None,
    protocol: Protocol,
) -> None:
    names = (kind, servers, application_id, source, sink)
    python_instance(*names, guarantee=guarantee, state_dir=state_dir, protocol=protocol).run()


class MixedApplication:
    """An application of a kind (see `KINDS`), with at most one instance in each language at a time.

    Times of lines go to and fro, and the highest ones come first: an instance that did not take over the times of
    another one would give records lower ones.

    Args:
        kind: One of `KINDS`.
        bootstrap_servers: The broker.
        directory: For programs and state.
        guarantee: What it promises.
        on_disk: Whether stores in Python are on disk.
        protocol: The protocol of its group.
        release: The release of Kafka Streams. Older ones know the kinds `words` and `counts` only.
        java_guarantee: What the instance in Java promises, by the name that its release has for that.
        partitions: The number of partitions of each of its topics.

    Attributes:
        more_keys: More keys of all its instances in this process and in Java.
    """

    more_keys: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self,
        kind: str,
        bootstrap_servers: str,
        directory: Path,
        guarantee: Guarantee = AT_LEAST_ONCE,
        *,
        on_disk: bool = False,
        protocol: Protocol = "streams",
        release: str = TOOLS_VERSION,
        java_guarantee: str | None = None,
        partitions: int = PARTITIONS,
    ) -> None:
        self.protocol, self._release = protocol, release
        self.kind, self.servers, self._directory = kind, bootstrap_servers, directory
        self.guarantee, self._java_guarantee = guarantee, java_guarantee or guarantee
        self._state_dir = directory / unique("python-state") if on_disk else None
        self.application_id, self.source, self.sink = unique(kind), unique("lines"), unique("results")
        self.lines: list[Line] = []
        self._partitions = partitions
        self._begun_ms = SystemClock().wall_ms() - _AGE_MS
        # Idempotent: when the broker crashes, no line may be written twice.
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 1, "enable.idempotence": True})
        self._command: list[str] = []
        self._java: LineProgram | None = None
        self._python: KafkaStreams | None = None
        self._child: BaseProcess | None = None
        create_topics({"bootstrap.servers": bootstrap_servers}, {self.source: partitions, self.sink: partitions})

    def ask_for_standbys(self, number: int) -> None:
        """Set how many copies of each task the group has."""
        config = {"streams.num.standby.replicas": str(number)}
        with KafkaAdmin(bootstrap_servers=self.servers) as admin:
            admin.alter_group_configs({self.application_id: config})

    @property
    def group(self) -> tuple[str, str]:
        """The brokers, and the id of the group."""
        return self.servers, self.application_id

    @property
    def has_no_python(self) -> bool:
        """Whether the instance in Python is not there."""
        return self._python is None

    # ------------------------------------------------------------------------------------------ instances

    def start_java(self) -> None:
        """Start the instance in Java."""
        self._command = self._command or self._java_command()
        self._java = self.new_java(self._command)

    def new_java(self, command: Sequence[str], **more: str) -> LineProgram:
        """Return another instance in Java, which the caller ends.

        Args:
            command: Runs `MixedInstance`.
            **more: Properties of its own, with underscores for dots.
        """
        properties = {
            "bootstrap_servers": self.servers, "application_id": self.application_id, "group_protocol": self.protocol,
            "state_dir": str(self._directory / unique("state")), "commit_interval_ms": "100",
            "default_key_serde": _SERDE, "default_value_serde": _SERDE, "auto_offset_reset": "earliest",
            "dsl_store_suppliers_class": _IN_MEMORY, "processing_guarantee": self._java_guarantee,
        }  # fmt: skip
        if self.protocol == "classic":
            properties |= {name.replace(".", "_"): value for name, value in CLASSIC_TIMES.items()}
        properties |= {name.replace(".", "_"): value for name, value in self.more_keys.items()}
        java = LineProgram(command)
        java.say("open", self.kind, self.source, self.sink, *pairs(properties | more))
        return java

    def _java_command(self) -> list[str]:
        if self._release == TOOLS_VERSION:
            return java_command("MixedInstance", self._directory, streams_classpath_or_skip())
        return java_command("OlderInstance", self._directory, older_streams_classpath_or_skip(self._release))

    def close_java(self) -> None:
        """Close it. It leaves the group."""
        java, self._java = self._java, None
        assert java is not None
        java.__exit__(None, None, None)

    def start_python(self) -> None:
        """Start the instance in Python."""
        names = (self.application_id, self.source, self.sink)
        self._python = python_instance(
            self.kind,
            self.servers,
            *names,
            guarantee=self.guarantee,
            state_dir=self._state_dir,
            protocol=self.protocol,
            more=self.more_keys,
        )
        self._python.start()

    def close_python(self) -> None:
        """Close it. It leaves the group."""
        python, self._python = self._python, None
        assert python is not None
        assert python.close(PATIENCE_S)
        assert python.state is StreamsState.NOT_RUNNING

    def start_child(self) -> None:
        """Start an instance in Python that is a process of its own, instead of the one in this process."""
        names = (self.kind, self.servers, self.application_id, self.source, self.sink)
        run = partial(_run, *names, self.guarantee, self._state_dir, self.protocol)
        self._child = multiprocessing.get_context("spawn").Process(target=run)
        self._child.start()

    def kill_java(self) -> None:
        """Kill the instance in Java. It does not leave the group, and commits nothing any more."""
        java, self._java = self._java, None
        assert java is not None
        java.kill()
        java.__exit__(None, None, None)

    def kill_child(self) -> None:
        """Kill the process of the instance in Python."""
        child, self._child = self._child, None
        assert child is not None
        child.kill()
        child.join()

    def end(self) -> None:
        """End what still runs."""
        if self._child is not None:
            self.kill_child()
        if self._java is not None:
            self.kill_java()
        if self._python is not None:
            self._python.close(PATIENCE_S)

    def wait_until_shared(self) -> None:
        """Wait until all instances run, with tasks each."""
        wait_until(self._is_shared, 4 * PATIENCE_S)

    def _is_shared(self) -> bool:
        if self._java is not None:
            state, _, error = self._java.ask_line("state").strip().partition(":")
            assert not error, error
            if state != "RUNNING":
                return False
        if self._python is not None:
            assert self._python.error is None
            if self._python.state is not StreamsState.RUNNING:
                return False
        if self.protocol == "classic":
            return self._is_shared_classic()
        group = self._group()
        instances = sum(each is not None for each in (self._java, self._python, self._child))
        return (
            group.state == "Stable"
            and len(group.members) == instances
            and all(any(member.assignment.active.values()) for member in group.members)
        )

    def _is_shared_classic(self) -> bool:
        instances = sum(each is not None for each in (self._java, self._python, self._child))
        admin = AdminClient({"bootstrap.servers": self.servers})
        group = admin.describe_consumer_groups([self.application_id])[self.application_id].result(PATIENCE_S)
        return group.state is ConsumerGroupState.STABLE and len(group.members) == instances

    def wait_until_each_has_a_standby(self) -> None:
        """Wait until each instance has a copy of a task of the other one."""

        def both_have() -> bool:
            members = self._group().members
            return len(members) > 1 and all(any(each.assignment.standby.values()) for each in members)

        wait_until(both_have, 4 * PATIENCE_S)

    def _group(self) -> StreamsGroupDescription:
        with KafkaAdmin(bootstrap_servers=self.servers) as admin:
            return admin.describe_streams_groups([self.application_id])[self.application_id]

    def python_leads(self) -> bool:
        """Return whether the instance in Python leads the classic group."""
        assert self._python is not None
        return any(each.value for each in self._python.metrics() if each.name == "is-leader")

    # -------------------------------------------------------------------------------------------- records

    @contextmanager
    def flow(self) -> Iterator[None]:
        """Write lines all the time, as long as this lasts and there are times for them."""
        stopped = threading.Event()

        def write() -> None:
            while len(self.lines) < _TIMES and not stopped.wait(_PACE_S):
                self.write(1)

        thread = threading.Thread(target=write, name="lines")
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()
            assert self._producer.flush(PATIENCE_S) == 0

    def write(self, count: int) -> None:
        """Write lines."""
        for number in range(len(self.lines), len(self.lines) + count):
            text = " ".join(WORDS[(number * step) % len(WORDS)] for step in (1, 3))
            line = Line(f"line-{number}", text, self._time_ms(number))
            self.lines.append(line)
            self._producer.produce(self.source, key=line.id, value=line.text, timestamp=line.time_ms)
        self._producer.poll(0)

    def _time_ms(self, number: int) -> int:
        assert number < _TIMES, "more lines than times"
        step = _TIMES + 2 * number if number < _HIGHEST else number * 1_237 % _TIMES
        return self._begun_ms + step * _STEP_MS

    # -------------------------------------------------------------------------------------------- results

    def values(self) -> dict[str, str]:
        """What the results must be."""
        return {key: result.value for key, result in expected(self.kind, self.lines).items()}

    def wait_for_output(self) -> None:
        """Wait until the last record of each key in the output is the one that it must be, with its timestamp."""
        found: dict[str, Result] = {}
        wanted = expected(self.kind, self.lines)
        with self._reading(self.sink) as consumer:
            wait_until(lambda: _fold(consumer, found) == wanted, 2 * PATIENCE_S)

    def wait_for_python_store(self) -> None:
        """Wait until the store in Python, whose instance has all tasks, has all results."""
        wanted = self.values()
        wait_until(lambda: self._python_store() == wanted, PATIENCE_S)

    def wait_for_versions(self) -> None:
        """Wait until the versioned store in Python, whose instance has all tasks, has all versions."""
        wanted = expected_versions(self.lines)
        wait_until(lambda: self._versions(wanted) == wanted, PATIENCE_S)

    def _versions(self, asked: Iterable[tuple[str, int]]) -> dict[tuple[str, int], object] | None:
        assert self._python is not None
        try:
            store = self._python.store(STORE)
            return {(word, time_ms): store.get(word, time_ms) for word, time_ms in asked}
        except StreamsError:
            return None

    def _python_store(self) -> dict[str, str] | None:
        assert self._python is not None
        try:
            rows = self._python.store(STORE).all()
        except StreamsError:
            return None
        return {window_name(key) if isinstance(key, Windowed) else key: value for key, value in rows}

    def wait_for_java_store(self) -> None:
        """Wait until the store in Java, whose instance has all tasks, has all results."""
        wanted = self.values()
        wait_until(lambda: self._java_store() == wanted, PATIENCE_S)

    def _java_store(self) -> dict[str, str]:
        assert self._java is not None
        rows = (each.split("=") for each in self._java.ask("store", *WORDS))
        return {row[0]: row[1] for row in rows}

    def changelog(self) -> dict[str, Result]:
        """What a new instance would restore, with keys as in the output."""
        rows: dict[bytes, Result] = {}
        with self._reading(f"{self.application_id}-{STORE}-changelog") as consumer:
            for message in _all(consumer):
                _apply(rows, message.key() or b"", message)
        return {self._row_key(key): result for key, result in rows.items()}

    def _row_key(self, row: bytes) -> str:
        if self.kind in {"words", "counts"}:
            return row.decode()
        if self.kind == "windows":
            start_ms, _ = struct.unpack(">qi", row[-12:])
            return window_name(Windowed(row[:-12].decode(), Window(start_ms, start_ms + 60_000)))
        end_ms, start_ms = struct.unpack(">qq", row[-16:])
        return window_name(Windowed(row[:-16].decode(), Window(start_ms, end_ms)))

    def joined_lines(self) -> set[tuple[str, str]]:
        """Words and lines in both changelogs of the join."""
        found: set[tuple[str, str]] = set()
        for side in ("this", "other"):
            with self._reading(f"{self.application_id}-pairs-{side}-join-store-changelog") as consumer:
                found |= {
                    ((message.key() or b"")[:-12].decode(), (message.value() or b"").decode())
                    for message in _all(consumer)
                }
        return found

    def committed(self) -> int:
        """Return how many records of the source the group has committed. Waits until its offsets can be read."""
        found: list[int] = []
        with self._consumer(self.application_id) as consumer:
            wait_until(lambda: self._ask_committed(consumer, found), 2 * PATIENCE_S)
        return found[0]

    def wait_for_commit(self) -> None:
        """Wait until more is committed than now."""
        before = self.committed()
        wait_until(lambda: self.committed() > before, 4 * PATIENCE_S)

    def _ask_committed(self, consumer: Consumer, found: list[int]) -> bool:
        try:
            places = consumer.committed(self._places(self.source), _ASK_S)
        except KafkaException as error:
            if error.args[0].code() not in _PASSING:
                raise
            return False
        found.append(sum(map(_position, places)))
        return True

    def check_committed(self) -> None:
        """Check that everything is committed, with the highest time of each partition."""
        highest: dict[int, int] = {}
        with self._reading(self.source) as consumer:
            for message in _all(consumer):
                highest[_partition(message)] = max(highest.get(_partition(message), _FIRST), message.timestamp()[1])
        committed = self._committed()
        with self._consumer(self.application_id) as consumer:
            for place in self._places(self.source):
                assert committed[place.partition].offset == consumer.get_watermark_offsets(place, PATIENCE_S)[1]
        found = {partition: read_commit_metadata(each.metadata) for partition, each in committed.items()}
        assert {partition: each.partition_time_ms for partition, each in found.items()} == highest
        assert all(each.problem is None for each in found.values())

    def _committed(self) -> dict[int, OffsetAndMetadata]:
        """Return the committed offsets by partition.

        They are asked for on our own engine: confluent-kafka reads metadata up to the next NUL, which need not be a
        part of it, so that it may return bytes of something else behind it.
        """
        places = [TopicPartition(self.source, partition) for partition in range(self._partitions)]
        questions = BlockingQuestions(admin_config(bootstrap_servers=self.servers), Environment(), "committed offsets")
        try:
            asked = fetch_question(self.application_id, places)
            found = questions.ask(asked, round(PATIENCE_S * 1_000))[self.application_id].checked().values
        finally:
            questions.close()
        return {place.partition: each for place, each in found.items() if each is not None}

    @contextmanager
    def _reading(self, topic: str) -> Iterator[Consumer]:
        with self._consumer(unique("check")) as consumer:
            consumer.assign(self._places(topic))
            yield consumer

    def _places(self, topic: str) -> list[Position]:
        return [Position(topic, partition, _FIRST) for partition in range(self._partitions)]

    @contextmanager
    def _consumer(self, group: str) -> Iterator[Consumer]:
        consumer = Consumer({
            "bootstrap.servers": self.servers, "group.id": group, "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "enable.partition.eof": True,
        })  # fmt: skip
        try:
            yield consumer
        finally:
            consumer.close()


def _partition(message: Message) -> int:
    partition = message.partition()
    assert partition is not None
    return partition


def _fold(consumer: Consumer, found: dict[str, Result]) -> Mapping[str, Result]:
    for message in filter(_is_record, consumer.consume(1_000, 0.2)):
        _apply(found, (message.key() or b"").decode(), message)
    return found


def _apply(found: dict[K, Result], key: K, message: Message) -> None:
    value = message.value()
    if value is None:
        found.pop(key, None)
    else:
        found[key] = Result(value.decode(), message.timestamp()[1])


def _all(consumer: Consumer) -> Iterator[Message]:
    """Iterate over what the partitions have now."""
    left = {place.partition for place in consumer.assignment()}
    while left:
        for message in consumer.consume(1_000, 0.2):
            if _is_record(message):
                yield message
            else:
                left.discard(_partition(message))


def _is_record(message: Message) -> bool:
    """Return False for the end of a partition, behind all markers of transactions."""
    error = message.error()
    assert error is None or error.code() == KafkaError._PARTITION_EOF, error
    return error is None


def _position(place: Position) -> int:
    return max(place.offset, _FIRST)  # invalid before the first record
