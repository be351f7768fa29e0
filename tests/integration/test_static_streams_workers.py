"""Rolling restarts of applications whose workers are static members: no task moves."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest
from attrs import frozen

from kafka_groups.admin import KafkaAdmin, StreamsGroupDescription
from kafka_groups.streams import KafkaStreams, StreamsBuilder, StreamsState, Topology, serdes
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from tests.support.conditions import wait_until

WAIT_S = 60
PROMPT = {"group.streams.heartbeat.interval.ms": 200, "group.streams.session.timeout.ms": 45_000}
INSTANCES = ("a", "b")


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={**FAST_SETTINGS, **PROMPT}) as cluster:
        cluster.create_topic("letters", 4)
        cluster.create_topic("copies")
        yield cluster


def copying() -> Topology:
    builder = StreamsBuilder()
    builder.stream("letters", key=serdes.string, value=serdes.string).to("copies")
    return builder.build()


@frozen
class Group:
    """The epoch of the group, and the tasks of its members by instance id."""

    epoch: int
    tasks: Mapping[str | None, Mapping[str, AbstractSet[int]]]


class Deployment:
    """Instances of an application, each with a state directory of its own."""

    def __init__(self, cluster: EmbeddedCluster, directory: Path, workers: int) -> None:
        self.cluster, self.directory, self.workers = cluster, directory, workers

    def start(self, instance: str) -> KafkaStreams:
        app = KafkaStreams(
            copying,
            application_id="app",
            bootstrap_servers=self.cluster.bootstrap_servers,
            commit_interval_ms=100,
            num_workers=self.workers,
            group_instance_id=instance,
            state_dir=str(self.directory / instance),
        )
        app.start()
        return app

    def described(self) -> StreamsGroupDescription:
        with KafkaAdmin(bootstrap_servers=self.cluster.bootstrap_servers) as admin:
            return admin.describe_streams_groups(["app"])["app"]

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
        self.cluster.produce("letters", letters, keys=letters)
        wanted = {letter.encode() for letter in letters}
        wait_until(lambda: {record.key for record in self.cluster.records("copies")} >= wanted, WAIT_S)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_rolling_restart_moves_no_task(cluster: EmbeddedCluster, tmp_path: Path, workers: int) -> None:
    deployment = Deployment(cluster, tmp_path, workers)
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
