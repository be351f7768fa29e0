"""The coordinators of one broker, and what they need of each other."""

from collections.abc import Mapping
from functools import partial

from kafka_groups.broker.configs.effective import verifies_transactions
from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.share_state.share_partition_state import SharePartitionState, StateKey
from kafka_groups.broker.log.producers import Verification
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.placement import GROUP_TOPIC
from kafka_groups.broker.runtime.dead_letters.queue_appends import QueueAppends
from kafka_groups.broker.runtime.dead_letters.queue_writer import DeadLetterQueueWriter
from kafka_groups.broker.runtime.groups.group_coordinator import GroupCoordinator
from kafka_groups.broker.runtime.hosting import HostedCoordinators
from kafka_groups.broker.runtime.outcome import PendingOutcome, outcome_of
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.peers import Peers
from kafka_groups.broker.runtime.share_state.share_coordinator import ShareCoordinator
from kafka_groups.broker.runtime.share_state.share_persister import SharePersister
from kafka_groups.broker.runtime.transactions.led_markers import LedMarkers
from kafka_groups.broker.runtime.transactions.marker_writer import MarkerWriter
from kafka_groups.broker.runtime.transactions.transaction_coordinator import TransactionCoordinator
from kafka_groups.broker.runtime.transactions.verification import (
    PartitionErrors,
    TransactionalWrite,
    TransactionQuestions,
)
from kafka_groups.errors import CoordinatorLoadInProgressError, NetworkExceptionError
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommitValue
from kafka_groups.types import TopicPartition

__all__ = ["Coordinators"]


class Coordinators:
    """The coordinators of one broker, and how they reach those of others.

    Another coordinator is one more attribute and its entry in `hosted`.

    Args:
        broker: The parts of the broker.

    Attributes:
        peers: The connections to other brokers.
        share: The share coordinator.
        persister: The way to the share coordinators of all brokers.
        dead_letters: Writes the dead letters of share groups.
        groups: The group coordinator.
        led_markers: Writes markers of transactions to partitions that the broker leads.
        transactions: The transaction coordinator.
        transaction_questions: Asks the transaction coordinators of all brokers about partitions.
        hosted: All of them, as the broker starts, stops and expires them.
    """

    def __init__(self, broker: BrokerParts) -> None:
        self._broker = broker
        self.peers = Peers(broker.node_id, broker.cluster.peer_network)
        self.share = ShareCoordinator(broker)
        self.persister = SharePersister(broker, self.share, self.peers)
        self.dead_letters = DeadLetterQueueWriter(broker, QueueAppends(broker, self.peers))
        self.groups = GroupCoordinator(broker, self.persister)
        self.led_markers = LedMarkers(broker, self.groups)
        self.transactions = TransactionCoordinator(broker, MarkerWriter(broker, self.peers, self.led_markers))
        self.transaction_questions = TransactionQuestions(broker, self.transactions, self.peers)
        self.hosted = HostedCoordinators((self.share, self.groups, self.transactions))

    def __repr__(self) -> str:
        return f"<Coordinators of broker {self._broker.node_id}: {self.hosted!r}>"

    def start(self, image: MetadataImage) -> None:
        """Begin to lead what the broker leads by this image."""
        self._broker.cluster.directory.add(self._broker.node_id, self)
        self.hosted.follow(image)

    def stop(self, *, answers: bool = True) -> None:
        """Lead nothing any more. Requests that wait are answered with NOT_COORDINATOR, unless the broker is dead."""
        self._broker.cluster.directory.remove(self._broker.node_id)
        self.peers.stop()
        self.hosted.stop(answers=answers)

    async def commit_in_transaction(
        self,
        group_id: str,
        committer: OffsetCommitter,
        offsets: Mapping[TopicPartition, OffsetCommitValue],
        write: TransactionalWrite,
    ) -> None:
        """Store offsets of a group that count when a transaction is committed, after asking its coordinator.

        Raises:
            BrokerError: The group does not accept the offsets, or the producer may not write them.
        """
        verification = await self._verified(group_id, write)
        commit = self.groups.commit_in_transaction
        await outcome_of(partial(commit, group_id, committer, offsets, write.producer, verification))

    async def _verified(self, group_id: str, write: TransactionalWrite) -> Verification | None:
        index = self.groups.runtime.index_of(group_id)
        # The same two reasons to ask as for records of producers, see `transactional_writes.permits_of`.
        if not (write.adds or verifies_transactions(self._broker.configs)):
            return None
        verification = self.groups.runtime.begin_verification(index, write.producer, adds=write.adds)
        if verification is not None:
            outcome: PendingOutcome[PartitionErrors] = PendingOutcome()
            self.transaction_questions.ask(write, [TopicPartition(GROUP_TOPIC, index)], outcome)
            for error in (await outcome.wait()).values():
                # Old producers do not retry TxnOffsetCommit after NETWORK_EXCEPTION. Kafka translates it, too
                # (GroupCoordinatorService.commitTransactionalOffsets).
                raise CoordinatorLoadInProgressError(str(error)) if isinstance(error, NetworkExceptionError) else error
        return verification

    def group_now(self, group_id: str) -> ShareGroup | None:
        """Return a share group of this broker if it is there, to look at: for tests."""
        return self.groups.group_now(group_id)

    def state_now(self, key: StateKey) -> SharePartitionState | None:
        """Return the state of a share-partition of this broker if it is there, to look at: for tests."""
        return self.share.state_now(key)
