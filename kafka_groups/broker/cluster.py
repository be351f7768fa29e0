"""A Kafka cluster in this process, for tests, demonstrations and simulation."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar

from attrs import evolve

from kafka_groups.acls import AclBinding
from kafka_groups.broker.cluster_core import ClusterCore, cluster_network, cluster_parts
from kafka_groups.broker.faults import Faults
from kafka_groups.broker.log.store import LogStore
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import leader_of
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.metrics import METRICS
from kafka_groups.broker.observed import ObservedGroup
from kafka_groups.broker.produced import ProducedRecord
from kafka_groups.broker.producing import Payload, Records, TopicPartitionOffset
from kafka_groups.broker.profile import DEFAULT_PROFILE, profile_named
from kafka_groups.broker.runtime.log_cleaner import CleanedLog
from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.config.readers import STANDARD_AUTHORIZER
from kafka_groups.errors import IllegalStateError
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.net.network import Network
from kafka_groups.telemetry.sources import TelemetrySource, broker_source
from kafka_groups.types import TopicPartition

__all__ = ["EmbeddedCluster"]

T = TypeVar("T")

_NO_CONFIGS: Mapping[str, str] = MappingProxyType({})


class EmbeddedCluster:
    """Kafka brokers in this process that serve share groups, topics and records like Kafka 4.4, or an earlier release.

    Use it as a context manager. `with` runs the brokers on their own thread, so that your program may block.
    `async with` runs them on your event loop. The constructor opens nothing. The cluster keeps its data in memory and
    drops it when it stops. You can call the methods without `async` in both forms, unless they say otherwise.

    Args:
        brokers: Number of brokers. Their node ids start at 1.
        network: The network on which clients reach the brokers. The default is TCP on loopback.
        port: Port of the first broker. The other brokers use the ports after it. 0 picks free ports.
        settings: The brokers' settings, with Kafka's dotted names or as `BrokerSettings`.
        security: TLS, SASL and the users. By default anyone can connect, in plain text.
        clock: The brokers' clock, which must agree with the event loop's time. The default is the system's clock.
        seed: Seed of the randomness that is used for ids. In real time the cluster's own id is another one each time,
            because clients tell clusters apart by their ids. With a clock in virtual time it depends on the seed, too.
        profile: The release of Kafka that the brokers act as: "4.2", "4.3" or "4.4". What a release does not have, they
            refuse as that release does.
        acls: ACLs that the cluster starts with. If they are given, even none of them, the brokers check each request
            against the ACLs, which clients can change. So does the setting `authorizer.class.name`. Otherwise every
            client may do everything. The methods of this class are never checked.

    Raises:
        InvalidConfigError: A setting is unknown, the release does not have it, or its value is invalid.
        ConfigurationError: The TLS files of `security` cannot be used, or an ACL is invalid.
        ValueError: `brokers` is less than 1, the profile is unknown, or there is a network as well as TLS in
            `security`.
    """

    def __init__(  # noqa: PLR0913 - all but the first by keyword
        self,
        brokers: int = 1,
        *,
        network: Network | None = None,
        port: int = 0,
        settings: BrokerSettings | Mapping[str, object] | None = None,
        security: BrokerSecurity | None = None,
        clock: Clock | None = None,
        seed: int = 0,
        profile: str = DEFAULT_PROFILE.name,
        acls: Iterable[AclBinding] | None = None,
    ) -> None:
        if brokers < 1:
            raise ValueError(f"Invalid number of brokers {brokers}: a cluster has at least one.")
        release = profile_named(profile)
        given = release.settings(settings)
        if acls is not None:
            given = evolve(given, authorizer_class_name=STANDARD_AUTHORIZER)
        security = security or BrokerSecurity()
        network = cluster_network(network, security, given)
        parts = cluster_parts(network, clock or SystemClock(), given, security, seed, release)
        self._core = ClusterCore(brokers, port, parts)
        self._core.create_acls(acls or ())
        self._thread: LoopThread | None = None
        self._state = "not started"
        self._context = copy_context()

    def __repr__(self) -> str:
        return f"<EmbeddedCluster of {self._core.size}: {self._state}{self._addresses()}>"

    def __del__(self) -> None:
        if getattr(self, "_state", "") != "running":
            return
        # After a fork the child holds a copy of an object that the parent still uses.
        if self._thread is None or self._thread.is_running:
            warnings.warn(
                f"{self!r} was never stopped. Use it in a with statement, or call stop().",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )
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
        """Start the brokers on their own thread and wait until clients can connect.

        Raises:
            NetworkError: A port is not available.
            IllegalStateError: The cluster was started before.
        """
        self._must_be("not started")
        thread = LoopThread("embedded-cluster")
        thread.start()
        try:
            thread.run(self._core.start())
        except BaseException:  # also Ctrl-C: nobody else could stop the thread
            thread.stop()
            raise
        self._thread = thread
        self._state = "running"

    def stop(self) -> None:
        """Stop the brokers that `start` started and wait until they have stopped.

        Raises:
            ExceptionGroup: A broker had an internal error. See `unexpected_errors`.
        """
        self._stop_on_thread()
        self._core.raise_failures(None)

    async def start_async(self) -> None:
        """Start the brokers on the running event loop.

        Raises:
            NetworkError: A port is not available.
            IllegalStateError: The cluster was started before.
        """
        self._must_be("not started")
        await self._core.start()
        self._state = "running"
        self._context = copy_context()

    async def stop_async(self) -> None:
        """Stop the brokers that `start_async` started.

        Raises:
            ExceptionGroup: A broker had an internal error. See `unexpected_errors`.
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
                raise IllegalStateError("The cluster was started by start(). Stop it with stop().")
            self._state = "stopped"
            await self._core.stop()

    # ----------------------------------------------------------------------------------------- its parts

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` of every broker, separated by commas. Includes brokers that are stopped at the moment."""
        return ",".join(f"{endpoint.host}:{endpoint.port}" for endpoint in self._core.endpoints.values())

    @property
    def network(self) -> Network:
        """The network on which clients reach the brokers."""
        return self._core.parts.network

    @property
    def metadata(self) -> ClusterMetadata:
        """Topics, leaders and configs. In the `with` form, only read them."""
        return self._core.parts.metadata

    @property
    def logs(self) -> LogStore:
        """The logs of all partitions. In the `with` form, only read them."""
        return self._core.parts.logs

    @property
    def faults(self) -> Faults:
        """The faults that the brokers inject."""
        return self._core.parts.faults

    @property
    def unexpected_errors(self) -> tuple[BaseException, ...]:
        """Internal errors of the brokers, which are bugs in this package. Raised when the cluster stops."""
        return tuple(self._core.failures)

    @property
    def running_brokers(self) -> tuple[int, ...]:
        """Node ids of the brokers that are running."""
        return tuple(sorted(self._core.nodes))

    @property
    def open_connections(self) -> int:
        """Number of open connections from clients to the brokers."""
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
            BrokerError: The name is invalid, the topic exists, or a number is out of bounds. Configs are not validated.
        """
        metadata = self.metadata
        return self._on_loop(lambda: metadata.create_topic(name, partitions, replication_factor, configs))

    def delete_topic(self, name: str) -> None:
        """Delete a topic and its records.

        Raises:
            UnknownTopicOrPartitionError: The topic does not exist.
        """
        self._on_loop(lambda: self.metadata.delete_topic(name))

    def move_leader(self, topic: str, partition: int, node_id: int) -> None:
        """Make another broker the leader of a partition, with the next leader epoch.

        Raises:
            UnknownTopicOrPartitionError: The partition does not exist.
            ValueError: The broker does not exist or is stopped.
        """
        self._on_loop(lambda: self.metadata.move_leader(TopicPartition(topic, partition), node_id))

    def elect_unclean_leader(self, topic: str, partition: int, node_id: int, *, end_offset: int) -> int:
        """Make a broker the leader of a partition although its log has less than that of the leader before.

        Records are lost, as after an unclean leader election in Kafka (`unclean.leader.election.enable`). The leader
        epoch increases. Consumers that have read further learn where the logs diverge, and what the broker knows of
        producers and transactions is read from the batches that are left. Offsets that groups have committed stay.

        Args:
            topic: A topic that is not internal.
            partition: The partition.
            node_id: A broker that is running. It may be the leader.
            end_offset: The records from this offset on are lost. Only whole batches stay.

        Returns:
            The end of the log.

        Raises:
            UnknownTopicOrPartitionError: The partition does not exist.
            InvalidTopicError: The topic is internal.
            OffsetOutOfRangeError: The offset is not in the log.
            ValueError: The broker does not exist or is stopped.
        """
        lost = TopicPartition(topic, partition)
        return self._on_loop(lambda: self._core.elect_unclean_leader(lost, node_id, end_offset))

    def leader_of(self, topic: str, partition: int) -> int:
        """Return the node id of a partition's leader, or -1 if it has no leader.

        Raises:
            LookupError: The partition does not exist.
        """
        known = self.metadata.topic(topic)
        if known is None:
            raise LookupError(f"Topic '{topic}' does not exist.")
        led = leader_of(known, partition)
        if led is None:
            raise LookupError(f"Topic '{topic}' has no partition {partition}.")
        return led.leader_id

    def alter_group_configs(self, group_id: str, changes: Mapping[str, str | None]) -> None:
        """Set dynamic configs of a group, such as `share.auto.offset.reset`. None resets a config to its default.

        Raises:
            InvalidConfigError: A key is unknown, or a value is invalid or outside the brokers' bounds.
        """
        self._on_loop(lambda: self._core.alter_group_configs(group_id, changes))

    def produce(
        self,
        topic: str,
        values: Iterable[Payload],
        *,
        keys: Iterable[Payload] | None = None,
        headers: Sequence[tuple[str, Payload]] = (),
        partition: int | None = None,
    ) -> list[TopicPartitionOffset]:
        """Append records to a topic, without a producer and without the network.

        Args:
            topic: A topic that exists.
            values: The values: bytes, text (written as UTF-8), or None.
            keys: A key for each value.
            headers: The headers of every record.
            partition: The partition of all records. Without it, records with a key go by the key's hash (as with
                librdkafka's default), and records without a key go to the partitions in turn.

        Returns:
            Where each record is.

        Raises:
            UnknownTopicOrPartitionError: The topic does not exist.
            ValueError: The partition does not exist, or the numbers of keys and values differ.
            TypeError: A value, key or header is neither bytes nor text.
            BrokerError: The topic's configuration does not allow a record, or the partition has no leader.
        """
        records = Records(values, keys, tuple(headers), partition)
        return self._on_loop(lambda: self._core.produce(topic, records))

    def records(self, topic: str) -> list[ProducedRecord]:
        """Return the records of a topic, sorted by partition and offset, such as those that your program has produced.

        Records that were deleted by DeleteRecords or with their topic are not among them.

        Args:
            topic: A topic that exists.

        Raises:
            UnknownTopicOrPartitionError: The topic does not exist.
        """
        return self._on_loop(lambda: self._core.records(topic))

    def group(self, group_id: str) -> ObservedGroup:
        """Return the brokers' view of a share group: results of its records, its lag, and waits for these.

        Args:
            group_id: The group; it need not exist yet.
        """
        return ObservedGroup(group_id, self._core.parts, self._on_loop, self._own_thread)

    def metrics(self, node_id: int | None = None) -> Mapping[str, int]:
        """Return the metrics of a running broker, or their sums over all of them, by Kafka's names.

        Args:
            node_id: The broker.

        Raises:
            ValueError: The broker is not running.
        """
        return self._on_loop(lambda: self._core.metrics(node_id))

    @property
    def telemetry(self) -> TelemetrySource:
        """The metrics of each running broker, for exporters; see `kafka_groups.telemetry`.

        In the `async with` form, only the thread of your event loop may read the metrics.
        """
        return broker_source(METRICS, self._metrics_by_node)

    def _metrics_by_node(self) -> Mapping[int, Mapping[str, int]]:
        if self._state != "running":
            return {}
        return self._on_loop(lambda: {node_id: self._core.metrics(node_id) for node_id in self.running_brokers})

    def stop_broker(self, node_id: int) -> None:
        """Stop a broker and wait until it has stopped. For the `with` form."""
        self._own_thread().run(self._core.stop_node(node_id))

    def kill_broker(self, node_id: int, noticed_after_ms: int = 0) -> None:
        """Kill a broker, as `kill -9` does: connections break without an answer. For the `with` form.

        Args:
            node_id: The broker.
            noticed_after_ms: When the other brokers notice. Until then it keeps its partitions, and clients that ask
                the others are still sent to it.

        Raises:
            ValueError: The broker is not running, or the time is negative.
        """
        self._own_thread().run(self._core.kill_node(node_id, noticed_after_ms))

    def start_broker(self, node_id: int) -> None:
        """Restart a broker on its old address and wait until clients can connect. For the `with` form."""
        self._own_thread().run(self._core.start_node(node_id))

    async def stop_broker_async(self, node_id: int) -> None:
        """Stop a broker. For the `async with` form."""
        await self._core.stop_node(node_id)

    async def kill_broker_async(self, node_id: int, noticed_after_ms: int = 0) -> None:
        """Kill a broker, as `kill_broker`. For the `async with` form."""
        await self._core.kill_node(node_id, noticed_after_ms)

    async def start_broker_async(self, node_id: int) -> None:
        """Restart a broker on its old address. For the `async with` form."""
        await self._core.start_node(node_id)

    def run_log_cleaner(self, *, roll_segments: bool = False) -> list[CleanedLog]:
        """Delete and compact at once what the brokers would delete and compact later. For the `with` form.

        The topics' configs decide what that is: `cleanup.policy`, `retention.ms`, `retention.bytes` and those of
        compaction. Ages count on the brokers' clock. Waits until all is done. Clients are still served.

        Args:
            roll_segments: Whether the segments that grow end first. Otherwise their records are not compacted, which
                in a small test is all of them.

        Returns:
            The logs that have become smaller, sorted by topic and partition.
        """
        return self._own_thread().run(self._core.run_log_cleaner(rolls=roll_segments))

    async def run_log_cleaner_async(self, *, roll_segments: bool = False) -> list[CleanedLog]:
        """Delete and compact at once, as `run_log_cleaner`. For the `async with` form."""
        return await self._core.run_log_cleaner(rolls=roll_segments)

    # ------------------------------------------------------------------------------------------- insides

    def _must_be(self, state: str) -> None:
        if self._state != state:
            raise IllegalStateError(f"Cannot start {self!r} again. Create a new EmbeddedCluster.")

    def _own_thread(self) -> LoopThread:
        if self._thread is None:
            raise IllegalStateError(f"{self!r} runs on your event loop. Use the method that ends in _async.")
        return self._thread

    def _on_loop(self, action: Callable[[], T]) -> T:
        if self._state != "running":
            raise IllegalStateError(f"{self!r} is not running.")
        if self._thread is not None:
            return self._thread.run(_awaitable(action))
        return self._context.copy().run(action)  # what the brokers begin belongs to them, and not to the caller

    def _addresses(self) -> str:
        return f" on {self.bootstrap_servers}" if self._state == "running" else ""


async def _awaitable(action: Callable[[], T]) -> T:
    return action()
