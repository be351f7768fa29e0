"""Faults of connections, frames and heartbeats."""

import random
from collections.abc import Callable
from typing import Any

from kafka_groups.broker.faults import LOSE_RESPONSE, REPEAT, Action, Faults
from kafka_groups.net.memory import DELIVERED, Link, Passage
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.testing.simulation.faults.seeded_faults import FaultDraws

__all__ = ["NetworkFaults"]

_DELAYS_MS = (1, 10, 100, 1000, 3000)
_SLOW_MS = 500
_REFUSED = 0.02
_MISHANDLED = 1 / 30
_LEFT_OUT = -1
_HEARTBEATS = (
    *(ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.HEARTBEAT, ApiKey.CONSUMER_GROUP_HEARTBEAT),
    ApiKey.STREAMS_GROUP_HEARTBEAT,
)
_OF_MEMBERS = (*_HEARTBEATS, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.LEAVE_GROUP, ApiKey.OFFSET_COMMIT)
_OF_PRODUCERS = (
    *(ApiKey.PRODUCE, ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN),
    *(ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN),
)

_FRAMES: tuple[tuple[str, float, Callable[[random.Random], Passage]], ...] = (
    ("broken_connection", 0.003, lambda _rng: Passage(breaks=True)),
    ("half_dead_connection", 0.0005, lambda _rng: Passage(vanishes=True)),
    ("delayed_frame", 0.0465, lambda rng: Passage(delay_ms=rng.choice(_DELAYS_MS))),
)
"""The faults of a frame, each with its probability."""


class NetworkFaults:
    """A fault plan for the network, also between brokers.

    Args:
        rng: Decides.
        clock: Virtual time.
        draws: Says how often, and counts.
    """

    def __init__(self, rng: random.Random, clock: VirtualClock, draws: FaultDraws) -> None:
        self._rng = rng
        self._clock = clock
        self._draws = draws
        self._slow_until_ms: dict[str, int] = {}

    def slow_down(self, address: str, duration_ms: int) -> None:
        """Let every frame of a broker take half a second more for a while."""
        self._slow_until_ms[address] = self._clock.now_ms() + duration_ms

    def on_connect(self, address: str) -> Passage:
        """Refuse an attempt to connect now and then."""
        is_refused = self._draws.strikes(self._rng, "refused_connection", _REFUSED)
        return Passage(breaks=True) if is_refused else DELIVERED

    def on_frame(self, link: Link, payload: bytes) -> Passage:
        """Delay a frame, or end its connection, now and then."""
        if not self._draws.is_on:
            return DELIVERED
        if self._slow_until_ms.get(link.address, 0) > self._clock.now_ms():
            return Passage(delay_ms=_SLOW_MS)
        return self._drawn()

    def arm(self, faults: Faults) -> None:
        """Have the brokers lose responses to members of groups and to producers, and repeat heartbeats."""
        for key in _OF_MEMBERS:
            self._on_requests(faults, key, "lost_heartbeat_response", LOSE_RESPONSE)
        for key in _OF_PRODUCERS:
            self._on_requests(faults, key, "lost_producer_response", LOSE_RESPONSE)
        for key in _HEARTBEATS:
            self._on_requests(faults, key, "repeated_heartbeat", REPEAT, _may_be_repeated)

    def _drawn(self) -> Passage:
        drawn, threshold = self._rng.random(), 0.0
        for name, probability, passage in _FRAMES:
            threshold += probability * self._draws.weight(name)
            if drawn < threshold:
                self._draws.counts[name] += 1
                return passage(self._rng)
        return DELIVERED

    def _on_requests(
        self,
        faults: Faults,
        key: ApiKey,
        name: str,
        action: Action,
        may_strike: Callable[[Any], bool] = lambda _request: True,
    ) -> None:
        def strikes(request: Any) -> bool:
            return may_strike(request) and self._draws.strikes(self._rng, name, _MISHANDLED)

        faults.on(key, action, when=strikes)


def _may_be_repeated(heartbeat: Any) -> bool:
    """Return whether a heartbeat may be sent twice. A retry is always complete, so one with omitted fields may not."""
    return getattr(heartbeat, "rebalance_timeout_ms", 0) != _LEFT_OUT
