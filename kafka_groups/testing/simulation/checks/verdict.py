"""Checks of a finished run: violations on the wire, and contradictions between wire and share-state log."""

from collections.abc import Iterable, Iterator
from functools import reduce

from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metadata.topics import PartitionMetadata, TopicMetadata
from kafka_groups.errors.texts import counted
from kafka_groups.testing.simulation.checks.ledger import shown
from kafka_groups.testing.simulation.checks.log_oracle import LogOracle
from kafka_groups.testing.simulation.checks.visible import visible_offsets
from kafka_groups.testing.simulation.checks.wire_tap import WireTap
from kafka_groups.types import RecordId

__all__ = ["WireVerdict"]


@frozen
class WireVerdict:
    """Judges a run.

    Args:
        cluster: The brokers.
        tap: The observer of the wire.
    """

    cluster: EmbeddedCluster
    tap: WireTap

    @property
    def produced(self) -> int:
        """The number of records that were produced."""
        logs = self.cluster.logs
        ends = (logs.get(topic.topic_id, led.partition).end_offset for topic, led in self._partitions())
        return sum(ends)

    def unfinished(self) -> list[str]:
        """Return the records that a group has to finish, and did not."""
        return self.named(text for group_id in self.tap.ledgers for text in self._unfinished(group_id))

    def violations(self) -> list[str]:
        """Return what must never happen and did."""
        return self.named(text for group_id in self.tap.ledgers for text in self._violations(group_id))

    def _violations(self, group_id: str) -> Iterator[str]:
        yield from self.tap.ledgers[group_id].violations
        yield from self._unfinished(group_id)
        yield from self._contradictions(group_id)

    def _unfinished(self, group_id: str) -> Iterator[str]:
        ledger = self.tap.ledgers[group_id]
        for place in self._places(group_id):
            if not ledger.may_be_done(place):
                deliveries = counted(ledger.delivery_counts.get(place, 0), "delivery")
                yield f"{shown(place)}: not accepted, rejected or at its delivery limit: {deliveries}"

    def _contradictions(self, group_id: str) -> Iterator[str]:
        """Yield the contradictions between the wire and the log of share states."""
        ledger, oracle = self.tap.ledgers[group_id], LogOracle(self.cluster.metadata, self.cluster.logs, group_id)
        for place in sorted(ledger.accepted, key=shown):
            if oracle.contradicts_acceptance(place):
                yield f"{shown(place)}: accepted on the wire, and not in the log"
        for place in self._places(group_id):
            if oracle.is_settled(place) and not ledger.may_be_done(place):
                yield f"{shown(place)}: settled in the log, and nobody settled it"

    def _places(self, group_id: str) -> Iterator[RecordId]:
        """Yield all records that a group must finish, as far as the wire shows where the group started."""
        ledger = self.tap.ledgers[group_id]
        for topic, led in self._partitions():
            partition = topic.topic_id_partition(led.partition)
            start, log = ledger.start_of(partition), self.cluster.logs.get(topic.topic_id, led.partition)
            if topic.name in ledger.topics and start is not None:
                offsets = visible_offsets(
                    log, max(start, log.log_start_offset), is_committed_only=ledger.reads_committed
                )
                yield from ((partition, offset) for offset in offsets)

    def _partitions(self) -> Iterator[tuple[TopicMetadata, PartitionMetadata]]:
        topics = (topic for topic in self.cluster.metadata.topics() if not topic.is_internal)
        return ((topic, led) for topic in topics for led in topic.partitions)

    def named(self, texts: Iterable[str]) -> list[str]:
        """Replace the ids of topics by their names."""
        names = {str(topic.topic_id): topic.name for topic in self.cluster.metadata.topics()}
        return [reduce(lambda found, topic_id: found.replace(topic_id, names[topic_id]), names, text) for text in texts]
