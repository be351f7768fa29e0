"""A broker hosts any coordinator: one of its own kind is led, expired, asked and stopped with the others."""

import pytest

from kafka_groups.broker.coordinators.internal_topic import InternalTopic
from kafka_groups.broker.coordinators.result import Effect
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, SHARE_STATE_TOPIC
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime, ShardKind
from kafka_groups.broker.runtime.hosting import HostedCoordinator, HostedCoordinators
from kafka_groups.broker.runtime.led_shard import ShardAddress
from kafka_groups.broker.runtime.outcome import PendingOutcome
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.errors import NotCoordinatorError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.types import TopicPartition
from tests.support.broker.coordinators import Cluster
from tests.support.broker.share_state import cluster_of
from tests.unit.broker.runtime.scenes import TOPIC, NumberCodec, Numbers, error_of


class NumberCoordinator:
    """Coordinates numbers by name, in a topic of its own. Brokers may ask each other for producer ids."""

    peer_apis = (ApiKey.INIT_PRODUCER_ID,)

    def __init__(self, broker: BrokerParts) -> None:
        self.topic = InternalTopic(TOPIC, 2, 1, {}, broker.cluster.metadata)
        kind = ShardKind(TOPIC, NumberCodec(), Numbers, _no_effects)
        self.runtime: CoordinatorRuntime[Numbers] = CoordinatorRuntime(broker, kind)

    def put(self, name: str, value: int) -> PendingOutcome[None]:
        outcome: PendingOutcome[None] = PendingOutcome()
        self.runtime.run(0, lambda shard: shard.put(name, value), outcome)
        return outcome

    def values(self) -> dict[str, int]:
        shard = self.runtime.active_shard(0)
        return {} if shard is None else shard.values


def _no_effects(effect: Effect, _address: ShardAddress) -> None:
    raise TypeError(effect)


class Bench:
    """Two brokers, each with its usual coordinators and a third one."""

    def __init__(self) -> None:
        self.metadata = cluster_of(2)
        self.cluster = Cluster(self.metadata)
        self.numbers: list[NumberCoordinator] = []
        self.hosted: list[HostedCoordinators] = []
        for node_id, usual in self.cluster.brokers.items():
            broker = BrokerParts(node_id, self.cluster.parts, self.cluster.turns.later, lambda _: None, lambda: None)
            numbers = NumberCoordinator(broker)
            entries: tuple[HostedCoordinator, ...] = (usual.share, usual.groups, numbers)
            hosted = HostedCoordinators(entries)
            self.metadata.on_change(hosted.metadata_changed)
            self.numbers.append(numbers)
            self.hosted.append(hosted)
        self.numbers[0].topic.ensured()
        self.move(0)

    def move(self, node_id: int) -> None:
        self.metadata.move_leader(TopicPartition(TOPIC, 0), node_id)
        self.cluster.turns.run()


def test_it_is_one_entry_for_topics_shards_and_apis_of_peers() -> None:
    hosted = Bench().hosted[0]
    assert set(hosted.topics) == set(hosted.runtimes) == {GROUP_TOPIC, SHARE_STATE_TOPIC, TOPIC}
    assert ApiKey.INIT_PRODUCER_ID in hosted.peer_apis
    assert ApiKey.READ_SHARE_GROUP_STATE in hosted.peer_apis


def test_it_follows_the_leaders_of_its_topic() -> None:
    bench = Bench()
    first, second = bench.numbers
    first.put("one", 1).now()
    bench.move(1)
    assert error_of(first.put("two", 2)) is NotCoordinatorError
    second.put("two", 2).now()
    assert second.values() == {"one": 1, "two": 2}


def test_it_expires_what_is_due() -> None:
    bench = Bench()
    runtime = bench.hosted[0].runtimes[TOPIC]
    shard = bench.numbers[0].runtime.active_shard(0)
    assert shard is not None
    shard.deadline_ms = 500
    bench.numbers[0].put("one", 1).now()
    assert min(each.next_deadline_ms() or 10**9 for each in bench.hosted[0].runtimes.values()) == 500
    runtime.expire(500)
    assert shard.values["expired"] == 500
    assert runtime.next_deadline_ms() is None


def test_it_follows_deletions_of_topics() -> None:
    bench = Bench()
    bench.metadata.create_topic("t", 1)
    assert "changed" not in bench.numbers[0].values()
    bench.metadata.delete_topic("t")
    assert bench.numbers[0].values()["changed"] == 1


def test_it_is_stopped_with_the_others() -> None:
    bench = Bench()
    bench.hosted[0].stop()
    for runtime in bench.hosted[0].runtimes.values():
        with pytest.raises(NotCoordinatorError):
            runtime.check(0)
