"""The transaction coordinator of one broker: transactional ids whose partitions of `__transaction_state` it leads."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TypeVar

from kafka_groups.broker.coordinators.internal_topic import InternalTopic
from kafka_groups.broker.coordinators.result import Effect, Result
from kafka_groups.broker.coordinators.transactions.effects import WriteMarkers
from kafka_groups.broker.coordinators.transactions.ending import EndRequest
from kafka_groups.broker.coordinators.transactions.records import StoredTransactionRecords, TransactionRecord
from kafka_groups.broker.coordinators.transactions.settings import TransactionRules
from kafka_groups.broker.coordinators.transactions.shard import TransactionShard
from kafka_groups.broker.coordinators.transactions.transaction import Transaction
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import TRANSACTION_TOPIC
from kafka_groups.broker.runtime.coordinator_runtime import CoordinatorRuntime, ShardKind
from kafka_groups.broker.runtime.led_shard import Done, ShardAddress
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.transactions.marker_writer import MarkerWriter
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.types import TopicPartition

__all__ = ["TransactionCoordinator", "transaction_topic"]

T = TypeVar("T")

_FEATURE = "transaction.version"

TransactionOperation = Callable[[TransactionShard], Result[T, TransactionRecord]]


def transaction_topic(settings: BrokerSettings, metadata: ClusterMetadata) -> InternalTopic:
    """Return the topic that keeps transactional ids."""
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }
    partitions = settings.transaction_state_log_num_partitions
    replicas = settings.transaction_state_log_replication_factor
    return InternalTopic(TRANSACTION_TOPIC, partitions, replicas, configs, metadata)


class TransactionCoordinator:
    """Operations on transactional ids.

    Each method raises NotCoordinatorError if another broker coordinates the id or has taken it over,
    CoordinatorLoadInProgressError while the ids are being read, and CoordinatorNotAvailableError if the log refused
    records. Those that take a function give it the error instead.

    Args:
        broker: The broker that hosts it.
        markers: Writes the markers that end transactions.

    Attributes:
        topic: `__transaction_state`.
        runtime: Has the shards.
        peer_apis: The APIs with which brokers ask each other about transactions.
    """

    peer_apis = (ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.WRITE_TXN_MARKERS)

    def __init__(self, broker: BrokerParts, markers: MarkerWriter) -> None:
        cluster = broker.cluster
        self.topic = transaction_topic(cluster.settings, cluster.metadata)
        rules = _rules(broker)
        kind = ShardKind(self.topic.name, StoredTransactionRecords(), lambda: TransactionShard(rules), self._perform)
        self.runtime: CoordinatorRuntime[TransactionShard] = CoordinatorRuntime(broker, kind)
        self._markers = markers
        self._clock = cluster.clock

    def __repr__(self) -> str:
        return f"<TransactionCoordinator on {self.runtime!r}>"

    async def initialise(self, transactional_id: str, timeout_ms: int, expected: Producer | None) -> Producer:
        """Give a producer its id and epoch; see `TransactionShard.initialise`."""
        wall_ms = self._clock.wall_ms()
        return await self._run(
            transactional_id, lambda shard: shard.initialise(transactional_id, timeout_ms, expected, wall_ms)
        )

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        version: int,
        done: Done[None],
    ) -> None:
        """Add partitions to a transaction; see `TransactionShard.add_partitions`."""
        wall_ms = self._clock.wall_ms()
        self._begin(
            transactional_id,
            lambda shard: shard.add_partitions(transactional_id, producer, partitions, version, wall_ms),
            done,
        )

    def verify_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        done: Done[dict[TopicPartition, BrokerError]],
    ) -> None:
        """Find out which partitions are not part of a transaction; see `TransactionShard.verify_partitions`."""
        self._begin(
            transactional_id, lambda shard: shard.verify_partitions(transactional_id, producer, partitions), done
        )

    async def end(self, transactional_id: str, request: EndRequest) -> Producer:
        """Commit or abort a transaction, and return the producer's next id and epoch; see `TransactionShard.end`.

        The markers are written afterwards.
        """
        wall_ms = self._clock.wall_ms()
        return await self._run(transactional_id, lambda shard: shard.end(transactional_id, request, wall_ms))

    async def described(self, transactional_id: str) -> Transaction:
        """Return a transactional id.

        Raises:
            TransactionalIdNotFoundError: It does not exist.
        """
        return await self._run(transactional_id, lambda shard: Result(shard.described(transactional_id)))

    def items(self) -> Iterator[tuple[str, Transaction]]:
        """Return all transactional ids of this broker."""
        return (item for shard in self.runtime.shards() for item in shard.items())

    # -------------------------------------------------------------------------------------------- insides

    def _begin(self, transactional_id: str, operation: TransactionOperation[T], done: Done[T]) -> None:
        self.runtime.run(self.runtime.index_of(transactional_id), operation, done)

    async def _run(
        self, transactional_id: str, operation: Callable[[TransactionShard], Result[T | BrokerError, TransactionRecord]]
    ) -> T:
        return await outcome_of(partial(self._begin, transactional_id, operation))

    def _perform(self, effect: Effect, address: ShardAddress) -> None:
        if not isinstance(effect, WriteMarkers):
            raise TypeError(f"The transaction coordinator has no effect {effect!r}.")
        shard = self.runtime.active_shard(address.index)
        if shard is not None:  # one that is loading will begin with its markers
            self._markers.write(effect, address.epoch, partial(self._written, effect, address.index, shard))

    def _written(
        self,
        effect: WriteMarkers,
        index: int,
        shard: TransactionShard,
        partitions: Collection[TopicPartition],
    ) -> bool:
        """Note that partitions have their markers. Returns whether the others are still to be written.

        They are not if the shard has been loaded again, even by this broker in the same epoch: the new shard writes its
        own markers. An older one that arrives late would end the next transaction of a producer whose epoch stays.
        """
        wall_ms = self._clock.wall_ms()
        if self.runtime.active_shard(index) is shard:
            self.runtime.run(index, lambda same: same.markers_written(effect, partitions, wall_ms), _ignore)
        return self.runtime.active_shard(index) is shard


def _ignore(_outcome: object) -> None:
    """Ignore the outcome: a shard whose log refused the record is not there any more."""


def _rules(broker: BrokerParts) -> TransactionRules:
    cluster = broker.cluster
    settings, metadata = cluster.settings, cluster.metadata
    return TransactionRules(
        max_timeout_ms=settings.transaction_max_timeout_ms,
        id_expiration_ms=settings.transactional_id_expiration_ms,
        timeout_check_ms=settings.transaction_abort_timed_out_transaction_cleanup_interval_ms,
        expiration_check_ms=settings.transaction_remove_expired_transaction_cleanup_interval_ms,
        new_producer_id=cluster.logs.new_producer_id,
        # Read anew each time: the level may change while the broker runs
        # (TransactionStateManager.transactionVersionLevel in Kafka).
        version=lambda: metadata.features.get(_FEATURE, 0),
    )
