"""Count the words of Python's own language reference with an application of two worker processes.

Run it with `python examples/word_count.py`, or with `--lines 2000` for less. With `--bootstrap-servers` it uses a Kafka
4.2 or newer instead of an embedded broker. It makes its topics there, and deletes them at the end.

The application reads lines, splits them, and counts each word in a store. A word's lines are on every partition, so the
words go through a repartition topic first, which brings all of a word's occurrences to one task.
"""

import argparse
import re
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import islice
from pydoc_data.topics import topics  # type: ignore[import-untyped, unused-ignore]

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups import KafkaAdmin, serdes
from kafka_groups.streams import KafkaStreams, StreamsBuilder, Topology, stores
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster

LINES, RESULTS, PARTITIONS = "manual-lines", "manual-word-counts", 4
COUNTS = stores.key_value("counts", serdes.string, serdes.int64)
TIMEOUT_SECONDS = 120.0


def build() -> Topology:
    """Return the topology. Each worker process calls it."""
    builder = StreamsBuilder()
    lines = builder.stream(LINES, key=serdes.string, value=serdes.string)
    words = lines.flat_map_values(words_of)
    by_word = words.group_by(lambda _, word: word, key=serdes.string, value=serdes.string)
    by_word.count(store=COUNTS).to_stream().to(RESULTS)
    return builder.build()


def words_of(line: str) -> list[str]:
    """Return the words of a line, in lower case."""
    return re.findall("[a-z]+", line.lower())


def manual(limit: int | None) -> Iterator[tuple[str, str]]:
    """Return the lines of the reference, each with the name of its section."""
    lines = ((section, line) for section, text in sorted(topics.items()) for line in text.splitlines())
    return islice(lines, limit)


def publish(bootstrap_servers: str, limit: int | None) -> None:
    """Write the lines to their topic."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True})
    for section, line in manual(limit):
        producer.produce(LINES, key=section, value=line)
        while len(producer) > 50_000:
            producer.poll(0.1)
    producer.flush()


def latest_counts(bootstrap_servers: str, expected: Counter[str]) -> Counter[str]:
    """Read the results until the counts are as expected, or until nothing has come for two minutes."""
    counts: Counter[str] = Counter()
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": LINES, "auto.offset.reset": "earliest"}
    with closing(Consumer({**settings, "enable.auto.commit": False})) as consumer:
        consumer.subscribe([RESULTS])
        while counts != expected and (message := consumer.poll(TIMEOUT_SECONDS)) is not None:
            error = message.error()
            if error is not None:
                raise KafkaException(error)
            word, times = message.key() or b"", message.value() or b""
            counts[word.decode()] = int.from_bytes(times)
    return counts


def count(bootstrap_servers: str, application_id: str, limit: int | None, workers: int) -> Counter[str]:
    """Publish the lines, and run the application until it has counted them."""
    expected = computed_plainly(limit)
    publish(bootstrap_servers, limit)
    application = KafkaStreams(
        build, application_id=application_id, bootstrap_servers=bootstrap_servers, num_workers=workers
    )
    with application:
        application.wait_until_running(timeout=TIMEOUT_SECONDS)
        return latest_counts(bootstrap_servers, expected)


def computed_plainly(limit: int | None) -> Counter[str]:
    """Count the words without Kafka."""
    return Counter(word for _, line in manual(limit) for word in words_of(line))


def make_topics(bootstrap_servers: str) -> None:
    """Create the topics that the application reads and writes."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for future in admin.create_topics([NewTopic(name, PARTITIONS) for name in (LINES, RESULTS)]).values():
        future.result()


def remove(bootstrap_servers: str, application_id: str) -> None:
    """Delete the topics and the group."""
    client = AdminClient({"bootstrap.servers": bootstrap_servers})
    for future in client.delete_topics([LINES, RESULTS]).values():
        future.result()
    with KafkaAdmin(bootstrap_servers=bootstrap_servers) as admin:
        admin.delete_streams_group_internal_topics(application_id)
        admin.delete_streams_groups([application_id])


def main() -> None:
    """Run the example and print the most frequent words."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, help="use only the first N lines")
    parser.add_argument("--workers", type=int, default=2, help="worker processes (default: 2)")
    parser.add_argument("--bootstrap-servers", help="a Kafka, instead of an embedded broker")
    given = parser.parse_args()
    application_id = f"word-count-{secrets.token_hex(4)}"
    with ExitStack() as stack:
        servers = given.bootstrap_servers
        if servers is None:
            servers = stack.enter_context(EmbeddedCluster(settings=FAST_SETTINGS)).bootstrap_servers
        make_topics(servers)
        stack.callback(remove, servers, application_id)
        counts = count(servers, application_id, given.lines, given.workers)
    for word, times in counts.most_common(10):
        print(f"{word:<12}{times:>7,}")
    if counts != computed_plainly(given.lines):
        raise SystemExit("The application's counts differ from those of the plain computation.")
    print("The application's counts equal those of the plain computation.")


if __name__ == "__main__":
    main()
