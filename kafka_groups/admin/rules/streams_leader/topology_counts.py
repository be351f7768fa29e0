"""The numbers of partitions of the topics that a topology reads, and of the changelogs of its tasks."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from attrs import frozen

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology, Subtopology
from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.assignment import TaskAssignmentError
from kafka_groups.client.events import listed

__all__ = ["CountsByTopic", "TopologyCounts", "missing_sources", "topology_counts"]

CountsByTopic = Mapping[str, int]


@frozen
class TopologyCounts:
    """The numbers of partitions that a topology needs.

    Attributes:
        read: Those of the topics that tasks read, by topic.
        changelogs: Those of changelogs, by topic. A source topic that is a changelog as well is not one of them.
    """

    read: CountsByTopic
    changelogs: CountsByTopic


def missing_sources(topology: GroupTopology, existing: Collection[str]) -> tuple[str, ...]:
    """Return the source topics that do not exist, sorted."""
    return tuple(sorted(topology.source_topics - set(existing)))


def topology_counts(
    topology: GroupTopology, existing: CountsByTopic, with_patterns: Collection[str] = ()
) -> TopologyCounts:
    """Return the numbers of partitions that a topology needs.

    Args:
        topology: The topology.
        existing: The numbers of partitions of the topics that exist, with all source topics.
        with_patterns: The ids of sub-topologies that read topics by patterns. If the largest of these topics is
            deleted, the application goes on with its internal topics.

    Raises:
        LeadingError: Topics that need equal numbers have different ones.
        TaskAssignmentError: The number of a repartition topic depends on itself.
    """
    read = _DecidedCounts(topology, existing, keeps_existing=bool(with_patterns)).decided()
    tasks = {each.subtopology_id: max(read[topic] for topic in each.read_topics) for each in topology.subtopologies}
    changelogs = {
        topic.name: max(tasks[each.subtopology_id], existing.get(topic.name, 0))
        if each.subtopology_id in with_patterns
        else tasks[each.subtopology_id]
        for each in topology.subtopologies
        for topic in each.changelogs
        if topic.name not in each.read_topics
    }
    return TopologyCounts(read, changelogs)


class _DecidedCounts:
    """The numbers of repartition topics.

    A number comes from the topology, or from a topic that exists, or is the largest number of the topics that its
    writers read. Topics that are copartitioned get equal numbers.
    """

    def __init__(self, topology: GroupTopology, existing: CountsByTopic, *, keeps_existing: bool) -> None:
        self._keeps_existing = keeps_existing
        self._topology = topology
        self._existing = existing
        self._repartition = {topic.name: topic for each in topology.subtopologies for topic in each.repartition_sources}
        self._given = {name: topic.partitions for name, topic in self._repartition.items() if topic.partitions}
        self._facts = {name: existing[name] for name in topology.source_topics} | self._given
        self._taken = dict(self._taken_over())

    def decided(self) -> CountsByTopic:
        """Return the numbers of all topics that are read."""
        counts = self._facts | self._taken
        self._derive(counts)
        for group in self._groups():
            self._make_equal(group, counts)
        return counts

    # ------------------------------------------------------------------------------------- topics that exist

    def _taken_over(self) -> Iterator[tuple[str, int]]:
        # A leader in Java goes over sub-topologies in the order of hashes, and the first source of a writer whose
        # number is known decides (RepartitionTopics.setRepartitionSourceTopicPartitionCount). So a topic that exists
        # counts with whatever number such a leader may have given it. Any other number is a mistake.
        possible = self._possible()
        for name in self._repartition:
            if name in self._given or name not in self._existing:
                continue
            # A number may also come from a topic that a pattern has matched and that was deleted since.
            if self._keeps_existing or self._existing[name] in possible[name]:
                yield name, self._existing[name]

    def _possible(self) -> dict[str, set[int]]:
        """Return the numbers that a leader in Java may have given topics."""
        possible = {name: {count} for name, count in self._facts.items()}
        possible |= {name: set() for name in self._repartition if name not in self._given}
        before = -1
        while (known := sum(map(len, possible.values()))) != before:
            before = known
            for each in self._topology.subtopologies:
                self._spread(possible, each.read_topics, each.repartition_sinks)
            for group in self._groups():
                self._spread(possible, group, group)
        return possible

    def _spread(self, possible: Mapping[str, set[int]], sources: Iterable[str], sinks: Iterable[str]) -> None:
        found = set().union(*(possible[name] for name in sources))
        for name in sinks:
            if name in self._repartition and name not in self._given:
                possible[name].update(found)

    # ------------------------------------------------------------------------------------ topics of the future

    def _derive(self, counts: dict[str, int]) -> None:
        """Add the numbers of the other repartition topics: the largest of what the writers of each read."""
        before: dict[str, int] = {}
        while counts != before:
            before = dict(counts)
            for each in self._topology.subtopologies:
                self._derive_sinks(each, counts)
        unknown = sorted(self._repartition.keys() - counts.keys())
        if not unknown:
            return
        # RepartitionTopics.setRepartitionSourceTopicPartitionCount refuses it with one text for both.
        if not all(any(name in each.repartition_sinks for each in self._topology.subtopologies) for name in unknown):
            raise TaskAssignmentError(
                f"The numbers of partitions of the repartition topics {listed(unknown)} follow from topics that match "
                "a pattern, and no such topic exists. Create one before you start the application, or give the "
                "repartition topics a number: repartition(partitions=…)."
            )
        raise TaskAssignmentError(
            f"The numbers of partitions of the repartition topics {listed(unknown)} depend on each other. Give one of "
            "them a number."
        )

    def _derive_sinks(self, subtopology: Subtopology, counts: dict[str, int]) -> None:
        known = max((counts[name] for name in subtopology.read_topics if name in counts), default=0)
        for name in subtopology.repartition_sinks:
            if known and name not in self._facts and name not in self._taken:
                counts[name] = max(known, counts.get(name, 0))

    # ---------------------------------------------------------------------------------------- copartitioning

    def _groups(self) -> Iterator[list[str]]:
        for each in self._topology.subtopologies:
            yield from (sorted(group) for group in each.copartition_groups if group)

    def _make_equal(self, group: list[str], counts: dict[str, int]) -> None:
        # CopartitionedTopicsEnforcer.enforce: topics of others decide, then numbers that the topology gives, and then
        # the largest one. A number that exists and was possible counts as given by the leader before.
        facts = [name for name in group if name not in self._repartition] or [n for n in group if n in self._given]
        facts = facts or self._agreeing([name for name in group if name in self._taken], counts)
        count = _equal(facts, counts) if facts else max(counts[name] for name in group)
        for name in group:
            if name in self._given and counts[name] != count:
                _equal([*facts, name], counts)
            counts[name] = count

    def _agreeing(self, taken: list[str], counts: CountsByTopic) -> list[str]:
        return taken if len({counts[name] for name in taken}) == 1 else []


def _equal(names: Iterable[str], counts: CountsByTopic) -> int:
    found = {name: counts[name] for name in names}
    if len(set(found.values())) > 1:
        told = ", ".join(f"{name} ({count})" for name, count in sorted(found.items()))
        raise LeadingError(
            "Topics whose records meet by their keys need equal numbers of partitions, but have different ones: "
            f"{told}. Add partitions to the smaller topics before they have records, or write one of them to a new "
            "topic with repartition()."
        )
    return next(iter(found.values()))
