"""Static members (KIP-345) that are confluent-kafka consumers, on the embedded broker and on a real Kafka."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from attrs import define, field
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metadata.placement import GROUP_TOPIC
from tests.support.kafka.real_kafka import unique
from tests.support.members.confluent_reader import PARTITIONS, PATIENCE_S, Reader, poll_until, share_all
from tests.support.members.consuming import values

QUICK = {"group.initial.rebalance.delay.ms": 100}
INSTANCES = ("one", "two", "three")


@define
class Scene:
    """A topic and a group of a test's own.

    Attributes:
        bootstrap_servers: Where they are.
        topic: The topic.
        group_id: The group.
    """

    bootstrap_servers: str
    topic: str = field(factory=lambda: unique("topic"))
    group_id: str = field(factory=lambda: unique("group"))
    _open: list[Reader] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])[self.topic].result(PATIENCE_S)

    def reader(self, instance: str | None = None, **properties: Any) -> Reader:
        """Start a consumer."""
        static = {} if instance is None else {"group_instance_id": instance}
        made = Reader(self.bootstrap_servers, self.topic, group_id=self.group_id, **static, **properties)
        self._open.append(made)
        return made

    def sharing(self, *instances: str | None, **properties: Any) -> list[Reader]:
        """Start consumers, and wait until they share the partitions."""
        readers = [self.reader(instance, **properties) for instance in instances]
        poll_until(lambda: share_all(*readers), *readers)
        return readers

    def close(self, *readers: Reader) -> None:
        """Close consumers, or all that are open."""
        for reader in readers or tuple(self._open):
            self._open.remove(reader)
            reader.close()

    def produce(self, sent: Sequence[bytes]) -> None:
        """Append records to all partitions by turns."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers})
        for number, value in enumerate(sent):
            producer.produce(self.topic, value=value, partition=number % PARTITIONS)
        assert producer.flush(PATIENCE_S) == 0


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.real_kafka)])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A scene on each kind of broker."""
    if request.param == "kafka":
        scene = Scene(request.getfixturevalue("real_kafka").bootstrap_servers)
        yield scene
        scene.close()
        return
    with EmbeddedCluster(settings=QUICK) as cluster:
        scene = Scene(cluster.bootstrap_servers)
        yield scene
        scene.close()
        assert cluster.unexpected_errors == ()


def test_b_a_restart_keeps_the_partitions_and_moves_nothing(scene: Scene) -> None:
    first, second = scene.sharing("one", "two")
    owned, told = first.partitions, len(second.assignments)
    scene.close(first)  # a static member does not leave
    again = scene.reader("one")
    poll_until(lambda: bool(again.partitions), again, second)
    assert (again.partitions, len(second.assignments)) == (owned, told)


@pytest.mark.slow
def test_j_after_the_session_timeout_the_others_have_its_partitions(scene: Scene) -> None:
    first, second = scene.sharing("one", "two")
    told = len(second.assignments)
    scene.close(first)
    poll_until(lambda: len(second.partitions) == PARTITIONS, second)
    assert len(second.assignments) == told + 1, "one rebalance, and no more"
    again = scene.reader("one")
    poll_until(lambda: share_all(again, second), again, second)
    assert len(second.assignments) == told + 2


def test_l_the_older_of_two_with_one_instance_id_fails_loudly(scene: Scene) -> None:
    older = scene.reader("one")
    poll_until(lambda: bool(older.partitions), older)
    newer = scene.reader("one")
    poll_until(lambda: older.fatal is not None and bool(newer.partitions), older, newer)
    assert "fenced" in str(older.fatal)
    scene.produce([b"v"])
    poll_until(lambda: newer.values == [b"v"], newer)
    assert newer.fatal is None


@pytest.mark.slow
def test_n_members_roll_to_static_and_back_and_no_record_is_lost(scene: Scene) -> None:
    sent = values(60)
    rolled: list[Reader] = []
    readers = scene.sharing(None, None, None, enable_auto_commit=True, auto_commit_interval_ms=200)
    for step, instances in enumerate((INSTANCES, (None, None, None))):
        for place, instance in enumerate(instances):
            scene.produce(sent[10 * (3 * step + place) :][:10])
            rolled.append(readers[place])
            poll_until(lambda: bool(rolled[-1].partitions), *readers)  # whatever it is assigned, it takes with it
            scene.close(readers[place])
            readers[place] = scene.reader(instance, enable_auto_commit=True, auto_commit_interval_ms=200)
    poll_until(lambda: share_all(*readers), *readers)
    poll_until(lambda: _read(*rolled, *readers) == set(sent), *readers)
    assert len(rolled) == 6


def _read(*readers: Reader) -> set[bytes | None]:
    return {value for reader in readers for value in reader.values}


@pytest.mark.parametrize("kills", [False, True])
def test_m_a_restart_moves_nothing_after_the_coordinator_is_another(kills: bool) -> None:
    with EmbeddedCluster(2, settings={**QUICK, "offsets.topic.num.partitions": 1}) as cluster:
        scene = Scene(cluster.bootstrap_servers)
        first, second = scene.sharing("one", "two")
        owned, told = first.partitions, len(second.assignments)
        coordinator = cluster.leader_of(GROUP_TOPIC, 0)
        if kills:
            cluster.kill_broker(coordinator)
        else:
            cluster.move_leader(GROUP_TOPIC, 0, 3 - coordinator)
        scene.close(first)
        again = scene.reader("one")
        poll_until(lambda: bool(again.partitions), again, second)
        assert (again.partitions, len(second.assignments)) == (owned, told)
        scene.close()
