"""State of tasks that moved away from a process with several workers: one of its members names it in each round."""

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from uuid import UUID

import pytest
from attrs import frozen
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.streams import KafkaStreams, StreamsBuilder, Topology, serdes
from kafka_groups.types import TaskId
from tests.integration.test_killed_streams_applications import workers_of
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.members.described_classic_group import DescribedMember, described_members

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(600)]

PATIENCE_S = 200.0
PARTITIONS, WORKERS, RECORDS = 8, 3, 400
TASKS = [TaskId("0", number) for number in range(PARTITIONS)]


def counted(source: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(source, key=serdes.string, value=serdes.string).group_by_key().count(store="counts")
    return builder.build()


@frozen
class Instance:
    """An instance with a disk, for processes of their own."""

    servers: str
    application_id: str
    state_dir: Path
    workers: int

    def run(self) -> None:
        """Run it until it is killed."""
        keys = {
            "group.protocol": "classic", "session.timeout.ms": 3_000, "heartbeat.interval.ms": 300,
            "commit.interval.ms": 100, "num.workers": self.workers, "default.dsl.store": "lmdb",
            "state.dir": str(self.state_dir),
        }  # fmt: skip
        KafkaStreams(
            partial(counted, f"{self.application_id}-in"), keys, application_id=self.application_id,
            bootstrap_servers=self.servers,
        ).run()  # fmt: skip

    def started(self) -> BaseProcess:
        process = multiprocessing.get_context("spawn").Process(target=self.run)
        process.start()
        return process


class Scene:
    """A process with three workers and all state, and one with one worker that takes some tasks of it."""

    def __init__(self, servers: str, directory: Path) -> None:
        self.servers, self.application_id = servers, unique("dormant")
        create_topics({"bootstrap.servers": servers}, {f"{self.application_id}-in": PARTITIONS})
        producer = Producer({"bootstrap.servers": servers})
        for number in range(RECORDS):
            producer.produce(f"{self.application_id}-in", "x", f"{number}", number % PARTITIONS)
        assert producer.flush(30) == 0
        self._made = [
            Instance(servers, self.application_id, directory / name, workers)
            for name, workers in (("large", WORKERS), ("small", 1))
        ]
        self.large = self._made[0].started()
        wait_until(lambda: self.shares() == [[2, 3, 3]], PATIENCE_S, self.shares)
        wait_until(self.is_counted, PATIENCE_S)
        self.small = self._made[1].started()

    def restart_large(self) -> None:
        """Kill all processes of the large one, and start it again."""
        workers = workers_of(self.large.pid or 0)
        self.large.kill()
        self.large.join()
        for each in workers:
            os.kill(each, signal.SIGKILL)
        self.large = self._made[0].started()

    def members(self) -> dict[UUID, list[DescribedMember]]:
        found: dict[UUID, list[DescribedMember]] = {}
        for each in described_members(self.servers, self.application_id):
            found.setdefault(each.process_id, []).append(each)
        return found

    def shares(self) -> list[list[int]]:
        return sorted(sorted(len(each.active) for each in members) for members in self.members().values())

    def is_counted(self) -> bool:
        """Whether all records are committed."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": self.application_id})
        try:
            places = [TopicPartition(f"{self.application_id}-in", number) for number in range(PARTITIONS)]
            return sum(max(each.offset, 0) for each in consumer.committed(places, 10)) == RECORDS
        finally:
            consumer.close()

    def named(self) -> Counter[TaskId]:
        """How many members of the large process named each task in the last round."""
        found = [its for its in self.members().values() if len(its) == WORKERS]
        return Counter(task for its in found for each in its for task in each.sums)

    def wait_until_each_is_named_once(self) -> None:
        wait_until(lambda: self.shares() == [[2], [2, 2, 2]], PATIENCE_S, self.shares)
        wait_until(lambda: self.named() == Counter(TASKS), PATIENCE_S, self.named)

    def end(self) -> None:
        alive = [each.is_alive() for each in (self.small, self.large)]
        for each in (self.small, self.large):
            each.kill()
            each.join()
        assert all(alive), "one ended by itself"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    settings = {"group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 1_000}
    with EmbeddedCluster(settings=settings) as cluster:
        made = Scene(cluster.bootstrap_servers, tmp_path)
        yield made
        made.end()
        assert cluster.unexpected_errors == ()


def test_each_state_of_a_process_is_named_by_one_of_its_members(scene: Scene) -> None:
    scene.wait_until_each_is_named_once()
    # A worker that is killed, and its replacement.
    before = {each.member_id for its in scene.members().values() for each in its}
    os.kill(max(workers_of(scene.large.pid)), signal.SIGKILL)
    wait_until(lambda: is_replaced(scene, before), PATIENCE_S, scene.shares)
    scene.wait_until_each_is_named_once()
    # All of them, whose files are not closed cleanly.
    scene.restart_large()
    scene.wait_until_each_is_named_once()


def is_replaced(scene: Scene, before: set[str]) -> bool:
    now = {each.member_id for its in scene.members().values() for each in its}
    return len(now) == WORKERS + 1 and len(now - before) == 1
