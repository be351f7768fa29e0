"""Writes the markers that end a transaction to all its partitions, here and on other brokers, until each has one."""

import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial

from kafka_groups.broker.coordinators.transactions.effects import WriteMarkers
from kafka_groups.broker.coordinators.transactions.records import by_topic
from kafka_groups.broker.log.entries import EndMarker
from kafka_groups.broker.metadata.placement import leader_of
from kafka_groups.broker.metadata.topics import NO_LEADER
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.peers import Peers
from kafka_groups.broker.runtime.transactions.led_markers import LedMarkers
from kafka_groups.errors import (
    BrokerError,
    InvalidProducerEpochError,
    TransactionCoordinatorFencedError,
    UnknownServerError,
    error_for,
)
from kafka_groups.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_groups.types import TopicPartition

__all__ = ["MarkerWriter"]

_LOG = logging.getLogger(__name__)

_RETRY_MS = 20
_LAST = (InvalidProducerEpochError, TransactionCoordinatorFencedError)
"""Errors after which a coordinator writes no more markers: a newer one does."""

Written = Callable[[Collection[TopicPartition]], bool]
"""Takes partitions that have their markers, or are gone. Returns whether the others still matter to the caller."""


class MarkerWriter:
    """The markers of the transactions that one broker coordinates.

    Args:
        broker: The broker.
        peers: The connections to other brokers.
        led: Writes to the partitions that the broker leads itself.
    """

    def __init__(self, broker: BrokerParts, peers: Peers, led: LedMarkers) -> None:
        self._broker = broker
        self._peers = peers
        self._led = led

    def __repr__(self) -> str:
        return f"<MarkerWriter of broker {self._broker.node_id}>"

    def write(self, effect: WriteMarkers, coordinator_epoch: int, written: Written) -> None:
        """Write the markers.

        Args:
            effect: The end of the transaction.
            coordinator_epoch: The epoch of the coordinator's partition.
            written: Receives the partitions that are done. It may be called before this returns.
        """
        marker = EndMarker(effect.producer, effect.committed, coordinator_epoch, effect.version)
        self._write(marker, effect.partitions, written)

    def _write(self, marker: EndMarker, partitions: Collection[TopicPartition], written: Written) -> None:
        by_leader: dict[int | None, list[TopicPartition]] = {}
        for each in sorted(partitions):
            by_leader.setdefault(self._leader_of(each), []).append(each)
        # A partition that was deleted needs no marker (TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue in
        # Kafka).
        gone = by_leader.pop(None, [])
        if (gone or not by_leader) and not written(gone):
            return
        for node_id, led in by_leader.items():
            answered = partial(self._answered, marker, led, written)
            if node_id == self._broker.node_id:
                self._led.write_all(marker, led, answered)
            elif node_id == NO_LEADER:
                # The leader is looked for again after a while, because the partition still has an open transaction.
                self._later(marker, led, written)
            else:
                self._ask(node_id, marker, led, answered)

    def _leader_of(self, partition: TopicPartition) -> int | None:
        """Return the leader of a partition, or None if the partition does not exist any more."""
        topic = self._broker.cluster.metadata.topic(partition.topic)
        found = None if topic is None else leader_of(topic, partition.partition)
        return None if found is None else found.leader_id

    def _ask(
        self,
        node_id: int | None,
        marker: EndMarker,
        partitions: list[TopicPartition],
        answered: Callable[[Mapping[TopicPartition, BrokerError | None]], None],
    ) -> None:
        assert node_id is not None  # noqa: S101 - the caller has taken out those that are gone
        topics = [
            WritableTxnMarkerTopic(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic(partitions).items()
        ]
        wanted = WritableTxnMarker(
            producer_id=marker.producer.producer_id,
            producer_epoch=marker.producer.epoch,
            transaction_result=marker.committed,
            topics=tuple(topics),
            coordinator_epoch=marker.coordinator_epoch,
            transaction_version=marker.version,
        )
        request = WriteTxnMarkersRequest(markers=(wanted,))
        self._peers.ask(node_id, request, lambda response: answered(_errors(partitions, response)))

    def _answered(
        self,
        marker: EndMarker,
        partitions: Collection[TopicPartition],
        written: Written,
        errors: Mapping[TopicPartition, BrokerError | None],
    ) -> None:
        failed = {each: error for each, error in errors.items() if error is not None}
        is_going_on = written([each for each in partitions if each not in failed])
        # There are two kinds of errors (TransactionMarkerRequestCompletionHandler.onComplete in Kafka). After the first
        # kind nothing is written any more: a newer producer or coordinator has taken over. All others may pass, and
        # only the partitions that failed are tried again.
        last = next((error for error in failed.values() if isinstance(error, _LAST)), None)
        if last is not None:
            _LOG.info("No more markers are written for producer %d: %s", marker.producer.producer_id, last)
        elif is_going_on and failed:
            self._later(marker, tuple(failed), written)

    def _later(self, marker: EndMarker, partitions: Collection[TopicPartition], written: Written) -> None:
        self._broker.later(_RETRY_MS, partial(self._again, marker, partitions, written))

    def _again(self, marker: EndMarker, partitions: Collection[TopicPartition], written: Written) -> None:
        if written(()):
            self._write(marker, partitions, written)


def _errors(
    partitions: Collection[TopicPartition], response: WriteTxnMarkersResponse | BrokerError
) -> dict[TopicPartition, BrokerError | None]:
    if isinstance(response, BrokerError):
        return dict.fromkeys(partitions, response)
    missing = UnknownServerError("The leader did not answer for all partitions.")
    errors: dict[TopicPartition, BrokerError | None] = dict.fromkeys(partitions, missing)
    for producer in response.markers:
        for topic in producer.topics:
            for each in topic.partitions:
                partition = TopicPartition(topic.name, each.partition_index)
                errors[partition] = error_for(each.error_code) if each.error_code else None
    return errors
