"""Writes the markers that end transactions to partitions that this broker leads."""

from collections.abc import Callable, Collection
from functools import partial

from kafka_groups.broker.log.entries import EndMarker
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, leader_of
from kafka_groups.broker.runtime.combined_outcomes import Outcomes
from kafka_groups.broker.runtime.groups.group_coordinator import GroupCoordinator
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.errors import (
    BrokerError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    NotCoordinatorError,
    NotLeaderOrFollowerError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.types import TopicPartition

__all__ = ["LedMarkers"]

_NOT_READY = (CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError)


class LedMarkers:
    """The markers of partitions that one broker leads.

    Args:
        broker: The broker.
        groups: Its group coordinator, whose offsets count with the marker.
    """

    def __init__(self, broker: BrokerParts, groups: GroupCoordinator) -> None:
        self._broker = broker
        self._groups = groups

    def __repr__(self) -> str:
        return f"<LedMarkers of broker {self._broker.node_id}>"

    def write_all(
        self,
        marker: EndMarker,
        partitions: Collection[TopicPartition],
        done: Callable[[dict[TopicPartition, BrokerError | None]], None],
    ) -> None:
        """Write a marker to some partitions.

        Args:
            marker: The marker.
            partitions: The partitions.
            done: Takes the error of each, or None, when all markers are committed. The errors are
                UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER (also while the coordinator of groups is loading),
                INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
        """
        outcomes = Outcomes(partitions, done)
        for each in partitions:
            self._write(marker, each, partial(outcomes.add, each))

    def _write(self, marker: EndMarker, partition: TopicPartition, done: Callable[[BrokerError | None], None]) -> None:
        # A marker in this log makes offsets count, so the group coordinator writes it
        # (KafkaApis.handleWriteTxnMarkersRequest in Kafka).
        if partition.topic == GROUP_TOPIC:
            self._groups.runtime.end_transaction(partition.partition, marker, partial(_settled, done))
            return
        try:
            self._append(marker, partition)
        except BrokerError as error:
            done(error)
        else:
            done(None)

    def _append(self, marker: EndMarker, partition: TopicPartition) -> None:
        cluster = self._broker.cluster
        topic = cluster.metadata.topic(partition.topic)
        led = None if topic is None else leader_of(topic, partition.partition)
        # No transaction has partitions of the other internal topics.
        if topic is None or led is None or topic.is_internal:
            raise UnknownTopicOrPartitionError(f"There is no partition {partition} for transactions.")
        if led.leader_id != self._broker.node_id:
            raise NotLeaderOrFollowerError(f"Broker {self._broker.node_id} does not lead {partition}.")
        log = cluster.logs.get(topic.topic_id, partition.partition)
        log.append_end(marker, led.leader_epoch, cluster.clock.wall_ms())
        self._broker.grown(topic.topic_id_partition(partition.partition))


def _settled(done: Callable[[BrokerError | None], None], outcome: BrokerError | None) -> None:
    """Pass on the outcome. The senders of markers do not know the errors of a coordinator that is not ready."""
    done(NotLeaderOrFollowerError(str(outcome)) if isinstance(outcome, _NOT_READY) else outcome)
