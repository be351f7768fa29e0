"""The brokers of an embedded cluster on their event loop, and what they share."""

import asyncio
import random
import secrets
from collections.abc import Iterable, Mapping
from functools import partial
from typing import cast

from kafka_groups.acls import AclBinding
from kafka_groups.broker.authorization.authorizer import configured_authorizer
from kafka_groups.broker.authorization.creations import check_creation
from kafka_groups.broker.configs.group_configs import GroupConfigs
from kafka_groups.broker.coordinators.groups.settings import GroupConfigSources
from kafka_groups.broker.faults import Faults
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.placement import leader_of
from kafka_groups.broker.metadata.topics import BrokerEndpoint, TopicMetadata
from kafka_groups.broker.metrics import read_metrics
from kafka_groups.broker.node import BrokerNode
from kafka_groups.broker.produced import ProducedRecord, produced_records
from kafka_groups.broker.producing import Records, TopicPartitionOffset, append_all
from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile
from kafka_groups.broker.runtime.log_cleaner import CleanedLog
from kafka_groups.broker.runtime.parts import ClusterParts
from kafka_groups.broker.runtime.peers import PeerNetwork
from kafka_groups.broker.runtime.running_aside import in_thread, in_virtual_time
from kafka_groups.broker.security import BrokerSecurity, ScramCredentials
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.config.cluster.groups import (
    check_group_config,
    consumer_group_config,
    share_group_config,
    streams_group_config,
)
from kafka_groups.config.security.sasl import Password, SaslSettings
from kafka_groups.errors import (
    ConfigurationError,
    InvalidRequestError,
    InvalidTopicError,
    LeaderNotAvailableError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.net.login import Login, login_with
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import Network
from kafka_groups.net.session import Access
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.net.tls import server_tls_context
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE
from kafka_groups.types import TopicPartition

__all__ = ["ClusterCore", "cluster_network", "cluster_parts"]

LOOPBACK = "127.0.0.1"
_SALT_BYTES = 16
_PEER_HOST = "brokers.internal"
_PEER_USER = "broker"


class ClusterCore:
    """The part that runs on the event loop. It has no threads and no reference to the user's `EmbeddedCluster`."""

    def __init__(self, size: int, port: int, parts: ClusterParts) -> None:
        self.size = size
        self._port = port
        self.parts = parts
        self.failures = parts.failures
        self.nodes: dict[int, BrokerNode] = {}
        self.endpoints: dict[int, BrokerEndpoint] = {}
        self._unnoticed: dict[int, asyncio.TimerHandle] = {}

    async def start(self) -> None:
        """Start all brokers."""
        self._stop_listening = self.parts.metadata.on_change(self._metadata_changed)
        try:
            for node_id in range(1, self.size + 1):
                await self.start_node(node_id)
        except BaseException:  # also a cancellation: the brokers that have started must not run on
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop all brokers."""
        for node_id in tuple(self.nodes):
            await self.stop_node(node_id)
        for node_id in tuple(self._unnoticed):
            self._notice_death(node_id)
        self._stop_listening()

    async def start_node(self, node_id: int) -> None:
        """Start one broker, on its earlier address if it had one."""
        if node_id in self.nodes or not 1 <= node_id <= self.size:
            raise ValueError(
                f"Cannot start broker {node_id}: it is running or does not exist. Running: {sorted(self.nodes)}."
            )
        self._notice_death(node_id)
        known = self.endpoints.get(node_id)
        first_choice = self._port + node_id - 1 if self._port else 0
        node = BrokerNode(node_id, self.parts, has_peers=self.size > 1)
        self.endpoints[node_id] = await node.start(LOOPBACK, known.port if known else first_choice)
        self.nodes[node_id] = node

    async def stop_node(self, node_id: int) -> None:
        """Stop one broker."""
        await self._running(node_id).stop()

    async def kill_node(self, node_id: int, noticed_after_ms: int) -> None:
        """Kill one broker. Its partitions have no leader that answers until the others notice."""
        if noticed_after_ms < 0:
            raise ValueError(f"Invalid noticed_after_ms {noticed_after_ms}: it is a number of milliseconds from 0 on.")
        await self._running(node_id).kill()
        metadata = self.parts.metadata
        for topic in metadata.topics():
            # Only coordinators' logs can have records that are not committed: in a simulation, their storage takes
            # time. What clients produce is committed at once.
            for partition in topic.partitions if topic.is_internal else ():
                if partition.leader_id == node_id:
                    self.parts.logs.drop_uncommitted(topic.topic_id, partition.partition)
        # Until the controller's session with a dead broker ends, other brokers go on naming it as the leader.
        if noticed_after_ms:
            notice = partial(self._notice_death, node_id)
            self._unnoticed[node_id] = asyncio.get_running_loop().call_later(noticed_after_ms / 1000, notice)
        else:
            metadata.unregister_broker(node_id)

    def _notice_death(self, node_id: int) -> None:
        """Let the cluster notice that a broker has died, if it has not yet."""
        timer = self._unnoticed.pop(node_id, None)
        if timer is not None:
            timer.cancel()
            self.parts.metadata.unregister_broker(node_id)

    def _running(self, node_id: int) -> BrokerNode:
        node = self.nodes.pop(node_id, None)
        if node is None:
            raise ValueError(f"Broker {node_id} is not running. Running brokers: {sorted(self.nodes)}.")
        return node

    def elect_unclean_leader(self, partition: TopicPartition, node_id: int, end_offset: int) -> int:
        """Let a leader have lost the end of its log, as `EmbeddedCluster.elect_unclean_leader`."""
        known = self._known(partition.topic)
        # Coordinators keep the state of their log in memory, and would not notice.
        if known.is_internal:
            raise InvalidTopicError(f"The log of the internal topic '{known.name}' cannot be truncated.")
        if leader_of(known, partition.partition) is None:
            raise UnknownTopicOrPartitionError(f"Partition {partition} does not exist.")
        log = self.parts.logs.get(known.topic_id, partition.partition)
        log.check_offset(end_offset)
        # The leader moves first, as this refuses a broker that is not running. Clients see both changes at once.
        self.parts.metadata.move_leader(partition, node_id)
        return log.truncate(end_offset, self.parts.clock.wall_ms())

    def records(self, topic: str) -> list[ProducedRecord]:
        """Return the records of a topic, as `EmbeddedCluster.records`."""
        return produced_records(self._known(topic), self.parts.logs)

    def _known(self, topic: str) -> TopicMetadata:
        known = self.parts.metadata.topic(topic)
        if known is None:
            raise UnknownTopicOrPartitionError(f"there is no topic '{topic}'; create it with create_topic")
        return known

    def produce(self, topic: str, records: Records) -> list[TopicPartitionOffset]:
        """Append records to a topic, as `EmbeddedCluster.produce`."""
        known = self._known(topic)

        def append(partition: int, batch: bytes) -> int:
            led = leader_of(known, partition)
            leader = None if led is None else self.nodes.get(led.leader_id)
            if leader is None:
                raise LeaderNotAvailableError(f"{topic}-{partition} has no leader that is up")
            return leader.append(known, partition, batch).base_offset

        return append_all(topic, records, len(known.partitions), append, wall_ms=self.parts.clock.wall_ms())

    async def run_log_cleaner(self, *, rolls: bool) -> list[CleanedLog]:
        """Delete and compact what is due, as `EmbeddedCluster.run_log_cleaner`."""
        cleaned = [each for node in tuple(self.nodes.values()) for each in await node.run_log_cleaner(rolls=rolls)]
        return sorted(cleaned, key=lambda each: (each.partition.topic, each.partition.partition))

    def metrics(self, node_id: int | None) -> Mapping[str, int]:
        """Return the metrics of a broker, or their sums, as `EmbeddedCluster.metrics`."""
        if node_id is not None and node_id not in self.nodes:
            raise ValueError(f"Broker {node_id} is not running. Running brokers: {sorted(self.nodes)}.")
        nodes = self.nodes.values() if node_id is None else (self.nodes[node_id],)
        return read_metrics(node.counters() for node in nodes)

    def create_acls(self, acls: Iterable[AclBinding]) -> None:
        """Add ACLs, as `EmbeddedCluster` does with its own.

        Raises:
            ConfigurationError: One is invalid.
        """
        bindings = list(acls)
        for binding in bindings:
            try:
                check_creation(binding, reads_blocks=self.parts.profile.has_acl_address_blocks)
            except InvalidRequestError as error:
                raise ConfigurationError(f"Invalid ACL {binding}: {error}") from None
        self.parts.metadata.change_acls(bindings)

    def alter_group_configs(self, group_id: str, changes: Mapping[str, str | None]) -> None:
        """Change a group's configuration."""
        metadata = self.parts.metadata
        merged = {**metadata.configs.overrides(GROUP_RESOURCE, group_id), **changes}
        self.parts.profile.check_group_keys(changes)
        check_group_config(self.parts.settings, {key: value for key, value in merged.items() if value is not None})
        metadata.alter_configs(GROUP_RESOURCE, group_id, changes)

    def raise_failures(self, raised: BaseException | None) -> None:
        """Raise the errors of the brokers, or attach it as notes to the error that the program raised."""
        failures, self.failures[:] = list(self.failures), []
        errors = [error for error in failures if isinstance(error, Exception)]
        if errors and raised is None:
            raise ExceptionGroup("The embedded cluster had internal errors.", errors)
        for error in errors:
            # The program's own error takes precedence; this one may be its cause.
            cast(BaseException, raised).add_note(f"The embedded cluster had an internal error: {error!r}")

    def _metadata_changed(self, _image: MetadataImage, delta: MetadataDelta) -> None:
        for topic in delta.deleted:
            self.parts.logs.delete_topic(topic.topic_id)


def cluster_network(given: Network | None, security: BrokerSecurity, settings: BrokerSettings) -> Network:
    """Return the network on which clients reach the brokers: TCP, with TLS if asked for, unless one is given.

    Raises:
        ValueError: A network is given, and TLS too.
    """
    if given is not None:
        if security.tls is not None:
            raise ValueError(
                "security has TLS and a network is given: make the network with the TLS context, or give none"
            )
        return given
    tls = None if security.tls is None else server_tls_context(security.tls)
    return TcpNetwork(server_tls=tls, max_frame_bytes=settings.socket_request_max_bytes)


def cluster_parts(
    network: Network,
    clock: Clock,
    settings: BrokerSettings,
    security: BrokerSecurity,
    seed: int,
    profile: Profile = DEFAULT_PROFILE,
) -> ClusterParts:
    """Return what the brokers of a new cluster share."""
    scram = ScramCredentials()
    scram.add_users(security, partial(random.Random(seed).randbytes, _SALT_BYTES))
    peer_login = _peer_login(security)
    is_simulated = not isinstance(clock, SystemClock)
    # Clients tell clusters apart by their ids, so in real time two clusters with one seed must not share one.
    identity = random.Random(seed) if is_simulated else random.Random()
    metadata = ClusterMetadata(random.Random(seed), identity=identity, features=profile.finalized_features())
    faults, rng = Faults(), random.Random(f"{seed}/aside")
    return ClusterParts(
        run_aside=in_virtual_time(rng, faults.assignor_ms) if is_simulated else in_thread,
        faults=faults,
        network=network,
        clock=clock,
        settings=settings,
        profile=profile,
        seed=seed,
        metadata=metadata,
        peer_network=_peer_network(network, login_with(peer_login, clock)),
        peer_security=_peer_security(peer_login),
        group_configs=GroupConfigSources(
            GroupConfigs(settings, metadata, share_group_config),
            GroupConfigs(settings, metadata, consumer_group_config),
            GroupConfigs(settings, metadata, streams_group_config),
        ),
        security=security,
        scram=scram,
        authorizer=configured_authorizer(metadata, settings, profile),
    )


def _peer_network(network: Network, login: Login | None) -> PeerNetwork:
    """Return where the brokers listen for each other: in the memory of their process.

    With clients in memory this is the network of the clients, so that its fault plan strikes brokers, too. Otherwise it
    is one of their own, which nobody outside of the process can reach, and which needs no system calls.
    """
    memory = network if isinstance(network, MemoryNetwork) else MemoryNetwork()
    return PeerNetwork(memory, _PEER_HOST, Access(None, login), {})


def _peer_login(security: BrokerSecurity) -> SaslSettings | None:
    """Return the secret with which brokers authenticate to each other, or None if clients need not authenticate."""
    if not security.mechanisms:
        return None
    return SaslSettings("PLAIN", Password(_PEER_USER, secrets.token_hex(32)))


def _peer_security(login: SaslSettings | None) -> BrokerSecurity:
    if login is None or not isinstance(login.credentials, Password):
        return BrokerSecurity()
    return BrokerSecurity(mechanisms=(login.mechanism,), users={login.credentials.username: login.credentials.password})
