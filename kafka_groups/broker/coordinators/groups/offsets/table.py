"""The hard state of committed offsets: by group, topic and partition."""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from kafka_groups.protocol.coordinator_records.offsets import OffsetCommit, OffsetCommitValue
from kafka_groups.types import TopicPartition

__all__ = ["CommittedOffsets"]

_NONE: Mapping[str, Mapping[int, OffsetCommitValue]] = MappingProxyType({})


class CommittedOffsets:
    """Committed offsets of all groups of a shard. Only `replay` changes them."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[int, OffsetCommitValue]]] = {}
        self._groups_of_topic: dict[str, dict[str, None]] = {}

    def __repr__(self) -> str:
        return f"<CommittedOffsets of {len(self._groups)} groups>"

    @property
    def topics(self) -> Collection[str]:
        """The topics that there are committed offsets of."""
        return self._groups_of_topic.keys()

    def __len__(self) -> int:
        """Number of offsets."""
        return sum(len(of_topic) for of_group in self._groups.values() for of_topic in of_group.values())

    def of_group(self, group_id: str) -> Mapping[str, Mapping[int, OffsetCommitValue]]:
        """Return a group's offsets by topic and partition. Do not modify them."""
        return self._groups.get(group_id, _NONE)

    def get(self, group_id: str, partition: TopicPartition) -> OffsetCommitValue | None:
        """Return the offset of one partition, or None."""
        return self.of_group(group_id).get(partition.topic, {}).get(partition.partition)

    def replay(self, record: OffsetCommit) -> None:
        """Apply a record."""
        if record.value is None:
            self._forget(record.group, record.topic, record.partition)
            return
        of_topic = self._groups.setdefault(record.group, {}).setdefault(record.topic, {})
        of_topic[record.partition] = record.value
        self._groups_of_topic.setdefault(record.topic, {})[record.group] = None

    def tombstones_of_group(self, group_id: str) -> Iterator[OffsetCommit]:
        """Return the records that forget all offsets of a group."""
        for topic in self.of_group(group_id):
            yield from self._tombstones(group_id, topic)

    def tombstones_of_topic(self, topic: str) -> Iterator[OffsetCommit]:
        """Return the records that forget all offsets of a topic."""
        for group_id in self._groups_of_topic.get(topic, ()):
            yield from self._tombstones(group_id, topic)

    def _tombstones(self, group_id: str, topic: str) -> Iterator[OffsetCommit]:
        return (OffsetCommit(group_id, topic, number, None) for number in self.of_group(group_id)[topic])

    def _forget(self, group_id: str, topic: str, partition: int) -> None:
        of_group = self._groups.get(group_id, {})
        of_topic = of_group.get(topic, {})
        of_topic.pop(partition, None)
        if of_topic or topic not in of_group:
            return
        del of_group[topic]
        del self._groups_of_topic[topic][group_id]
        if not self._groups_of_topic[topic]:
            del self._groups_of_topic[topic]
        if not of_group:
            del self._groups[group_id]
