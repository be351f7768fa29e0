"""Faults of the network and the brokers, drawn from a seed, each class counted."""

import random
from collections import Counter

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import LOSE_RESPONSE, REPEAT
from kafka_groups.net.memory import DELIVERED, Link, Passage
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import decode_request_header
from kafka_groups.testing.clock import VirtualClock

PRODUCER = "producer"
"""Client id whose connections no fault befalls."""

CLASSES = (
    "delayed frame",
    "broken connection",
    "half-dead connection",
    "refused connection",
    "slow broker",
    "lost heartbeat response",
    "repeated heartbeat",
    "leader moved",
    "coordinator moved",
    "broker restarted",
    "broker killed",
    "late append",
    "member killed",
    "member slower than its lock",
)


class SeededFaults:
    """A fault plan; nothing happens after `stop`.

    Args:
        rng: Decides.
        clock: Virtual time.
        counts: Counts what struck, by class.
    """

    def __init__(self, rng: random.Random, clock: VirtualClock, counts: Counter[str]) -> None:
        self._rng = rng
        self._clock = clock
        self.counts = counts
        self.is_on = True
        self._client_ids: dict[int, str | None] = {}
        self._slow_until_ms: dict[str, int] = {}

    def stop(self) -> None:
        """Let everything pass from now on."""
        self.is_on = False

    def slow_down(self, address: str, duration_ms: int) -> None:
        """Let every frame of a broker take half a second more for a while."""
        self.counts["slow broker"] += 1
        self._slow_until_ms[address] = self._clock.now_ms() + duration_ms

    def on_connect(self, address: str) -> Passage:
        """An attempt to connect; refused now and then."""
        if self.is_on and self._rng.random() < 0.02:
            self.counts["refused connection"] += 1
            return Passage(breaks=True)
        return DELIVERED

    def on_frame(self, link: Link, payload: bytes) -> Passage:
        """A frame; delayed, or the end of its connection, now and then."""
        if link.to_server:
            self._client_ids[link.connection] = decode_request_header(payload).client_id
        if not self.is_on or self._client_ids.get(link.connection) == PRODUCER:
            return DELIVERED
        if self._slow_until_ms.get(link.address, 0) > self._clock.now_ms():
            return Passage(delay_ms=500)
        return self._drawn()

    def _drawn(self) -> Passage:
        drawn = self._rng.random()
        if drawn < 0.003:
            self.counts["broken connection"] += 1
            return Passage(breaks=True)
        if drawn < 0.0035:
            self.counts["half-dead connection"] += 1
            return Passage(vanishes=True)
        if drawn < 0.05:
            self.counts["delayed frame"] += 1
            return Passage(delay_ms=self._rng.choice((1, 10, 100, 1000, 3000)))
        return DELIVERED

    def arm(self, cluster: EmbeddedCluster) -> None:
        """Have the brokers lose and repeat heartbeats."""
        heartbeat = ApiKey.SHARE_GROUP_HEARTBEAT
        cluster.faults.on(heartbeat, LOSE_RESPONSE, times=float("inf"), when=self._sometimes("lost heartbeat response"))
        cluster.faults.on(heartbeat, REPEAT, times=float("inf"), when=self._sometimes("repeated heartbeat"))

    def _sometimes(self, name: str) -> "Sometimes":
        return Sometimes(self, name)

    def draw(self, probability: float) -> bool:
        """Whether something of this probability happens now."""
        return self.is_on and self._rng.random() < probability


class Sometimes:
    """A condition of a fault rule that holds for one request in thirty."""

    def __init__(self, faults: SeededFaults, name: str) -> None:
        self._faults = faults
        self._name = name

    def __call__(self, _request: object) -> bool:
        strikes = self._faults.draw(1 / 30)
        self._faults.counts[self._name] += strikes
        return strikes
