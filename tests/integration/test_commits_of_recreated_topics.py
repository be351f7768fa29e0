"""A source is deleted and made again between a record of it and the commit: the offset must not count for the new one.

The worker cannot hear of the new topic in between, as its own thread replaces the topic.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import pytest

from kafka_groups.streams import KafkaStreams, Processor, Record, StreamsBuilder, StreamsState, Topology, serdes
from kafka_groups.testing import EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.integration.test_streams_applications import FAST
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.topics_of_servers import TopicsOfServers

pytestmark = pytest.mark.slow

Guarantee = Literal["at_least_once", "exactly_once_v2"]
GUARANTEES: tuple[Guarantee, ...] = ("at_least_once", "exactly_once_v2")
OLD, NEW = ([f"{name}{number}" for number in range(count)] for name, count in (("old", 20), ("new", 30)))


@pytest.fixture(scope="module", params=["embedded", pytest.param("4.4.0", marks=pytest.mark.real_kafka)])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    kafka = EmbeddedCluster(settings=FAST) if request.param == "embedded" else KafkaProcess(request.param)
    with kafka:
        yield kafka.bootstrap_servers


class Replaced:
    """A source that the application replaces while it processes its last record."""

    def __init__(self, servers: str) -> None:
        self.topics = TopicsOfServers(servers)
        self.group_id, self.source, self.sink = unique("app"), unique("in"), unique("out")
        self.is_replaced = False
        for topic in (self.source, self.sink):
            self.topics.create(topic)

    def committed(self) -> int:
        return self.topics.committed(self.group_id, self.source)

    def replace(self) -> None:
        """Delete the source, and make it again with other records when the group has forgotten its offset."""
        self.topics.delete(self.source)
        wait_until(lambda: self.committed() < 0, 30)
        self.topics.create(self.source)
        self.topics.write(self.source, NEW)
        self.is_replaced = True

    def application(self, build: Callable[[], Topology], guarantee: Guarantee) -> KafkaStreams:
        return KafkaStreams(
            build(),
            application_id=self.group_id,
            bootstrap_servers=self.topics.servers,
            commit_interval_ms=100,
            processing_guarantee=guarantee,
        )

    def copying(self) -> Topology:
        builder = StreamsBuilder()
        builder.stream(self.source, key=serdes.string, value=serdes.string).to(self.sink)
        return builder.build()

    def replacing(self) -> Topology:
        builder = StreamsBuilder()
        stream = builder.stream(self.source, key=serdes.string, value=serdes.string)
        stream.process(factory=lambda: Replacing(self)).to(self.sink, key=serdes.string, value=serdes.string)
        return builder.build()


class Replacing(Processor[str, str, str, str]):
    """Replaces the source and asks for a commit. The first record of the new source ends the application."""

    def __init__(self, replaced: Replaced) -> None:
        self._replaced = replaced

    def process(self, record: Record[str, str]) -> None:
        if record.value == OLD[-1]:
            self._replaced.replace()
            self.context.commit()
        elif record.value in NEW:
            raise ValueError("the end of the application")
        self.context.forward(record)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_the_next_process_reads_the_new_source_whole(servers: str, guarantee: Guarantee) -> None:
    replaced = Replaced(servers)
    with replaced.application(replaced.replacing, guarantee) as app:
        replaced.topics.write(replaced.source, OLD[:10])
        wait_until(lambda: replaced.committed() == 10, 60)
        replaced.topics.write(replaced.source, OLD[10:])
        wait_until(lambda: app.state is StreamsState.ERROR, 90)
    assert replaced.is_replaced
    assert "the end of the application" in str(app.error)
    assert replaced.committed() <= 0, "whoever begins now would skip records of the new source"
    with replaced.application(replaced.copying, guarantee):
        wait_until(lambda: replaced.committed() == len(NEW), 90)
    assert [value for value in replaced.topics.written(replaced.sink) if value in NEW] == NEW
