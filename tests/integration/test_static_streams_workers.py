"""Rolling restarts of applications whose workers are static members: no task moves."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path

import pytest
from attrs import frozen

from kafka_groups.admin import KafkaAdmin, StreamsGroupDescription
from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.librdkafka.record_writer import RecordWriter
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.streams import KafkaStreams, StreamsBuilder, StreamsState, Topology, serdes
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster, KafkaProcess
from tests.integration.test_application_scenarios import read
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

WAIT_S = 60
PROMPT = {"streams.heartbeat.interval.ms": "500", "streams.session.timeout.ms": "45000"}
INSTANCES = ("a", "b")


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real_kafka)])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "real":
        kafka: KafkaProcess = request.getfixturevalue("real_kafka")
        yield kafka.bootstrap_servers
    else:
        with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
            yield cluster.bootstrap_servers


def copying(letters: str, copies: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(letters, key=serdes.string, value=serdes.string).to(copies)
    return builder.build()


@frozen
class Group:
    """The epoch of the group, and the tasks of its members by instance id."""

    epoch: int
    tasks: Mapping[str | None, Mapping[str, AbstractSet[int]]]


class Deployment:
    """Instances of an application, each with a state directory of its own."""

    def __init__(self, servers: str, directory: Path, workers: int) -> None:
        self.servers, self.directory, self.workers = servers, directory, workers
        self.id, self.letters, self.topic_of_copies = unique("app"), unique("letters"), unique("copies")
        create_topics({"bootstrap.servers": servers}, {self.letters: 4, self.topic_of_copies: 1})
        with KafkaAdmin(bootstrap_servers=servers) as admin:
            admin.alter_group_configs({self.id: PROMPT})

    def start(self, instance: str) -> KafkaStreams:
        app = KafkaStreams(
            partial(copying, self.letters, self.topic_of_copies),
            application_id=self.id,
            bootstrap_servers=self.servers,
            commit_interval_ms=100,
            num_workers=self.workers,
            group_instance_id=instance,
            state_dir=str(self.directory / instance),
        )
        app.start()
        return app

    def described(self) -> StreamsGroupDescription:
        with KafkaAdmin(bootstrap_servers=self.servers) as admin:
            return admin.describe_streams_groups([self.id])[self.id]

    def settled(self) -> Group:
        """The group, when each member has the tasks that it is to have."""
        wait_until(lambda: self._is_settled(self.described()), WAIT_S)
        found = self.described()
        tasks = {each.instance_id: each.assignment.active for each in found.members}
        return Group(found.epoch, tasks)

    def _is_settled(self, found: StreamsGroupDescription) -> bool:
        has_all = len(found.members) == len(INSTANCES) * self.workers and found.state == "Stable"
        return has_all and all(each.assignment.active == each.target_assignment.active for each in found.members)

    def copies(self, *letters: str) -> None:
        """Wait until these letters, which are sent now, have been copied."""
        writer = RecordWriter({"bootstrap.servers": self.servers})
        for letter in letters:
            writer.write(OutgoingRecord(self.letters, letter.encode(), letter.encode()))
        writer.flush(WAIT_S)
        wait_until(lambda: set(letters) <= {key for _, key, _ in read(self.servers, self.topic_of_copies, 1)}, WAIT_S)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_rolling_restart_moves_no_task(servers: str, tmp_path: Path, workers: int) -> None:
    deployment = Deployment(servers, tmp_path, workers)
    apps = {instance: deployment.start(instance) for instance in INSTANCES}
    try:
        for app in apps.values():
            app.wait_until_running(WAIT_S)
        deployment.copies(*"abcdefgh")
        before = deployment.settled()
        assert set(before.tasks) == {f"{each}-{number + 1}" for each in INSTANCES for number in range(workers)}
        for instance in INSTANCES:
            assert apps[instance].close(WAIT_S)
            apps[instance] = deployment.start(instance)
            apps[instance].wait_until_running(WAIT_S)
            assert deployment.settled() == before
        deployment.copies(*"ijklmnop")
    finally:
        for app in apps.values():
            app.close(WAIT_S)
    assert {app.state for app in apps.values()} == {StreamsState.NOT_RUNNING}
