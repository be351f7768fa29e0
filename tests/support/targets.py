"""The clusters that the conformance tests run on, each behind the same small surface.

A test asks for the fixture `target` and says by a decorator where it runs. What a target offers is Kafka's own
protocol, spoken by our codec; nothing of it knows which cluster is behind it.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from attrs import field, frozen

from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.config.cluster.broker import broker_keys
from kafka_groups.net.network import Network
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.parts import Environment
from kafka_groups.testing.kafka_process import SINGLE_NODE_PROPERTIES
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.conditions import until
from tests.support.kafka.older_kafkas import OLDER_KAFKAS
from tests.support.kafka.real_kafka import unique
from tests.support.leaping_clock import LeapingClock
from tests.support.members.raw_member import RawMember
from tests.support.requests.raw_client import RawClient

EMBEDDED_MEMORY = "embedded-memory"
EMBEDDED_TCP = "embedded-tcp"
REAL_KAFKA = "kafka-4.4.0"
CONTAINER = "container"

EMBEDDED_PROPERTIES: Mapping[str, object] = {
    name: value for name, value in SINGLE_NODE_PROPERTIES.items() if name in broker_keys()
}
"""The settings of the real Kafka that an embedded one has too, so that tests need not tell them apart."""

GROUP_DEFAULTS: Mapping[str, str] = MappingProxyType({
    "share.auto.offset.reset": "earliest",
    "share.heartbeat.interval.ms": "500",
    "share.assignment.interval.ms": "0",
})  # fmt: skip
"""What the groups of most tests have: they begin at the beginning, and their members need not wait for each other."""

LOCK_MS = 1_500
SHORT_LOCKS: Mapping[str, str] = MappingProxyType({"share.record.lock.duration.ms": str(LOCK_MS)})
"""A short acquisition lock, and long enough for a busy machine to renew it in time. Kafka allows 1 s."""

EXPLICIT: Mapping[str, Any] = MappingProxyType({"acknowledgement_mode": "explicit", "prefetch_batches": 0})
"""Keywords of a consumer that holds only what was handed out and acknowledges it itself."""

Configs = Mapping[str, str]


@frozen
class TargetSpec:
    """Which cluster a test wants: a kind, and broker settings when those of the shared cluster will not do.

    Attributes:
        kind: Which one.
        properties: Broker settings.
        has_own_clock: Whether an embedded broker has a clock that `Target.pass_time` moves.
    """

    kind: str
    properties: tuple[tuple[str, str], ...] = ()
    has_own_clock: bool = False


@frozen(eq=False)
class Target:
    """A cluster of one broker that a test may use; topics and groups get names of their own.

    Attributes:
        kind: Which one it is.
        host: Host of its broker.
        port: Port of its broker.
        network: The way there.
        cutting: Makes the fault "the connection is cut after every so many ShareFetch requests, the response lost",
            and the address at which clients meet it.
    """

    kind: str
    host: str
    port: int
    network: Network
    cutting: Callable[[int], "CutFetches"]
    cluster: ClusterClient
    _clock: LeapingClock | None = None
    _clients: list[RawClient] = field(factory=list)

    @property
    def bootstrap_servers(self) -> str:
        """`host:port`."""
        return f"{self.host}:{self.port}"

    @property
    def has_streams_groups(self) -> bool:
        """Whether the brokers have streams groups."""
        return self.kind not in OLDER_KAFKAS

    @property
    def speaks_tcp(self) -> bool:
        """Whether other programs and blocking consumers can reach it."""
        return self.kind != EMBEDDED_MEMORY

    def consumer(
        self, group_id: str, *, network: Network | None = None, **keywords: Any
    ) -> AsyncKafkaShareConsumer[Any, Any]:
        """A consumer of the group, by another network if one is given."""
        keywords = {"bootstrap_servers": self.bootstrap_servers, "request_timeout_ms": 10_000, **keywords}
        return AsyncKafkaShareConsumer(
            environment=Environment(network=network or self.network), group_id=group_id, **keywords
        )

    def admin(self, **keywords: Any) -> AsyncKafkaAdmin:
        """An admin client."""
        keywords = {"bootstrap_servers": self.bootstrap_servers, "default_api_timeout_ms": 20_000, **keywords}
        return AsyncKafkaAdmin(environment=Environment(network=self.network), **keywords)

    def client(self) -> RawClient:
        """A connection of its own to the broker; closed when the test ends."""
        client = RawClient(self.network, self.host, self.port, negotiates=not self.has_streams_groups)
        self._clients.append(client)
        return client

    def member(self, group_id: str, topic: Topic, member_id: str | None = None) -> RawMember:
        """A member that does only what the test has it do; it has not joined yet."""
        return RawMember(self.client(), group_id, topic, member_id)

    async def joined(self, group_id: str, topic: Topic, partitions: Iterable[int] = (0,)) -> RawMember:
        """A member that has joined and is assigned these partitions."""
        member = self.member(group_id, topic)
        await member.join_and_wait(partitions)
        return member

    async def pass_time(self, for_ms: int) -> None:
        """Let the broker's time pass. Where its clock can be moved, that takes no time."""
        if self._clock is not None:
            self._clock.leap(for_ms)
            return
        loop = asyncio.get_running_loop()
        end = loop.time() + for_ms / 1000

        async def now() -> float:
            return loop.time()

        await until(now, lambda it: it >= end, 2 * for_ms / 1000)

    async def new_group(self, configs: Configs = MappingProxyType({})) -> str:
        """The id of a group that does not exist yet, with the usual configs and these."""
        group_id = unique("group")
        await self.cluster.coordinator_of(group_id)
        await self.cluster.set_group_config(group_id, {**GROUP_DEFAULTS, **configs})
        return group_id

    async def group_of(
        self, topic: Topic, partitions: Iterable[int] = (0,), configs: Configs = MappingProxyType({})
    ) -> str:
        """A new group that is empty and has its share-partitions initialised, so that members get them at once."""
        group_id = await self.new_group(configs)
        member = await self.joined(group_id, topic, partitions)
        await member.leave()
        return group_id

    async def close(self) -> None:
        """Break the connections that the test opened."""
        await self.cluster.close()
        for client in self._clients:
            await client.disconnect()


@frozen
class CutFetches:
    """A fault and the address at which clients meet it."""

    bootstrap_servers: str
    struck: Callable[[], int]
    close: Callable[[], None]


# ----------------------------------------------------------------------------------------- where tests run


def _on(
    *kinds: str, properties: Mapping[str, str] = MappingProxyType({}), has_own_clock: bool = False
) -> pytest.MarkDecorator:
    marks = {
        REAL_KAFKA: [pytest.mark.real_kafka],
        CONTAINER: [pytest.mark.container],
        **{kind: [pytest.mark.real_kafka, pytest.mark.long] for kind in OLDER_KAFKAS},
    }
    given = tuple(sorted(properties.items()))
    slow = {EMBEDDED_TCP} if EMBEDDED_MEMORY in kinds else set()  # the same broker by another network
    if properties:
        slow.add(REAL_KAFKA)  # a process of its own takes seconds to start
    parameters = [
        pytest.param(
            TargetSpec(
                kind,
                () if kind in OLDER_KAFKAS else given,  # which would not know most of them
                has_own_clock and kind in (EMBEDDED_MEMORY, EMBEDDED_TCP),
            ),
            marks=[*marks.get(kind, ()), *([pytest.mark.slow] if kind in slow else [])],
            id=kind,
        )
        for kind in kinds
    ]
    return pytest.mark.parametrize("target", parameters, indirect=True)


everywhere = _on(EMBEDDED_MEMORY, EMBEDDED_TCP, REAL_KAFKA)
"""On an embedded broker in memory and on a real Kafka; in the slow tests also on an embedded one over TCP."""

everywhere_and_in_a_container = _on(EMBEDDED_MEMORY, EMBEDDED_TCP, REAL_KAFKA, CONTAINER)
"""The smoke subset: also on a real Kafka in a container."""

over_tcp = _on(EMBEDDED_TCP, REAL_KAFKA)
"""For what is about byte streams, or for clients that cannot use the network in memory."""

on_kafka = _on(REAL_KAFKA)
"""For what the embedded broker does not offer yet."""


def on_kafka_with(properties: Mapping[str, str]) -> pytest.MarkDecorator:
    """On a real Kafka with settings of its own, in the slow tests."""
    return _on(REAL_KAFKA, properties=properties)


def everywhere_with(properties: Mapping[str, str]) -> pytest.MarkDecorator:
    """Everywhere, on brokers with settings of their own; on a real Kafka in the slow tests."""
    return _on(EMBEDDED_MEMORY, EMBEDDED_TCP, REAL_KAFKA, properties=properties)


def everywhere_in_own_time_with(properties: Mapping[str, str]) -> pytest.MarkDecorator:
    """As `everywhere_with`, on embedded brokers whose time a test moves by `Target.pass_time`."""
    return _on(EMBEDDED_MEMORY, EMBEDDED_TCP, REAL_KAFKA, properties=properties, has_own_clock=True)


def over_tcp_with(properties: Mapping[str, str]) -> pytest.MarkDecorator:
    """As `over_tcp`, on brokers with settings of their own."""
    return _on(EMBEDDED_TCP, REAL_KAFKA, properties=properties)


def over_tcp_also_on_older_with(properties: Mapping[str, str]) -> pytest.MarkDecorator:
    """As `over_tcp_with`, and in the long tests on releases that are older than streams groups, with their defaults."""
    return _on(EMBEDDED_TCP, REAL_KAFKA, *OLDER_KAFKAS, properties=properties)
