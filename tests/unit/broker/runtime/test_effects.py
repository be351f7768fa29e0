"""What the group coordinator has done by the share coordinators of a cluster, one broker of which may be away."""

from typing import Any
from uuid import UUID

import pytest

from kafka_groups.broker.coordinators.groups.effects import DeleteShareState, InitializeShareState, ShareStateEffect
from kafka_groups.broker.coordinators.result import Reply
from kafka_groups.broker.metadata.placement import SHARE_STATE_TOPIC, coordinator_of, share_state_key
from kafka_groups.broker.runtime.coordinator_runtime import ShardAddress
from kafka_groups.broker.runtime.effects import ShareStateEffects
from kafka_groups.errors import BrokerError, CoordinatorNotAvailableError
from tests.support.coordinators import Cluster
from tests.support.share_state import cluster_of

TOPIC = UUID(int=5)
HERE = ShardAddress(0, 0)


class Bench:
    """The effects of broker 0 in a cluster of two brokers."""

    def __init__(self) -> None:
        self.cluster = Cluster(cluster_of(2))
        self.settled: list[tuple[ShareStateEffect, BrokerError | None]] = []
        persister = self.cluster.brokers[0].persister
        self.effects = ShareStateEffects(
            persister, lambda _address, effect, error: self.settled.append((effect, error))
        )
        self.cluster.parts.internal_topics[SHARE_STATE_TOPIC].ensured()

    def start_offset(self, partition: int) -> int | None:
        state = self.cluster.parts.directory.state_now(("g", TOPIC, partition))
        return None if state is None else state.start_offset

    def led_by(self, node_id: int) -> int:
        """A partition whose state a broker coordinates."""
        image = self.cluster.parts.metadata.image
        keys = ((number, share_state_key("g", TOPIC, number)) for number in range(100))
        return next(number for number, key in keys if coordinator_of(image, key, SHARE_STATE_TOPIC) == node_id)


def creation(*partitions: int, offset: int = 3, restarts: bool = False) -> InitializeShareState:
    return InitializeShareState("g", 2, {(TOPIC, each): offset for each in partitions}, restarts=restarts)


def test_states_are_made_wherever_they_belong() -> None:
    bench = Bench()
    first, second = bench.led_by(0), bench.led_by(1)
    effect = creation(first, second)
    bench.effects.perform(effect, HERE)
    assert bench.settled == [(effect, None)]
    assert (bench.start_offset(first), bench.start_offset(second)) == (3, 3)


def test_a_state_that_exists_is_kept_unless_it_restarts() -> None:
    bench = Bench()
    for effect in (creation(0, offset=3), creation(0, offset=7)):
        bench.effects.perform(effect, HERE)
    assert bench.start_offset(0) == 3
    bench.effects.perform(creation(0, offset=7, restarts=True), HERE)
    assert bench.start_offset(0) == 7


def test_an_effect_of_nothing_is_settled_too() -> None:
    bench = Bench()
    bench.effects.perform(DeleteShareState("g", {}), HERE)
    assert len(bench.settled) == 1


def test_the_effects_of_a_group_wait_for_each_other_and_not_for_those_of_others() -> None:
    bench = Bench()
    away = bench.led_by(1)
    bench.cluster.parts.directory.remove(1)
    slow, deletion = creation(away), DeleteShareState("g", {TOPIC: frozenset({away})})
    other = InitializeShareState("h", 2, {})
    for effect in (slow, deletion, other):
        bench.effects.perform(effect, HERE)
    assert bench.settled == [(other, None)]
    bench.cluster.parts.directory.add(1, bench.cluster.brokers[1])
    bench.cluster.turns.run()
    assert bench.settled == [(other, None), (slow, None), (deletion, None)]
    assert bench.start_offset(away) is None


def test_a_coordinator_that_stays_away_is_told_after_some_tries() -> None:
    bench = Bench()
    away = bench.led_by(1)
    bench.cluster.parts.directory.remove(1)
    bench.effects.perform(creation(bench.led_by(0), away), HERE)
    bench.cluster.turns.run()
    [(_effect, error)] = bench.settled
    assert isinstance(error, CoordinatorNotAvailableError)
    assert bench.cluster.turns.now_ms == 50 + 100 + 200 + 400 + 800


def test_other_effects_are_refused() -> None:
    wrong: Any = Reply(1, None)
    with pytest.raises(TypeError, match="no effect"):
        Bench().effects.perform(wrong, HERE)
