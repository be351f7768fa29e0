"""Computes the number of partitions of a topology's internal topics.

A repartition topic that does not fix its number gets the largest number of the topics that are read by those who write
it. Topics that are copartitioned get equal numbers. A changelog has a partition for each task.
"""

from collections.abc import Collection, Iterable

from kafka_groups.broker.coordinators.groups.streams.topologies.topology import StreamsTopology, copartitioned_topics
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.errors import StreamsInvalidTopologyError
from kafka_groups.protocol.messages.streams_group_parts import StreamsSubtopology

__all__ = ["IncorrectlyPartitioned", "PartitionCounts", "decided_counts"]


class IncorrectlyPartitioned(Exception):  # noqa: N818 - it becomes a status, not an error
    """Topics have other numbers of partitions than the topology needs. The text says which."""


class PartitionCounts:
    """The numbers of partitions of existing topics, and of those that are decided.

    Attributes:
        decided: The numbers of internal topics, whether or not they exist.
    """

    def __init__(self, topics: TopicsImage) -> None:
        self._topics = topics
        self.decided: dict[str, int] = {}

    def of(self, name: str) -> int | None:
        """Return the number of partitions that a topic has, or will have if it does not exist yet."""
        # The number of an existing topic wins over a derived one (InternalTopicManager.getPartitionCount). If it is not
        # what the topology needs, that is found out when the internal topics are compared.
        existing = self._topics.topic(name)
        return self.decided.get(name) if existing is None else existing.num_partitions

    def known(self, name: str) -> int:
        """Return the number of partitions of a topic that exists or is decided.

        Raises:
            StreamsInvalidTopologyError: It is neither.
        """
        count = self.of(name)
        if count is None:
            raise StreamsInvalidTopologyError(f"The number of partitions of topic {name} cannot be derived.")
        return count

    def tasks_of(self, subtopology: StreamsSubtopology) -> int:
        """Return how many tasks a sub-topology has.

        Raises:
            StreamsInvalidTopologyError: It reads nothing.
        """
        read = [*subtopology.source_topics, *(info.name for info in subtopology.repartition_source_topics)]
        # ChangelogTopics.setup in Kafka also rejects such a sub-topology, because it would have no task.
        if not read:
            raise StreamsInvalidTopologyError(f"Sub-topology {subtopology.subtopology_id} reads no topics.")
        # Task p reads partition p of each topic that has one, so the largest topic decides.
        return max(self.known(name) for name in read)


def decided_counts(topology: StreamsTopology, topics: TopicsImage) -> PartitionCounts:
    """Return how many partitions each internal topic needs. All source topics exist.

    Raises:
        StreamsInvalidTopologyError: The numbers cannot be derived.
        IncorrectlyPartitioned: Existing topics, or numbers that the topology fixes, contradict each other.
    """
    # The order is that of InternalTopicManager.decidePartitionCounts: repartition topics, copartitioning, changelogs.
    # Each step needs the numbers of the one before.
    counts = PartitionCounts(topics)
    counts.decided |= {info.name: info.partitions for info in topology.repartition_topics if info.partitions}
    _derive_from_writers(topology, counts)
    _Copartitioning(topology, counts).enforce()
    for each in topology.subtopologies:
        tasks = counts.tasks_of(each)
        counts.decided |= {info.name: tasks for info in each.state_changelog_topics}
    return counts


# ------------------------------------------------------------------------------------ repartition topics


def _derive_from_writers(topology: StreamsTopology, counts: PartitionCounts) -> None:
    """Decide until nothing is open. A sub-topology may write what another one reads, and so on."""
    # RepartitionTopics.computeRepartitionTopicPartitionCount in Kafka also repeats this until a round decides nothing.
    while _has_open_sinks(topology, counts):
        before = len(counts.decided)
        for each in topology.subtopologies:
            _decide_sinks(each, counts)
        if len(counts.decided) == before:
            raise StreamsInvalidTopologyError(
                "The numbers of partitions of repartition topics depend on each other in a circle. Fix one of them."
            )
    for info in topology.repartition_topics:
        # Kafka checks this after the numbers as well (RepartitionTopics.setup). A topic that nobody writes would stay
        # empty.
        if info.name not in counts.decided:
            raise StreamsInvalidTopologyError(
                f"Repartition topic {info.name} is read, but no sub-topology writes it. Its number of partitions "
                "cannot be derived."
            )


def _has_open_sinks(topology: StreamsTopology, counts: PartitionCounts) -> bool:
    return any(name not in counts.decided for each in topology.subtopologies for name in each.repartition_sink_topics)


def _decide_sinks(subtopology: StreamsSubtopology, counts: PartitionCounts) -> None:
    for name in subtopology.repartition_sink_topics:
        if name in counts.decided:
            continue
        # A sub-topology with n tasks writes up to n partitions' worth of records, so its repartition topics get as many
        # partitions as its largest source (RepartitionTopics.computePartitionCount). Sources that are still open are
        # left out.
        read = [counts.of(source) for source in subtopology.source_topics]
        read += [counts.decided.get(info.name) for info in subtopology.repartition_source_topics]
        known = [count for count in read if count is not None]
        if known:
            counts.decided[name] = max(known)


# ---------------------------------------------------------------------------------------- copartitioning


class _Copartitioning:
    """Gives topics that are copartitioned equal numbers of partitions."""

    def __init__(self, topology: StreamsTopology, counts: PartitionCounts) -> None:
        self._topology = topology
        self._counts = counts
        infos = topology.repartition_topics
        self._fixed = sorted({info.name for info in infos if info.partitions})
        self._flexible = {info.name for info in infos if not info.partitions}

    def enforce(self) -> None:
        for each in self._topology.subtopologies:
            for group in each.copartition_groups:
                topics = sorted(set(copartitioned_topics(each, group)))
                # CopartitionedTopicsEnforcer.enforce in Kafka also ignores an empty group.
                if topics:
                    self._enforce_one(topics)

    def _enforce_one(self, topics: list[str]) -> None:
        # There are two kinds of members of a group: topics that the application owns, whose numbers may be chosen, and
        # topics of others, whose numbers are facts (CopartitionedTopicsEnforcer.enforce).
        repartitioned = [name for name in topics if name in self._flexible or name in self._fixed]
        count = self._common(topics, repartitioned)
        for name in repartitioned:
            known = self._counts.known(name)
            # The number of a flexible topic follows the others. A number that the application has fixed cannot.
            if name in self._fixed and known != count:
                raise IncorrectlyPartitioned(
                    f"Repartition topic {name} has {known} partitions, but topics that it is copartitioned with have "
                    f"{count}."
                )
            self._counts.decided[name] = count

    def _common(self, topics: list[str], repartitioned: Collection[str]) -> int:
        others = [name for name in topics if name not in repartitioned]
        # Topics of others decide alone, as the broker must not add partitions to them. If they differ, records of equal
        # keys do not meet in one task, and nothing but an operator can change that.
        if others:
            return self._equal(others)
        # As in Kafka, all numbers that the topology fixes count, also those of topics outside of the group.
        return self._equal(self._fixed) if self._fixed else max(self._counts.known(name) for name in topics)

    def _equal(self, topics: Iterable[str]) -> int:
        counts = {name: self._counts.known(name) for name in topics}
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{name} ({count})" for name, count in counts.items())
            raise IncorrectlyPartitioned(f"Topics that are copartitioned have different numbers of partitions: {told}.")
        return next(iter(counts.values()))
