"""An application of Kafka Streams that counts words: its instances, its topics and what it must come to."""

from collections import Counter
from pathlib import Path

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups.admin import KafkaAdmin, StreamsGroupDescription
from tests.support.conditions import wait_until
from tests.support.kafka.java_streams import JavaStreams
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.support.kafka.real_kafka import unique
from tests.support.members.confluent_reader import PATIENCE_S

__all__ = ["PARTITIONS", "SETTINGS", "TASKS", "THREADS", "WordCount"]

PARTITIONS, THREADS = 4, 2
TASKS = sorted(f"{subtopology}_{partition}" for subtopology in range(2) for partition in range(PARTITIONS))
SENTENCES = (
    "the early bird catches the worm", "the second mouse gets the cheese", "two birds in the bush", "a worm in a bush",
)  # fmt: skip
SETTINGS = {
    "group.streams.initial.rebalance.delay.ms": 100,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.min.heartbeat.interval.ms": 200,
    "group.streams.heartbeat.interval.ms": 200,
    "group.streams.min.session.timeout.ms": 1_000,
    "group.streams.session.timeout.ms": 6_000,
    "group.initial.rebalance.delay.ms": 100,
}


class WordCount:
    """The application: its topics, its instances with a JVM each, and what it must come to."""

    def __init__(self, bootstrap_servers: str, directory: Path) -> None:
        self.application_id, self.source, self.sink = unique("words"), unique("in"), unique("out")
        self.servers = bootstrap_servers
        self._directory = directory
        self._jvms: dict[str, JavaStreams] = {}
        self._words: Counter[str] = Counter()
        self._updates = self._lines = 0
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 5})
        self.clients = AdminClient({"bootstrap.servers": bootstrap_servers})
        for topic in (self.source, self.sink):
            self.clients.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(PATIENCE_S)

    # ------------------------------------------------------------------------------------------ instances

    def start(self, name: str, protocol: str = "streams", *, exactly_once: bool = False) -> None:
        """Start an instance in a JVM of its own."""
        jvm = self._jvms[name] = JavaStreams(self._directory / unique("classes"), streams_classpath_or_skip())
        properties = {"session_timeout_ms": "6000", "heartbeat_interval_ms": "200"} if protocol == "classic" else {}
        if exactly_once:
            properties |= {"processing_guarantee": "exactly_once_v2", "producer_transaction_timeout_ms": "3000"}
        jvm.open_words(
            name,
            self.source,
            self.sink,
            bootstrap_servers=self.servers,
            application_id=self.application_id,
            group_protocol=protocol,
            num_stream_threads=str(THREADS),
            state_dir=str(self._directory / name),
            commit_interval_ms="100",
            statestore_cache_max_bytes="0",
            **properties,
        )

    def kill(self, name: str) -> None:
        """End an instance as `kill -9` does."""
        jvm = self._jvms.pop(name)
        jvm.kill()
        jvm.__exit__(None, None, None)

    def close(self, name: str) -> None:
        """End an instance as it should."""
        jvm = self._jvms.pop(name)
        jvm.close(name)
        jvm.__exit__(None, None, None)

    def end(self) -> None:
        """End what still runs."""
        for name in tuple(self._jvms):
            self.kill(name)

    def shares(self) -> dict[str, list[str]] | None:
        """The tasks of each instance, or None unless all of them run."""
        states = {name: jvm.state()[name] for name, jvm in self._jvms.items()}
        assert not [each.error for each in states.values() if each.error]
        if any(each.state != "RUNNING" for each in states.values()):
            return None
        return {name: [task for thread in each.tasks for task in thread.split(",")] for name, each in states.items()}

    def is_balanced(self) -> bool:
        """Whether the instances run all tasks, in equal shares."""
        shares = self.shares()
        if shares is None or sorted(task for tasks in shares.values() for task in tasks) != TASKS:
            return False
        return {len(tasks) for tasks in shares.values()} == {len(TASKS) // len(shares)}

    # -------------------------------------------------------------------------------------------- records

    def write(self, lines: int) -> None:
        """Append lines, whose words are counted from now on."""
        for number in range(self._lines, self._lines + lines):
            sentence = SENTENCES[number % len(SENTENCES)]
            self._producer.produce(self.source, key=f"line-{number}", value=sentence)
            self._words.update(set(sentence.split()))
            self._updates += len(sentence.split())
        self._lines += lines
        assert self._producer.flush(PATIENCE_S) == 0

    def wait_for_counts(self) -> int:
        """Wait until the output comes to the exact counts. Returns how many updates it took."""
        consumer = Consumer({
            "bootstrap.servers": self.servers, "group.id": unique("check"), "auto.offset.reset": "earliest",
        })  # fmt: skip
        consumer.subscribe([self.sink])
        counts: dict[str, int] = {}
        updates = 0

        def is_reached() -> bool:
            nonlocal updates
            for message in consumer.consume(1_000, 0.2):
                assert message.error() is None
                updates += 1
                counts[(message.key() or b"").decode()] = int(message.value() or 0)
            return counts == self._words

        wait_until(is_reached, PATIENCE_S)
        consumer.close()
        return updates

    @property
    def updates(self) -> int:
        """How many updates there are if each line is processed once: one for each of its words."""
        return self._updates

    # ---------------------------------------------------------------------------------------------- group

    def group(self) -> StreamsGroupDescription:
        """The group, as the admin client shows it."""
        with KafkaAdmin(bootstrap_servers=self.servers) as admin:
            return admin.describe_streams_groups([self.application_id])[self.application_id]

    def is_streams_group(self) -> bool:
        """Whether the group is a streams group."""
        with KafkaAdmin(bootstrap_servers=self.servers) as admin:
            return self.application_id in {each.group_id for each in admin.list_streams_groups().groups}

    def has_members(self) -> bool:
        """Whether the group, which is a classic one, has members."""
        future = self.clients.describe_consumer_groups([self.application_id])[self.application_id]
        return bool(future.result(PATIENCE_S).members)
