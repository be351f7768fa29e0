"""Several workers of a process in a classic group: the leader sees one process, and a worker that ends is replaced."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from uuid import UUID

import pytest
from attrs import evolve, frozen
from confluent_kafka import Producer

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.streams import KafkaStreams, StreamsBuilder, Topology, UncaughtErrorResponse, serdes
from tests.integration.test_killed_streams_applications import workers_of
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.topics_of_servers import TopicsOfServers
from tests.support.members.described_classic_group import DescribedMember, described_members

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(600)]

PATIENCE_S = 200.0
PARTITIONS, WORKERS = 8, 3
POISON = "poison"


def copied(source: str, sink: str, marker: str) -> Topology:
    """A topology whose function fails at the first poison that any process meets."""

    def checked(value: str) -> str:
        if value == POISON and not Path(marker).exists():
            Path(marker).touch()
            raise ValueError(f"cannot read {value}")
        return value

    builder = StreamsBuilder()
    builder.stream(source, key=serdes.string, value=serdes.string).map_values(checked).to(sink, value=serdes.string)
    return builder.build()


def replace(_error: Exception) -> UncaughtErrorResponse:
    return UncaughtErrorResponse.REPLACE_WORKER


@frozen
class Instance:
    """An instance, for processes of their own.

    Attributes:
        servers: The brokers.
        application_id: The application; its topics begin with it.
        marker: A file that exists when a worker has failed.
        session_ms: The session of its members.
        workers: The number of its workers.
    """

    servers: str
    application_id: str
    marker: str
    session_ms: int
    workers: int = 1

    def run(self) -> None:
        """Run it until it is killed."""
        keys = {
            "group.protocol": "classic", "session.timeout.ms": self.session_ms, "heartbeat.interval.ms": 300,
            "commit.interval.ms": 100, "num.workers": self.workers,
        }  # fmt: skip
        topology = partial(copied, f"{self.application_id}-in", f"{self.application_id}-out", self.marker)
        KafkaStreams(
            topology, keys, application_id=self.application_id, bootstrap_servers=self.servers,
            uncaught_exception_handler=replace,
        ).run()  # fmt: skip


@pytest.fixture
def servers() -> Iterator[str]:
    settings = {"group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 1_000}
    with EmbeddedCluster(settings=settings) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


class Scene:
    """A process with three workers beside one with one worker."""

    def __init__(self, servers: str, directory: Path, session_ms: int) -> None:
        self.servers, self.application_id = servers, unique("workers")
        self.marker = directory / "failed"
        self.topics = TopicsOfServers(servers)
        create_topics({"bootstrap.servers": servers}, {f"{self.application_id}-in": PARTITIONS})
        self.topics.create(f"{self.application_id}-out")
        instance = Instance(servers, self.application_id, str(self.marker), session_ms)
        self.small, self.large = started(instance), started(evolve(instance, workers=WORKERS))

    def wait_until_shared(self) -> None:
        wait_until(lambda: self.shares() == [[2], [2, 2, 2]], PATIENCE_S, self.shares)

    def members(self) -> dict[UUID, list[DescribedMember]]:
        found: dict[UUID, list[DescribedMember]] = {}
        for each in described_members(self.servers, self.application_id):
            found.setdefault(each.process_id, []).append(each)
        return found

    def shares(self) -> list[list[int]]:
        """The numbers of tasks of the members of each process."""
        return sorted(sorted(len(each.active) for each in members) for members in self.members().values())

    def ids(self, members: int) -> set[str]:
        """The ids of the members of the process with so many of them; none while the group rebalances."""
        found = [its for its in self.members().values() if len(its) == members]
        return {each.member_id for each in found[0]} if found else set()

    def write_to_large(self, value: str) -> None:
        """Write a record to a partition that the process with three workers has."""
        [members] = [its for its in self.members().values() if len(its) == WORKERS]
        producer = Producer({"bootstrap.servers": self.servers})
        producer.produce(f"{self.application_id}-in", value, "key", min(members[0].active).partition)
        assert producer.flush(30) == 0

    def process_ids(self) -> set[UUID]:
        return set(self.members())

    def close(self) -> None:
        alive = [each.is_alive() for each in (self.small, self.large)]
        for each in (self.small, self.large):
            each.kill()
            each.join()
        assert all(alive), "one ended by itself"


def started(instance: Instance) -> BaseProcess:
    process = multiprocessing.get_context("spawn").Process(target=instance.run)
    process.start()
    return process


def test_a_worker_that_fails_is_replaced_at_once(servers: str, tmp_path: Path) -> None:
    # The session does not end within the test: the failed worker has left.
    with closing(Scene(servers, tmp_path, 300_000)) as scene:
        scene.wait_until_shared()
        processes, before = scene.process_ids(), scene.ids(WORKERS)
        scene.write_to_large(POISON)
        wait_until(scene.marker.exists, PATIENCE_S)
        wait_until(lambda: is_replaced(scene, before), PATIENCE_S, scene.shares)
        assert scene.process_ids() == processes
        assert scene.topics.written(f"{scene.application_id}-out") == [POISON]


def test_a_killed_worker_is_replaced_in_its_process_after_its_session(servers: str, tmp_path: Path) -> None:
    with closing(Scene(servers, tmp_path, 3_000)) as scene:
        scene.wait_until_shared()
        processes, before = scene.process_ids(), scene.ids(WORKERS)
        assert scene.large.pid is not None
        os.kill(max(workers_of(scene.large.pid)), signal.SIGKILL)
        wait_until(lambda: is_replaced(scene, before), PATIENCE_S, scene.shares)
        assert scene.process_ids() == processes
        scene.write_to_large("value")
        wait_until(lambda: scene.topics.written(f"{scene.application_id}-out") == ["value"], PATIENCE_S)


def is_replaced(scene: Scene, before: set[str]) -> bool:
    """Whether one member of the process is another one, and the tasks are shared as before."""
    now = scene.ids(WORKERS)
    return len(now - before) == 1 and scene.shares() == [[2], [2, 2, 2]]
