"""An application that counts words: exactly once, its results of each word are 1, 2, 3 and so on, each of them once."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

from attrs import frozen
from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as Position

from kafka_groups.streams import KafkaStreams, StreamsBuilder, Topology, serdes
from kafka_groups.types import TopicPartition
from tests.support.kafka.mixed_application import PARTITIONS, Guarantee, MixedApplication, Protocol, keys_of
from tests.support.kafka.real_kafka import unique
from tests.support.members.confluent_reader import PATIENCE_S
from tests.support.members.hand_assigned import BlockingHandAssignedStreams

__all__ = ["CountedApplication", "CountedInstance"]

STORE = "counts"
DefaultStore = Literal["in_memory", "lmdb"]


def counted(source: str, sink: str) -> Topology:
    """Return a topology with a repartition topic, a changelog and a result for each word."""
    builder = StreamsBuilder()
    lines = builder.stream(source, key=serdes.string, value=serdes.string)
    words = lines.flat_map(lambda _key, text: [(word, word) for word in text.split()])
    grouped = words.group_by_key(key=serdes.string, value=serdes.string)
    counts = grouped.count(store=STORE, caching=False)
    counts.to_stream().to(sink, key=serdes.string, value=serdes.int64)
    return builder.build()


@frozen
class CountedInstance:
    """An instance, for other processes.

    Attributes:
        servers: Where the brokers are.
        application_id: The application.
        source: Where the lines are.
        sink: Where the results go.
        guarantee: What is promised after a failure.
        workers: The number of its workers.
        zone: Its client tag `zone`, if it has one.
        directory: Where its state is; the default of the package if it is empty.
        default_store: Where its counts are kept: `in_memory` or `lmdb`.
        is_alone: Whether it needs no group: it has all tasks, and one worker.
        protocol: The protocol of its group.
    """

    servers: str
    application_id: str
    source: str
    sink: str
    guarantee: Guarantee
    workers: int = 1
    zone: str | None = None
    directory: str = ""
    default_store: DefaultStore = "in_memory"
    is_alone: bool = False
    protocol: Protocol = "streams"

    def made(self) -> KafkaStreams:
        """Return the instance."""
        place: dict[str, Any] = {"state_dir": self.directory} if self.directory else {}
        streams = BlockingHandAssignedStreams if self.is_alone else KafkaStreams
        return streams(
            partial(counted, self.source, self.sink),
            keys_of(self.protocol),
            application_id=self.application_id,
            bootstrap_servers=self.servers,
            processing_guarantee=self.guarantee,
            commit_interval_ms=100,
            num_workers=self.workers,
            client_tags={} if self.zone is None else {"zone": self.zone},
            default_dsl_store=self.default_store,
            **place,
        )

    def run(self) -> None:
        """Run it until it is killed."""
        self.made().run()


class CountedApplication(MixedApplication):
    """The topics of such an application, and its results."""

    def __init__(
        self,
        bootstrap_servers: str,
        directory: Path,
        guarantee: Guarantee = "exactly_once_v2",
        protocol: Protocol = "streams",
    ) -> None:
        super().__init__("words", bootstrap_servers, directory, guarantee, protocol=protocol)

    def instance(
        self, workers: int = 1, zone: str | None = None, default_store: DefaultStore = "in_memory"
    ) -> CountedInstance:
        """Return an instance. Those of one zone share a directory."""
        place = "" if zone is None else str(self._directory / zone)
        return CountedInstance(
            self.servers, self.application_id, self.source, self.sink, self.guarantee, workers, zone, place,
            default_store, protocol=self.protocol,
        )  # fmt: skip

    def totals(self) -> Counter[str]:
        """The words of the lines."""
        return Counter(word for line in self.lines for word in line.text.split())

    def committed_results(self) -> dict[str, list[int]]:
        """The results of each word that are committed, in their order."""
        return self._numbers(self.sink)

    def logged(self) -> dict[str, int]:
        """What the changelog says of each word."""
        found = self._numbers(f"{self.application_id}-{STORE}-changelog")
        return {word: counts[-1] for word, counts in found.items()}

    def repartitioned(self) -> Counter[str]:
        """How often each word is in the repartition topic, as far as its records are committed and not deleted."""
        topic = f"{self.application_id}-{STORE}-repartition"
        return Counter((message.key() or b"").decode() for message in _committed(self.servers, topic))

    def repeated_lines(self) -> dict[str, int]:
        """The lines that are in the source topic more than once, with how often, by their keys."""
        found = Counter((message.key() or b"").decode() for message in _committed(self.servers, self.source))
        return {key: count for key, count in found.items() if count > 1}

    def transactional_partitions(self) -> list[TopicPartition]:
        """The partitions that its transactions write to. A test's broker has one partition of offsets."""
        counting = f"{self.application_id}-{STORE}"
        topics = (self.sink, f"{counting}-repartition", f"{counting}-changelog")
        written = [TopicPartition(topic, partition) for topic in topics for partition in range(PARTITIONS)]
        return [*written, TopicPartition("__consumer_offsets", 0)]

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Where partitions end for readers of committed records, and for others."""
        committed, written = (partial(_end, self.servers, level) for level in ("read_committed", "read_uncommitted"))
        return {partition: (committed(partition), written(partition)) for partition in partitions}

    def _numbers(self, topic: str) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for message in _committed(self.servers, topic):
            found[(message.key() or b"").decode()].append(int.from_bytes(message.value() or b"", "big"))
        return dict(found)


def _end(servers: str, level: str, partition: TopicPartition) -> int:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": unique("check"), "isolation.level": level})
    place = Position(partition.topic, partition.partition)
    try:
        _, end = consumer.get_watermark_offsets(place, PATIENCE_S)
        return int(end)
    finally:
        consumer.close()


def _committed(servers: str, topic: str) -> Iterator[Message]:
    """Iterate over the committed records that a topic has now."""
    consumer = Consumer({
        "bootstrap.servers": servers, "group.id": unique("check"), "enable.partition.eof": True,
        "isolation.level": "read_committed", "enable.auto.commit": False,
    })  # fmt: skip
    consumer.assign([Position(topic, partition, 0) for partition in range(PARTITIONS)])
    ended: set[int | None] = set()
    while len(ended) < PARTITIONS:
        for message in consumer.consume(1_000, 0.2):
            error = message.error()
            if error is None:
                yield message
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
    consumer.close()
