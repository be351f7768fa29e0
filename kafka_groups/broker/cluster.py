"""A Kafka cluster in this process, for tests, demonstrations and simulation."""

import random
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar, cast

from kafka_groups.broker.coordinator.groups import GroupCoordinator
from kafka_groups.broker.faults import Faults
from kafka_groups.broker.group_configs import GroupConfigs
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata import (
    GROUP_RESOURCE,
    BrokerEndpoint,
    ClusterMetadata,
    MetadataEvent,
    PartitionDeleted,
    TopicMetadata,
)
from kafka_groups.broker.node import BrokerNode, ClusterParts
from kafka_groups.broker.runtime import BrokerRuntime
from kafka_groups.broker.share.state_log import ShareStateStore
from kafka_groups.config.broker import BrokerSettings, broker_settings, share_group_config
from kafka_groups.errors import IllegalStateError
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.net.network import Network
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.types import TopicPartition

__all__ = ["EmbeddedCluster"]

T = TypeVar("T")

LOOPBACK = "127.0.0.1"
_NO_CONFIGS: Mapping[str, str] = MappingProxyType({})


class EmbeddedCluster:
    """Brokers that live in this process and serve share groups, topics and records as Kafka 4.4 does.

    A context manager of both kinds. `with` runs the brokers on a thread of their own, so that the program may block;
    `async with` runs them on the program's event loop. Nothing is opened before. The data is in memory and gone at the
    end. The methods without `async` may be called in both forms, unless they say otherwise.

    Args:
        brokers: How many brokers; their node ids count from 1.
        network: How clients reach them; TCP on loopback when it is not given.
        port: Port of the first broker, the next ones have the ports after it; 0 picks free ones.
        settings: The brokers' settings, by Kafka's dotted names or as `BrokerSettings`.
        clock: The brokers' clocks; it must run with the event loop's time. The system's when it is not given.
        seed: Seed of all randomness (ids).

    Raises:
        InvalidConfigError: A setting is unknown or has a bad value.
        ValueError: Fewer than one broker.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        network: Network | None = None,
        port: int = 0,
        settings: BrokerSettings | Mapping[str, object] | None = None,
        clock: Clock | None = None,
        seed: int = 0,
    ) -> None:
        if brokers < 1:
            raise ValueError(f"a cluster has at least one broker, not {brokers}")
        given = settings if isinstance(settings, BrokerSettings) else broker_settings(settings)
        network = network or TcpNetwork(max_frame_bytes=given.socket_request_max_bytes)
        self._core = _Core(brokers, port, _parts(network, clock or SystemClock(), given, seed))
        self._thread: LoopThread | None = None
        self._state = "not started"

    def __repr__(self) -> str:
        return f"<EmbeddedCluster of {self._core.size}: {self._state}{self._addresses()}>"

    def __del__(self) -> None:
        if getattr(self, "_state", "") != "running":
            return
        # After a fork the child holds a copy of an object that the parent still uses.
        if self._thread is None or self._thread.is_running:
            warnings.warn(f"{self!r} was never stopped", ResourceWarning, source=self, stacklevel=2)
        if self._thread is not None:
            self._thread.stop(last=self._core.stop())

    # ------------------------------------------------------------------------------------- start and stop

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop_on_thread()
        self._core.raise_failures(exc)

    async def __aenter__(self) -> Self:
        await self.start_async()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stop_on_loop()
        self._core.raise_failures(exc)

    def start(self) -> None:
        """Start the brokers on a thread of their own; blocks until they can be reached.

        Raises:
            NetworkError: An address cannot be bound.
            IllegalStateError: Started before.
        """
        self._must_be("not started")
        thread = LoopThread("embedded-cluster")
        thread.start()
        try:
            thread.run(self._core.start())
        except BaseException:
            thread.stop()
            raise
        self._thread = thread
        self._state = "running"

    def stop(self) -> None:
        """Stop the brokers that `start` started; blocks until nothing is left of them.

        Raises:
            ExceptionGroup: Something failed in a broker that must not; see `unexpected_errors`.
        """
        self._stop_on_thread()
        self._core.raise_failures(None)

    async def start_async(self) -> None:
        """Start the brokers on the running event loop.

        Raises:
            NetworkError: An address cannot be bound.
            IllegalStateError: Started before.
        """
        self._must_be("not started")
        await self._core.start()
        self._state = "running"

    async def stop_async(self) -> None:
        """Stop the brokers that `start_async` started.

        Raises:
            ExceptionGroup: Something failed in a broker that must not; see `unexpected_errors`.
        """
        await self._stop_on_loop()
        self._core.raise_failures(None)

    def _stop_on_thread(self) -> None:
        if self._state == "running":
            thread = self._own_thread()
            self._state = "stopped"
            try:
                thread.run(self._core.stop())
            finally:
                thread.stop()

    async def _stop_on_loop(self) -> None:
        if self._state == "running":
            if self._thread is not None:
                raise IllegalStateError("the cluster was started by start(); stop() ends it")
            self._state = "stopped"
            await self._core.stop()

    # ----------------------------------------------------------------------------------------- its parts

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` of every broker, with commas between them; also of brokers that are down at the moment."""
        return ",".join(f"{endpoint.host}:{endpoint.port}" for endpoint in self._core.endpoints.values())

    @property
    def network(self) -> Network:
        """The network on which clients reach the brokers."""
        return self._core.parts.network

    @property
    def metadata(self) -> ClusterMetadata:
        """Topics, leaders and configs; in the `with` form, read it only."""
        return self._core.parts.metadata

    @property
    def faults(self) -> Faults:
        """What the brokers are told to do wrong."""
        return self._core.parts.faults

    @property
    def unexpected_errors(self) -> tuple[BaseException, ...]:
        """What failed in the brokers and must not have: a defect of this package; raised when the cluster stops."""
        return tuple(self._core.failures)

    @property
    def open_connections(self) -> int:
        """How many connections clients have to the brokers."""
        return sum(node.open_connections for node in self._core.nodes.values())

    # ------------------------------------------------------------------------------------------- actions

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replication_factor: int = 1,
        configs: Mapping[str, str] = _NO_CONFIGS,
    ) -> TopicMetadata:
        """Create a topic.

        Raises:
            BrokerError: As for a CreateTopics request; the configs are taken as they are.
        """
        metadata = self.metadata
        return self._on_loop(lambda: metadata.create_topic(name, partitions, replication_factor, configs))

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records.

        Raises:
            UnknownTopicOrPartitionError: There is no such topic.
        """
        self._on_loop(lambda: self.metadata.delete_topic(name))

    def move_leader(self, topic: str, partition: int, node_id: int) -> None:
        """Let another broker lead a partition, with the next leader epoch.

        Raises:
            UnknownTopicOrPartitionError: There is no such partition.
            ValueError: There is no such broker, or it is down.
        """
        self._on_loop(lambda: self.metadata.move_leader(TopicPartition(topic, partition), node_id))

    def leader_of(self, topic: str, partition: int) -> int:
        """Node id of a partition's leader, -1 when there is none.

        Raises:
            LookupError: There is no such partition.
        """
        known = self.metadata.topic(topic)
        if known is None:
            raise LookupError(f"Topic '{topic}' does not exist.")
        return known.partitions[partition].leader_id

    def alter_group_configs(self, group_id: str, changes: Mapping[str, str | None]) -> None:
        """Set dynamic configs of a group, such as `share.auto.offset.reset`; None takes one back to its default.

        Raises:
            InvalidConfigError: A key is unknown, or a value is bad or outside the brokers' bounds.
        """
        self._on_loop(lambda: self._core.alter_group_configs(group_id, changes))

    def stop_broker(self, node_id: int) -> None:
        """Take a broker down; for the `with` form, blocks until it is."""
        self._own_thread().run(self._core.stop_node(node_id))

    def start_broker(self, node_id: int) -> None:
        """Bring a broker back on its old address; for the `with` form, blocks until it is there."""
        self._own_thread().run(self._core.start_node(node_id))

    async def stop_broker_async(self, node_id: int) -> None:
        """Take a broker down; for the `async with` form."""
        await self._core.stop_node(node_id)

    async def start_broker_async(self, node_id: int) -> None:
        """Bring a broker back on its old address; for the `async with` form."""
        await self._core.start_node(node_id)

    # ------------------------------------------------------------------------------------------- insides

    def _must_be(self, state: str) -> None:
        if self._state != state:
            raise IllegalStateError(f"{self!r} cannot be started: a cluster is used once")

    def _own_thread(self) -> LoopThread:
        if self._thread is None:
            raise IllegalStateError(f"{self!r} has no thread of its own: use the method that ends in _async")
        return self._thread

    def _on_loop(self, action: Callable[[], T]) -> T:
        if self._state != "running":
            raise IllegalStateError(f"{self!r} must be running for that")
        return action() if self._thread is None else self._thread.run(_awaitable(action))

    def _addresses(self) -> str:
        return f" on {self.bootstrap_servers}" if self._state == "running" else ""


class _Core:
    """What runs on the event loop; knows nothing of threads and does not hold the object that users hold."""

    def __init__(self, size: int, port: int, parts: ClusterParts) -> None:
        self.size = size
        self._port = port
        self.parts = parts
        self.failures = parts.failures
        self.nodes: dict[int, BrokerNode] = {}
        self.endpoints: dict[int, BrokerEndpoint] = {}
        # All brokers share one group coordinator, so that a group outlives its broker as it does in Kafka; which of
        # them answers for a group is in the metadata.
        self._runtime = BrokerRuntime(parts.clock, (parts.groups,), parts.failures.append)

    async def start(self) -> None:
        self._stop_listening = self.parts.metadata.on_change(self._metadata_changed)
        self._runtime.start("group coordinator, expiry")
        try:
            for node_id in range(1, self.size + 1):
                await self.start_node(node_id)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        for node_id in tuple(self.nodes):
            await self.stop_node(node_id)
        await self._runtime.stop()
        self._stop_listening()

    async def start_node(self, node_id: int) -> None:
        if node_id in self.nodes or not 1 <= node_id <= self.size:
            raise ValueError(f"broker {node_id} is up, or there is none: brokers {sorted(self.nodes)} are up")
        known = self.endpoints.get(node_id)
        first_choice = self._port + node_id - 1 if self._port else 0
        node = BrokerNode(node_id, self.parts, self._runtime.touch)
        self.endpoints[node_id] = await node.start(LOOPBACK, known.port if known else first_choice)
        self.nodes[node_id] = node

    async def stop_node(self, node_id: int) -> None:
        node = self.nodes.pop(node_id, None)
        if node is None:
            raise ValueError(f"broker {node_id} is not up: brokers {sorted(self.nodes)} are")
        await node.stop()

    def alter_group_configs(self, group_id: str, changes: Mapping[str, str | None]) -> None:
        configs = self.parts.metadata.configs
        merged = {**configs.overrides(GROUP_RESOURCE, group_id), **changes}
        share_group_config(self.parts.settings, {key: value for key, value in merged.items() if value is not None})
        configs.alter(GROUP_RESOURCE, group_id, changes)

    def raise_failures(self, raised: BaseException | None) -> None:
        failures, self.failures[:] = list(self.failures), []
        errors = [error for error in failures if isinstance(error, Exception)]
        if errors and raised is None:
            raise ExceptionGroup("the embedded cluster failed in a way that it must not", errors)
        for error in errors:
            # The program's own error goes first; it may well follow from this one.
            cast(BaseException, raised).add_note(f"the embedded cluster failed before: {error!r}")

    def _metadata_changed(self, event: MetadataEvent) -> None:
        if isinstance(event, PartitionDeleted) and event.partition.partition == 0:  # once for the topic
            self.parts.logs.delete_topic(event.partition.topic_id)
            self.parts.groups.topics_deleted()


def _parts(network: Network, clock: Clock, settings: BrokerSettings, seed: int) -> ClusterParts:
    metadata = ClusterMetadata(random.Random(seed))
    group_configs = GroupConfigs(settings, metadata.configs)
    share_state = ShareStateStore()
    return ClusterParts(
        network=network,
        clock=clock,
        settings=settings,
        seed=seed,
        metadata=metadata,
        logs=LogStore(),
        share_state=share_state,
        groups=GroupCoordinator(metadata, share_state, group_configs, settings.group_max_size),
        group_configs=group_configs,
        faults=Faults(),
        failures=[],
    )


async def _awaitable(action: Callable[[], T]) -> T:
    return action()
