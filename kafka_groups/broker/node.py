"""One broker of a cluster: its services, its server and its runtime."""

from collections.abc import Callable, Iterable

from kafka_groups.broker.api.handlers import HANDLERS
from kafka_groups.broker.log.batches import AppendResult
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.topics import BrokerEndpoint, TopicMetadata
from kafka_groups.broker.metrics import BrokerGauges
from kafka_groups.broker.requests.appending import append_batch
from kafka_groups.broker.requests.context import ConnectionInfo
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.runtime.coordinators import Coordinators
from kafka_groups.broker.runtime.dead_letters.share_group_configs import share_group_configs
from kafka_groups.broker.runtime.log_cleaner import CleanedLog, LogCleaner
from kafka_groups.broker.runtime.parts import BrokerParts, ClusterParts
from kafka_groups.broker.runtime.scheduling.broker_timers import BrokerTimers
from kafka_groups.broker.runtime.scheduling.expiry import BrokerRuntime, Expiring
from kafka_groups.broker.runtime.scheduling.purgatory import Purgatory
from kafka_groups.broker.server import BrokerServer
from kafka_groups.broker.share_partitions.leader import SharePartitionLeader
from kafka_groups.broker.share_partitions.partition import SharePartitionKey
from kafka_groups.broker.share_partitions.share_writers import ShareWriters
from kafka_groups.protocol.apis import ApiKey

__all__ = ["BrokerNode"]

_CONNECTION_APIS = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
_PEER_APIS = (*_CONNECTION_APIS, ApiKey.PRODUCE)
"""The APIs between brokers that belong to no coordinator: dead letters of share groups go by Produce."""


class BrokerNode:
    """One broker. A restarted broker is a new object, because its memory does not survive a stop.

    Args:
        node_id: Its node id.
        parts: The parts that it shares with the other brokers.
        has_peers: Whether the cluster has other brokers.
    """

    def __init__(self, node_id: int, parts: ClusterParts, *, has_peers: bool) -> None:
        self.node_id = node_id
        self._parts = parts
        self._has_peers = has_peers
        self._timers = BrokerTimers(parts.failures.append)
        purgatory = Purgatory(parts.clock)
        broker = BrokerParts(node_id, parts, self._timers.later, purgatory.notify, self._deadlines_moved)
        self._coordinators = Coordinators(broker)
        self._services = _services(broker, self._coordinators, purgatory)
        self._server = BrokerServer(self._services, HANDLERS)
        peer_handlers = {key: HANDLERS[key] for key in (*_PEER_APIS, *self._coordinators.hosted.peer_apis)}
        self._peer_server = BrokerServer(self._services, peer_handlers, is_for_peers=True)
        self._cleaner = LogCleaner(broker, purgatory.notify)
        runtimes = self._coordinators.hosted.runtimes.values()
        expiring: tuple[Expiring, ...] = (_ShareLocks(self._services), *runtimes, self._cleaner)
        self._runtime = BrokerRuntime(parts.clock, expiring, parts.failures.append)
        for server in (self._server, self._peer_server):
            server.on_failure = parts.failures.append
            server.on_request_done = self._deadlines_moved
        self._server.on_connection_closed = self._connection_closed
        self._services.share.led.on_late_change = self._share_partitions_changed
        self._stop_listening: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return f"<BrokerNode {self.node_id}: {self._server!r}>"

    @property
    def open_connections(self) -> int:
        """Number of connected clients. Other brokers do not count."""
        return self._server.open_connections

    @property
    def peer_connections(self) -> int:
        """Number of connections from and to other brokers."""
        return self._peer_server.open_connections + len(self._coordinators.peers)

    def counters(self) -> BrokerGauges:
        """Return what the metrics of this broker are read from."""
        return BrokerGauges(self._services)

    async def start(self, host: str, port: int) -> BrokerEndpoint:
        """Listen and join the cluster. Port 0 picks a free port.

        Raises:
            NetworkError: The port is not available.
        """
        listener = await self._server.start(self._parts.network, host, port)
        await self._listen_to_peers()
        endpoint = BrokerEndpoint(self.node_id, listener.host, listener.port)
        self._stop_listening = self._parts.metadata.on_change(self._metadata_changed)
        self._coordinators.start(self._parts.metadata.image)
        self._parts.leaders.add(self.node_id, self._services.share)
        self._parts.metadata.register_broker(endpoint)
        self._runtime.start(f"broker {self.node_id}, expiry")
        return endpoint

    async def stop(self) -> None:
        """Leave the cluster, break all connections and drop everything that is only in memory."""
        self._parts.metadata.unregister_broker(self.node_id)
        self._parts.leaders.remove(self.node_id)
        self._stop_listening()
        self._coordinators.stop()
        self._timers.stop()
        self._services.purgatory.close()
        await self._stop_servers()
        await self._runtime.stop()

    async def kill(self) -> None:
        """Die: break all connections without an answer, and drop everything. Others notice when it is unregistered."""
        self._parts.leaders.remove(self.node_id)
        self._stop_listening()
        self._coordinators.stop(answers=False)
        self._timers.stop()
        await self._stop_servers()
        self._services.purgatory.close()
        await self._runtime.stop()

    def append(self, topic: TopicMetadata, partition: int, batch: bytes) -> AppendResult:
        """Append a batch to a partition that this broker leads, as for a producer.

        Raises:
            BrokerError: The batch is invalid, or another broker leads the partition.
        """
        return append_batch(self._services, topic, partition, batch, self._parts.clock.wall_ms())

    async def run_log_cleaner(self, *, rolls: bool) -> list[CleanedLog]:
        """Delete and compact at once what is due in the logs that this broker leads."""
        return await self._cleaner.run(rolls=rolls)

    async def _listen_to_peers(self) -> None:
        if not self._has_peers:
            return
        peers = self._parts.peer_network
        listener = await self._peer_server.start(peers.network, peers.host, 0)
        peers.addresses[self.node_id] = (listener.host, listener.port)

    async def _stop_servers(self) -> None:
        self._parts.peer_network.addresses.pop(self.node_id, None)
        await self._peer_server.stop()
        await self._server.stop()

    def _metadata_changed(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self._coordinators.hosted.metadata_changed(image, delta)
        self._runtime.touch()
        # Fetches that wait for a partition must check again: it was deleted, its leader moved, or it exists now.
        for partition in (*delta.lost_partitions(), *delta.new_partitions()):
            self._services.purgatory.notify(partition)
        _notify(self._services, self._services.share.metadata_changed(delta))

    def _share_partitions_changed(self) -> None:
        _notify(self._services, self._services.share.led.take_changed())
        self._runtime.touch()

    def _deadlines_moved(self) -> None:
        self._runtime.touch()

    def _connection_closed(self, info: ConnectionInfo) -> None:
        """End the share sessions of a connection."""
        services = self._services
        _notify(services, services.share.connection_closed(info.id, services.cluster.clock.now_ms()))


class _ShareLocks:
    """The acquisition locks of a broker, for its runtime."""

    def __init__(self, services: BrokerServices) -> None:
        self._services = services
        self.next_deadline_ms = services.share.led.next_deadline_ms

    def expire(self, now_ms: int) -> None:
        _notify(self._services, self._services.share.expire(now_ms))


def _notify(services: BrokerServices, changed: Iterable[SharePartitionKey]) -> None:
    for share_partition in changed:
        services.purgatory.notify(share_partition)


def _services(broker: BrokerParts, coordinators: Coordinators, purgatory: Purgatory) -> BrokerServices:
    cluster = broker.cluster
    share = SharePartitionLeader(
        broker.node_id,
        cluster.metadata,
        cluster.logs,
        ShareWriters(coordinators.persister, coordinators.dead_letters),
        group_config=share_group_configs(cluster),
        max_sessions=cluster.settings.max_share_sessions,
    )
    return BrokerServices(broker, coordinators, share, purgatory, cluster.new_rng(f"{broker.node_id}"))
