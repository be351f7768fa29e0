"""Applications in classic groups on brokers in several racks: tasks run where their partitions are, and follow them."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from kafka_groups.admin import ClassicStreamsGroupMember, KafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.streams import KafkaStreams
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka.kafka_classpath import tools_classpath
from tests.support.kafka.kafka_tools import KafkaTools
from tests.support.kafka.kafka_trio import racked_pair
from tests.support.kafka.real_kafka import unique
from tests.support.members.counted_application import counted
from tests.support.racked_brokers import EmbeddedRacks, KafkaRacks, RackedBrokers

pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]

PATIENCE_S = 90.0
LOOKING_MS = 3_000
"""The leader looks so often where the partitions are."""
SUBTOPOLOGIES = 2


@pytest.fixture(
    scope="module", params=["embedded", pytest.param("real", marks=[pytest.mark.real_kafka, pytest.mark.long])]
)
def brokers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RackedBrokers]:
    if request.param == "real":
        directory = tmp_path_factory.mktemp("reassigned")
        with racked_pair() as nodes, KafkaTools(directory, tools_classpath()) as tools:
            yield KafkaRacks(nodes, tools, directory)
        return
    with EmbeddedCluster(3, settings={"group.initial.rebalance.delay.ms": 100}) as cluster:
        yield EmbeddedRacks(cluster)
        assert cluster.unexpected_errors == ()


class RackedApplication:
    """An application with an instance in each rack, and two partitions of its source in each.

    Args:
        brokers: The brokers.
        strategy: Its `rack.aware.assignment.strategy`.
        directory: For the state of its instances.
    """

    def __init__(self, brokers: RackedBrokers, strategy: str, directory: Path) -> None:
        self.id = unique("racked")
        self.source, self._sink = f"{self.id}-lines", f"{self.id}-counts"
        self.nodes = [1 + number // 2 for number in range(2 * brokers.count)]
        self._brokers, self._strategy, self._directory = brokers, strategy, directory
        brokers.create(self.source, self.nodes)
        brokers.create(self._sink, [1])
        self._repartition = f"{self.id}-counts-repartition"

    def instance(self, number: int, **keys: object) -> KafkaStreams:
        """Return the instance in a rack, with other keys if there are any."""
        return KafkaStreams(
            partial(counted, self.source, self._sink),
            {
                "group.protocol": "classic",
                "heartbeat.interval.ms": 300,
                "metadata.max.age.ms": LOOKING_MS,
                "client.rack": f"r{number}",
                "rack.aware.assignment.strategy": self._strategy,
                **{name.replace("_", "."): value for name, value in keys.items()},
            },
            application_id=self.id,
            bootstrap_servers=self._brokers.servers,
            state_dir=self._directory / f"{self.id}-{number}",
        )

    def racks_of_partitions(self, admin: KafkaAdmin) -> dict[TopicPartition, str]:
        """The rack of the member that reads each partition; nothing while the group is not settled."""
        found = admin.describe_classic_streams_groups([self.id])
        if self.id not in found.values or found[self.id].state != "Stable":
            return {}
        members = found[self.id].members
        read = {"0": self.source, "1": self._repartition}
        return {
            TopicPartition(read[task.subtopology_id], task.partition): each.rack or ""
            for each in members
            for task in each.active_tasks
            if not any(it.rejoins_at_once for it in members)
        }

    def crossed(self, admin: KafkaAdmin) -> int | None:
        """The number of partitions that are read from another rack; None while not all tasks run."""
        readers = self.racks_of_partitions(admin)
        places = self._brokers.racks_of([self.source, self._repartition])
        if len(readers) != SUBTOPOLOGIES * len(self.nodes) or readers.keys() != places.keys():
            return None
        if len(set(readers.values())) != self._brokers.count:
            return None
        return sum(place != readers[partition] for partition, place in places.items())

    @property
    def least_crossed(self) -> int:
        """The fewest partitions that must be read from another rack: each instance has two tasks of a sub-topology.

        The partitions of the source are spread evenly. Those of the repartition topic are where the brokers put them.
        """
        racks = Counter(self._brokers.racks_of([self._repartition]).values())
        return sum(max(0, count - 2) for count in racks.values())

    def settled(self, admin: KafkaAdmin) -> int:
        """Wait until all instances have tasks, and return how many partitions they read from other racks."""
        wait_until(lambda: self.crossed(admin) is not None, PATIENCE_S, lambda: self.racks_of_partitions(admin))
        found = self.crossed(admin)
        assert found is not None
        return found

    def warnings(self, caplog: pytest.LogCaptureFixture) -> list[str]:
        """Return the warnings that racks do not count."""
        return [text for text in caplog.messages if "racks do not count now" in text]


@pytest.fixture(scope="module")
def admin(brokers: RackedBrokers) -> Iterator[KafkaAdmin]:
    with KafkaAdmin(bootstrap_servers=brokers.servers) as admin:
        yield admin


def test_strategies_lower_the_traffic_between_racks(brokers: RackedBrokers, admin: KafkaAdmin, tmp_path: Path) -> None:
    crossed: dict[str, int] = {}
    for strategy in ("none", "min_traffic", "balance_subtopology"):
        app = RackedApplication(brokers, strategy, tmp_path)
        with ExitStack() as stack:
            for number in range(1, brokers.count + 1):
                stack.enter_context(app.instance(number))
            crossed[strategy] = app.settled(admin) - app.least_crossed
    assert crossed["none"] > 0
    assert (crossed["min_traffic"], crossed["balance_subtopology"]) == (0, 0)


def test_partitions_that_move_to_other_racks_start_one_round(
    brokers: RackedBrokers, admin: KafkaAdmin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "kafka_groups.group")
    app = RackedApplication(brokers, "min_traffic", tmp_path)

    def begun() -> int:
        pattern = re.compile(rf"Generation \d+ of group {app.id}: .* because the replicas of {app.source} are in other")
        return sum(bool(pattern.match(each)) for each in caplog.messages)

    with ExitStack() as stack:
        for number in range(1, brokers.count + 1):
            stack.enter_context(app.instance(number))
        assert app.settled(admin) == app.least_crossed
        assert begun() == 0
        brokers.move(app.source, [1 + node_id % brokers.count for node_id in app.nodes])
        wait_until(lambda: app.crossed(admin) == app.least_crossed, PATIENCE_S, lambda: app.racks_of_partitions(admin))
        assert begun() == 1
        # The way back is one more. If the leader had begun two rounds for the way there, there would be three.
        told = len(caplog.messages)
        brokers.move(app.source, app.nodes)
        wait_until(lambda: begun() > 1, PATIENCE_S, lambda: caplog.messages[told:])
        wait_until(lambda: app.crossed(admin) == app.least_crossed, PATIENCE_S, lambda: app.racks_of_partitions(admin))
        assert begun() == 2


def test_instances_without_a_rack_are_named_once(
    brokers: RackedBrokers, admin: KafkaAdmin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = RackedApplication(brokers, "min_traffic", tmp_path)
    with app.instance(1, client_rack=""), app.instance(2):
        wait_until(lambda: len(members_of(app, admin)) == 2, PATIENCE_S)
        with app.instance(3):  # which other rounds follow
            wait_until(lambda: [bool(each.active_tasks) for each in members_of(app, admin)] == [True] * 3, PATIENCE_S)
            [member_id] = [each.member_id for each in members_of(app, admin) if not each.rack]
    assert len(app.warnings(caplog)) == 1
    assert f"the members {member_id} have no rack. Set client.rack in all instances" in app.warnings(caplog)[0]


def members_of(app: RackedApplication, admin: KafkaAdmin) -> tuple[ClassicStreamsGroupMember, ...]:
    """Return the members of an application; none while the group is not settled."""
    found = admin.describe_classic_streams_groups([app.id])
    return found[app.id].members if app.id in found.values and found[app.id].state == "Stable" else ()


@pytest.fixture(params=["embedded", pytest.param("real", marks=[pytest.mark.real_kafka, pytest.mark.long])])
def rackless(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RackedBrokers]:
    """A broker without a rack."""
    if request.param == "real":
        kafka = request.getfixturevalue("real_kafka")
        with KafkaTools(tmp_path, tools_classpath()) as tools:
            yield KafkaRacks({1: kafka}, tools, tmp_path)
        return
    with EmbeddedCluster(settings={"group.initial.rebalance.delay.ms": 0}) as cluster:
        yield EmbeddedRacks(cluster, are_racked=False)


def test_topics_on_brokers_without_a_rack_are_named(
    rackless: RackedBrokers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = RackedApplication(rackless, "min_traffic", tmp_path)
    with app.instance(1) as running:
        running.wait_until_running(PATIENCE_S)
    [text] = app.warnings(caplog)
    assert f"no broker with a replica of {app.source} has a rack. Set broker.rack on all brokers" in text
