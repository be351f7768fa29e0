"""Performs what the group coordinator wants of the share coordinator, and tells it how that ended."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial

from kafka_groups.broker.coordinators.groups.share.effects import (
    DeleteShareState,
    InitializeShareState,
    ShareStateEffect,
)
from kafka_groups.broker.coordinators.groups.share.state_partitions import share_partitions
from kafka_groups.broker.coordinators.result import Effect
from kafka_groups.broker.runtime.combined_outcomes import Outcomes
from kafka_groups.broker.runtime.led_shard import Done, ShardAddress
from kafka_groups.broker.runtime.share_state.share_persister import SharePersister
from kafka_groups.errors import BrokerError

__all__ = ["ShareStateEffects"]

Settle = Callable[[ShardAddress, ShareStateEffect, BrokerError | None], None]


class ShareStateEffects:
    """The effects of the groups that one broker coordinates. Those of one group are performed one after the other.

    Args:
        persister: The way to the share coordinators.
        settle: Takes how an effect ended: None, or the error.
    """

    def __init__(self, persister: SharePersister, settle: Settle) -> None:
        self._persister = persister
        self._settle = settle
        self._waiting: dict[str, deque[tuple[ShareStateEffect, ShardAddress]]] = {}

    def __repr__(self) -> str:
        return f"<ShareStateEffects: of {len(self._waiting)} groups>"

    def perform(self, effect: Effect, address: ShardAddress) -> None:
        """Perform an effect once the earlier ones of its group have ended."""
        if not isinstance(effect, InitializeShareState | DeleteShareState):
            raise TypeError(f"The group coordinator has no effect {effect!r}.")
        waiting = self._waiting.setdefault(effect.group_id, deque())
        waiting.append((effect, address))
        if len(waiting) == 1:
            self._begin(effect, address)

    def _begin(self, effect: ShareStateEffect, address: ShardAddress) -> None:
        steps = self._steps(effect)
        outcomes = Outcomes(range(len(steps)), partial(self._ended, effect, address))
        for number, step in enumerate(steps):
            step(partial(outcomes.add, number))

    def _steps(self, effect: ShareStateEffect) -> list[Callable[[Done[None]], None]]:
        if isinstance(effect, DeleteShareState):
            return [
                partial(self._persister.delete, (effect.group_id, topic_id, partition))
                for topic_id, partition in share_partitions(effect.partitions)
            ]
        begin = self._persister.restart if effect.restarts else self._persister.create
        return [
            partial(begin, (effect.group_id, topic_id, partition), effect.state_epoch, offset)
            for (topic_id, partition), offset in effect.start_offsets.items()
        ]

    def _ended(
        self, effect: ShareStateEffect, address: ShardAddress, outcomes: Mapping[int, BrokerError | None]
    ) -> None:
        error = next((outcome for outcome in outcomes.values() if outcome is not None), None)
        waiting = self._waiting[effect.group_id]
        waiting.popleft()
        if not waiting:
            del self._waiting[effect.group_id]
        self._settle(address, effect, error)
        if waiting:
            self._begin(*waiting[0])
