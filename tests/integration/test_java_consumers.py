"""Ordinary Java consumers as static members (KIP-345): a restart moves nothing, and the older of two is fenced."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.conditions import wait_until
from tests.support.kafka.java_consumers import JavaConsumer, JavaConsumers
from tests.support.kafka.kafka_classpath import libs_or_skip
from tests.support.kafka.real_kafka import unique
from tests.support.members.classic_brokers import classic_brokers
from tests.support.members.confluent_reader import PATIENCE_S

__all__ = ["classic_brokers"]

PARTITIONS = 7
INSTANCES = ("one", "two", "three")
Owned = Mapping[str, frozenset[int]]

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaConsumers]:
    """A JVM for all tests of this module."""
    with JavaConsumers(tmp_path_factory.mktemp("java-consumers"), libs_or_skip()) as consumers:
        yield consumers


@pytest.fixture
def java(jvm: JavaConsumers, bootstrap_servers: str) -> Iterator[JavaConsumers]:
    """Consumers that are closed while the broker is there."""
    assert bootstrap_servers
    yield jvm
    jvm.close(*jvm.state())


class Group:
    """A topic and a group of a test's own, whose members are instances."""

    def __init__(self, java: JavaConsumers, bootstrap_servers: str, assignor: str) -> None:
        self.java = java
        self.topic = unique("topic")
        self._properties = {
            "bootstrap_servers": bootstrap_servers,
            "group_id": unique("group"),
            "group_protocol": "classic",
            "partition_assignment_strategy": f"org.apache.kafka.clients.consumer.{assignor}",
            "session_timeout_ms": "20000",
            "heartbeat_interval_ms": "200",
            "auto_offset_reset": "earliest",
        }
        admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])[self.topic].result(PATIENCE_S)

    def start(self, name: str, instance: str | None = None) -> None:
        """Start an instance, under a name of its own."""
        self.java.open(name, self.topic, group_instance_id=instance or name, **self._properties)

    def owned(self) -> dict[str, frozenset[int]]:
        """The partitions by instance."""
        return {name: each.partitions for name, each in self.java.state().items()}

    def assignments(self) -> dict[str, int]:
        """How often each instance was told of an assignment."""
        return {name: each.assignments for name, each in self.java.state().items()}

    def wait(self, condition: Callable[[dict[str, JavaConsumer]], object]) -> None:
        """Wait until something is the case."""
        wait_until(lambda: condition(self.java.state()), PATIENCE_S)

    def all_share(self) -> Owned:
        """Wait until the partitions are shared by all, and return who owns which."""
        self.wait(lambda state: _are_shared([each.partitions for each in state.values()]))
        return self.owned()


def _are_shared(owned: Sequence[frozenset[int]]) -> bool:
    numbers = sorted(number for each in owned for number in each)
    return len(owned) == len(INSTANCES) and all(owned) and numbers == list(range(PARTITIONS))


@pytest.mark.parametrize("assignor", ["RangeAssignor", "CooperativeStickyAssignor"])
def test_o_each_instance_has_its_old_partitions_after_restarts_and_a_rebalance(
    java: JavaConsumers, bootstrap_servers: str, assignor: str
) -> None:
    group = Group(java, bootstrap_servers, assignor)
    for name in INSTANCES:
        group.start(name)
    before = group.all_share()
    told = group.assignments()
    for name in INSTANCES:
        java.close(name)
        group.start(name)
        assert group.all_share() == before
        told[name] = 1
    assert group.assignments() == told, "restarts are no rebalances"

    java.enforce_rebalance("two")
    group.wait(lambda state: all(each.assignments > told[name] for name, each in state.items()))
    assert group.all_share() == before


def test_l_the_older_of_two_with_one_instance_id_is_fenced(java: JavaConsumers, bootstrap_servers: str) -> None:
    group = Group(java, bootstrap_servers, "RangeAssignor")
    group.start("older", "one")
    group.wait(lambda state: len(state["older"].partitions) == PARTITIONS)
    group.start("newer", "one")
    group.wait(lambda state: state["older"].error)
    group.wait(lambda state: len(state["newer"].partitions) == PARTITIONS)
    state = java.state()
    assert (state["older"].error, state["newer"].error) == ("FencedInstanceIdException", "")
