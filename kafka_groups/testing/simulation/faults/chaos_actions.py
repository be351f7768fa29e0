"""Faults of brokers and processes, every few seconds: they slow down, move, stop, crash and restart."""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Iterator
from itertools import chain

from attrs import define, field

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, SHARE_STATE_TOPIC, partition_of_key, share_state_key
from kafka_groups.broker.metadata.topics import PartitionMetadata, TopicMetadata
from kafka_groups.testing.simulation.checks.ledger import GroupLedger
from kafka_groups.testing.simulation.checks.wire_tap import WireTap
from kafka_groups.testing.simulation.faults.network_faults import NetworkFaults
from kafka_groups.testing.simulation.faults.seeded_faults import USUAL_FAULT_NAMES, FaultDraws
from kafka_groups.testing.simulation.processes import SimulatedProcess

__all__ = ["ChaosActions"]

Act = Callable[[], Awaitable[None]]

_SHORTEST_S, _LONGEST_S = 5, 25
"""The time between two acts if every act has its usual weight."""
_MOST_LOST = 20


@define
class ChaosActions:
    """Acts that are drawn one after the other.

    Args:
        rng: Decides.
        cluster: The brokers.
        network: Slows brokers down.
        draws: Says how often, and counts.
        tap: Knows the groups.
        processes: The processes of the application.

    Attributes:
        acts: The actions by the name of their fault. A test may replace one to strike at worse moments.
    """

    rng: random.Random
    cluster: EmbeddedCluster
    network: NetworkFaults
    draws: FaultDraws
    tap: WireTap
    processes: list[SimulatedProcess]
    acts: dict[str, Act] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.acts = {
            "slow_broker": self._slow_broker,
            "leader_moved": self._move_leader,
            "coordinator_moved": self._move_coordinator,
            "broker_restarted": self._restart_broker,
            "broker_killed": self._kill_broker,
            "process_killed": self._kill_process,
            "process_stopped": self._stop_process,
            "process_stalled": self._stall_process,
            "log_truncated": self._truncate_log,
            "producers_forgotten": self._forget_producers,
        }

    async def run(self, seconds: float) -> None:
        """Act for so long, and finish the last act: then all brokers and processes run."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        weights = {name: self.draws.weight(name) for name in self.acts}
        # Faults that are off by default make acts more frequent, so that they take nothing away from the others.
        pauses = self._pauses(sum(weights.values()) / len(weights.keys() & set(USUAL_FAULT_NAMES)))
        while (begin := loop.time() + next(pauses)) < end:
            await asyncio.sleep(begin - loop.time())
            [name] = self.rng.choices(list(weights), list(weights.values()))
            await self.acts[name]()
        await asyncio.sleep(end - loop.time())

    def _pauses(self, weight: float) -> Iterator[float]:
        while True:
            yield self.rng.uniform(_SHORTEST_S, _LONGEST_S) / weight if weight else math.inf

    def _count(self, name: str) -> None:
        self.draws.counts[name] += 1

    # ---------------------------------------------------------------------------------------- the brokers

    async def _slow_broker(self) -> None:
        self._count("slow_broker")
        endpoint = self.rng.choice(sorted(self.cluster.metadata.brokers.values(), key=lambda broker: broker.node_id))
        self.network.slow_down(f"{endpoint.host}:{endpoint.port}", self.rng.randrange(1000, 20_000))

    async def _move_leader(self) -> None:
        partitions = [(topic.name, led.partition) for topic in self._topics() for led in topic.partitions]
        if partitions:
            self._move("leader_moved", *self.rng.choice(partitions))

    async def _move_coordinator(self) -> None:
        """Move a partition of an internal topic, and often once more: that of a group, of states, or of an id."""
        share_groups = [self._keys(group_id, ledger) for group_id, ledger in self.tap.ledgers.items()]
        keys = [*chain(*share_groups), *self.tap.coordinated]
        places = self._partitions_of(keys)
        if places:
            place = self.rng.choice(places)
            for _ in range(self.rng.choice((1, 2, 3))):
                self._move("coordinator_moved", *place)
                await asyncio.sleep(self.rng.uniform(0, 0.5))

    async def _truncate_log(self) -> None:
        """Lose the end of a log, by an unclean election."""
        ends = [(topic.name, led.partition, log, self._spared(log)) for topic, led, log in self._truncatable()]
        shorter = [each for each in ends if each[3] < each[2].end_offset]
        if shorter:
            name, partition, log, spared = self.rng.choice(shorter)
            end_offset = max(log.end_offset - self.rng.randint(1, _MOST_LOST), spared)
            self._count("log_truncated")
            self.cluster.elect_unclean_leader(name, partition, self._any_broker(), end_offset=end_offset)

    def _truncatable(self) -> Iterator[tuple[TopicMetadata, PartitionMetadata, PartitionLog]]:
        # The ledgers of share groups know records by their offsets, which would be used a second time.
        shared = {name for ledger in self.tap.ledgers.values() for name in ledger.topics}
        for topic in self._topics():
            for led in topic.partitions if topic.name not in shared else ():
                log = self.cluster.logs.find(topic.topic_id, led.partition)
                if log is not None:
                    yield topic, led, log

    def _spared(self, log: PartitionLog) -> int:
        """Return the offset before which a log is not truncated: without its marker, a transaction would never end."""
        markers = (each.info for each in log.batches(log.log_start_offset, log.end_offset) if each.info.is_control)
        return max((marker.last_offset + 1 for marker in markers), default=log.log_start_offset)

    async def _forget_producers(self) -> None:
        """Forget what is known of producers in all partitions of a topic."""
        topics = self._topics()
        if topics:
            self._count("producers_forgotten")
            topic = self.rng.choice(topics)
            logs = (self.cluster.logs.find(topic.topic_id, led.partition) for led in topic.partitions)
            for log in filter(None, logs):
                log.producers.forget_idle()

    async def _restart_broker(self) -> None:
        node_id = self._any_broker()
        self._count("broker_restarted")
        await self.cluster.stop_broker_async(node_id)
        await asyncio.sleep(self.rng.uniform(0.1, 10))
        await self.cluster.start_broker_async(node_id)

    async def _kill_broker(self) -> None:
        node_id = self._any_broker()
        self._count("broker_killed")
        await self.cluster.kill_broker_async(node_id, self.rng.choice((0, 500, 5_000)))
        await asyncio.sleep(self.rng.uniform(0.1, 10))
        await self.cluster.start_broker_async(node_id)

    def _any_broker(self) -> int:
        return self.rng.choice(self.cluster.running_brokers)

    def _topics(self) -> list[TopicMetadata]:
        return [topic for topic in self.cluster.metadata.topics() if not topic.is_internal]

    def _keys(self, group_id: str, ledger: GroupLedger) -> list[tuple[str, str]]:
        """Return the internal topics in which a share group has records, and the keys that choose their partitions."""
        states = [
            share_state_key(group_id, topic.topic_id, led.partition)
            for topic in self._topics()
            if topic.name in ledger.topics
            for led in topic.partitions
        ]
        return [(GROUP_TOPIC, group_id), *((SHARE_STATE_TOPIC, state) for state in states)]

    def _partitions_of(self, keys: list[tuple[str, str]]) -> list[tuple[str, int]]:
        topics = [(self.cluster.metadata.topic(name), key) for name, key in keys]
        return [(topic.name, partition_of_key(key, topic.num_partitions)) for topic, key in topics if topic is not None]

    def _move(self, name: str, topic: str, partition: int) -> None:
        self._count(name)
        self.cluster.move_leader(topic, partition, self._any_broker())

    # -------------------------------------------------------------------------------------- the application

    async def _kill_process(self) -> None:
        for process in self._any_process():
            self._count("process_killed")
            process.kill()
            await self._start_again(process)

    async def _stop_process(self) -> None:
        for process in self._any_process():
            self._count("process_stopped")
            await process.stop()
            await self._start_again(process)

    async def _stall_process(self) -> None:
        for process in self._any_process():
            self._count("process_stalled")
            await process.stall(self.draws.stall_s(self.rng))

    def _any_process(self) -> list[SimulatedProcess]:
        running = [process for process in self.processes if process.is_running]
        return [self.rng.choice(running)] if running else []

    async def _start_again(self, process: SimulatedProcess) -> None:
        await asyncio.sleep(self.rng.uniform(0, 5))
        if not process.is_running:
            process.start()
