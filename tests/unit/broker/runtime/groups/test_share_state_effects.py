"""In which order the group coordinator's wishes are performed, and how it hears of their end."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.broker.coordinators.groups.share.effects import (
    DeleteShareState,
    InitializeShareState,
    ShareStateEffect,
)
from kafka_groups.broker.coordinators.result import Reply
from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.runtime.groups.share_state_effects import ShareStateEffects
from kafka_groups.broker.runtime.led_shard import ShardAddress
from kafka_groups.errors import BrokerError, CoordinatorNotAvailableError

TOPIC = UUID(int=5)
HERE = ShardAddress(0, 0)


class SlowPersister:
    """Answers when a test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, StateKey, int | None, Callable[[BrokerError | None], None]]] = []

    def create(self, key: StateKey, _epoch: int, offset: int, done: Callable[[BrokerError | None], None]) -> None:
        self.asked.append(("create", key, offset, done))

    def restart(self, key: StateKey, _epoch: int, offset: int, done: Callable[[BrokerError | None], None]) -> None:
        self.asked.append(("restart", key, offset, done))

    def delete(self, key: StateKey, done: Callable[[BrokerError | None], None]) -> None:
        self.asked.append(("delete", key, None, done))


class Bench:
    def __init__(self) -> None:
        self.persister = SlowPersister()
        self.settled: list[tuple[ShareStateEffect, BrokerError | None]] = []
        persister: Any = self.persister
        self.effects = ShareStateEffects(
            persister, lambda _address, effect, error: self.settled.append((effect, error))
        )

    def perform(self, *effects: ShareStateEffect) -> None:
        for effect in effects:
            self.effects.perform(effect, HERE)

    def wishes(self) -> list[tuple[str, str, int, int | None]]:
        return [(name, key[0], key[2], offset) for name, key, offset, _ in self.persister.asked]

    def answer(self, error: BrokerError | None = None) -> None:
        self.persister.asked.pop(0)[3](error)


def creation(*partitions: int, group_id: str = "g", restarts: bool = False) -> InitializeShareState:
    return InitializeShareState(group_id, 2, {(TOPIC, each): 3 for each in partitions}, restarts=restarts)


def deletion(*partitions: int) -> DeleteShareState:
    return DeleteShareState("g", {TOPIC: frozenset(partitions)})


def test_an_effect_is_settled_when_all_its_states_are() -> None:
    bench, effect = Bench(), creation(0, 1)
    bench.perform(effect)
    assert bench.wishes() == [("create", "g", 0, 3), ("create", "g", 1, 3)]
    bench.answer()
    assert bench.settled == []
    bench.answer()
    assert bench.settled == [(effect, None)]


def test_one_that_fails_is_enough_for_an_error() -> None:
    bench, error = Bench(), CoordinatorNotAvailableError()
    bench.perform(creation(0, 1, 2))
    for each in (None, error, None):
        bench.answer(each)
    assert [outcome for _, outcome in bench.settled] == [error]


def test_states_begin_afresh_if_that_is_wanted() -> None:
    bench = Bench()
    bench.perform(creation(0, restarts=True))
    assert bench.wishes() == [("restart", "g", 0, 3)]


def test_an_effect_of_nothing_is_settled_at_once() -> None:
    bench = Bench()
    bench.perform(deletion(), creation())
    assert len(bench.settled) == 2


def test_the_effects_of_a_group_wait_for_each_other_and_not_for_those_of_others() -> None:
    bench = Bench()
    bench.perform(creation(0), deletion(0), creation(7, group_id="h"))
    assert bench.wishes() == [("create", "g", 0, 3), ("create", "h", 7, 3)]
    bench.answer(CoordinatorNotAvailableError())
    assert bench.wishes() == [("create", "h", 7, 3), ("delete", "g", 0, None)]
    for _ in range(2):
        bench.answer()
    assert len(bench.settled) == 3
    bench.perform(creation(1))
    assert bench.wishes() == [("create", "g", 1, 3)]


def test_other_effects_are_refused() -> None:
    wrong: Any = Reply(1, None)
    with pytest.raises(TypeError, match="no effect"):
        Bench().effects.perform(wrong, HERE)
