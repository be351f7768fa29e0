"""An application commits exactly once on our own engine, on releases of Kafka with transactions of both levels.

Some of its records are refused by the brokers when their offsets are on the way already. Those go to the dead letters,
in the same transaction.
"""

from collections.abc import Iterator

import pytest

from kafka_groups.streams import ErrorResponse, KafkaStreams, StreamsBuilder, Topology, serdes
from kafka_groups.testing import EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.integration.test_streams_applications import FAST
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.topics_of_servers import TopicsOfServers

pytestmark = pytest.mark.slow

REAL = pytest.mark.real_kafka
BROKERS = [
    "embedded",
    *(pytest.param((release, level), marks=REAL) for release in ("4.4.0", "4.2.1") for level in (1, 2)),
]
VALUES = ["x" * 3_000 + str(number) if number % 10 == 3 else str(number) for number in range(200)]


@pytest.fixture(scope="module", params=BROKERS, ids=str)
def topics(request: pytest.FixtureRequest) -> Iterator[TopicsOfServers]:
    if request.param == "embedded":
        with EmbeddedCluster(settings=FAST) as cluster:
            yield TopicsOfServers(cluster.bootstrap_servers)
        return
    release, level = request.param
    with KafkaProcess(release, features={"transaction.version": level}) as kafka:
        yield TopicsOfServers(kafka.bootstrap_servers)


def test_records_dead_letters_and_offsets_are_committed_together(topics: TopicsOfServers) -> None:
    source, sink, letters, app_id = (unique(name) for name in ("in", "out", "letters", "app"))
    for topic, configs in ((source, {}), (sink, {"max.message.bytes": "1000"}), (letters, {})):
        topics.create(topic, configs)

    def copying() -> Topology:
        builder = StreamsBuilder()
        builder.stream(source, key=serdes.string, value=serdes.string).to(sink)
        return builder.build()

    with KafkaStreams(
        copying(),
        application_id=app_id,
        bootstrap_servers=topics.servers,
        commit_interval_ms=50,
        processing_guarantee="exactly_once_v2",
        production_exception_handler=lambda _context, _record, _error: ErrorResponse.DEAD_LETTER,
        errors_dead_letter_queue_topic_name=letters,
    ) as app:
        for begin in range(0, len(VALUES), 50):
            topics.write(source, VALUES[begin : begin + 50])
            wait_until(lambda end=begin + 50: topics.committed(app_id, source) == end, 90, lambda: app.error)  # type: ignore[misc]
    assert topics.written(sink) == [each for each in VALUES if len(each) < 1_000]
    assert sorted(topics.written(letters)) == sorted(each for each in VALUES if len(each) > 1_000)
