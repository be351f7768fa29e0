"""Builds topologies, and reports mistakes before the coordinator does."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, TypeVar

from kafka_groups.admin.rules.group_topology.group_topology import (
    ChangelogTopic,
    GroupTopology,
    RepartitionTopic,
    Subtopology,
)
from kafka_groups.assignment.java_order import grown, in_hash_order, string_hash
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import counted
from kafka_groups.types import is_topic_name

__all__ = ["GroupTopologyBuilder", "TopologyError", "check_topic_name"]

T = TypeVar("T", RepartitionTopic, ChangelogTopic)

# Brokers refuse these names in a topology with STREAMS_INVALID_TOPOLOGY.
_KAFKAS_OWN = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
_MAX_PARTITIONS = 2**31 - 1
_MAX_REPLICATION_FACTOR = 2**15 - 1


class TopologyError(KafkaGroupsError, ValueError):
    """A topology is contradictory or has an invalid name. The message says what to change."""


class GroupTopologyBuilder:
    """Collects the sub-topologies of an application.

    ```python
    topology = (
        GroupTopologyBuilder()
        .add_subtopology("0", sources=["flights"], sinks=["app-carrier-repartition"])
        .add_subtopology(
            "1",
            repartition_sources=[RepartitionTopic("app-carrier-repartition")],
            changelogs=[ChangelogTopic("app-counts-changelog", {"cleanup.policy": "compact"})],
        )
        .build()
    )
    ```
    """

    def __init__(self) -> None:
        self._subtopologies: dict[str, Subtopology] = {}
        self._with_patterns: set[str] = set()

    def add_subtopology(
        self,
        subtopology_id: str,
        *,
        sources: Iterable[str] = (),
        repartition_sources: Iterable[RepartitionTopic] = (),
        sinks: Iterable[str] = (),
        changelogs: Iterable[ChangelogTopic] = (),
        copartition: Iterable[Iterable[str]] = (),
        _has_patterns: bool = False,
    ) -> Self:
        """Add a sub-topology and return the builder.

        Args:
            subtopology_id: Its id, the first half of its tasks' ids.
            sources: Topics that it reads, without repartition topics.
            repartition_sources: Repartition topics that it reads.
            sinks: Repartition topics that it writes to. Other topics that it writes to don't belong to a topology.
            changelogs: The changelogs of its stores.
            copartition: Groups of topics that it reads and that need the same number of partitions. Groups that share
                a topic are merged. As in Kafka Streams, one that shares topics with several joins only one of them.

        Raises:
            TopologyError: The sub-topology contradicts itself, or the id is taken.
        """
        if subtopology_id in self._subtopologies:
            raise TopologyError(f"There is already a sub-topology {subtopology_id!r}. Give each one an id of its own.")
        where = f"Sub-topology {subtopology_id!r}"
        subtopology = Subtopology(
            subtopology_id=subtopology_id,
            source_topics=_names(where, "sources", sources),
            repartition_sources=_topics(where, "repartition_sources", repartition_sources, RepartitionTopic),
            repartition_sinks=_names(where, "sinks", sinks),
            changelogs=_topics(where, "changelogs", changelogs, ChangelogTopic),
            copartition_groups=_merged(
                _names(where, "copartition", group) for group in _listed(where, "copartition", copartition)
            ),
        )
        # A sub-topology whose patterns match no topic yet is left out, but what it writes is checked.
        if _has_patterns:
            self._with_patterns.add(subtopology_id)
        _check_subtopology(subtopology, may_read_nothing=_has_patterns)
        self._subtopologies[subtopology_id] = subtopology
        return self

    def build(self) -> GroupTopology:
        """Return the topology.

        Raises:
            TopologyError: There is no sub-topology, or the sub-topologies contradict each other.
        """
        if not self._subtopologies:
            raise TopologyError("The topology is empty. Add at least one sub-topology that reads a topic.")
        every = tuple(self._subtopologies.values())
        _check_readers(every)
        _check_changelogs(every)
        _check_repartition(every)
        # InternalTopologyBuilder.subtopologyToTopicsInfo leaves out what reads no topic, too.
        return GroupTopology(
            tuple(each for each in every if each.read_topics or each.subtopology_id not in self._with_patterns)
        )


def _names(where: str, argument: str, names: object) -> tuple[str, ...]:
    found = _listed(where, argument, names)
    for name in found:
        if not isinstance(name, str):
            raise TopologyError(f"{where}: {argument} has {name!r}, which is not a topic name. Use a string.")
    return found


def _topics(where: str, argument: str, topics: object, kind: type[T]) -> tuple[T, ...]:
    found = _listed(where, argument, topics)
    for topic in found:
        if not isinstance(topic, kind):
            meant = f"{kind.__name__}({topic!r})" if isinstance(topic, str) else f"{kind.__name__}('name')"
            raise TopologyError(f"{where}: {argument} has {topic!r}, which is not a {kind.__name__}. Use {meant}.")
    return found


def _listed(where: str, argument: str, values: object) -> tuple[Any, ...]:
    if isinstance(values, str):
        raise TopologyError(f"{where}: {argument} has {values!r}, which is one string. Use a list: [{values!r}].")
    if not isinstance(values, Iterable):
        raise TopologyError(f"{where}: {argument} is {values!r}, which is not a list. Use a list of topics.")
    return tuple(values)


def _merged(groups: Iterable[Iterable[str]]) -> tuple[frozenset[str], ...]:
    """Return the groups after joining those that share a topic.

    A group that shares topics with two others joins only one of them, as in Java's `copartitionGroups`, because brokers
    refuse members whose groups differ. Groups that share a topic then still mean the same for them.
    """
    group_of: dict[str, set[str]] = {}
    for each in map(frozenset, groups):
        if not each:
            return (each,)  # refused later on, by name
        topics = in_hash_order(sorted(each), string_hash, grown(len(each)))
        joined = next((group_of[topic] for topic in topics if topic in group_of), set[str]())
        joined.update(topics)
        group_of.update(dict.fromkeys(topics, joined))
    return tuple(sorted({frozenset(group) for group in group_of.values()}, key=sorted))


# ------------------------------------------------------------------------------- within a sub-topology


def _check_subtopology(subtopology: Subtopology, *, may_read_nothing: bool) -> None:
    where = f"Sub-topology {subtopology.subtopology_id!r}"
    if not subtopology.subtopology_id:
        raise TopologyError("The id of a sub-topology must not be empty. Kafka Streams counts them from '0'.")
    # The number of tasks is the largest number of partitions of these topics, so without one there are none.
    if not subtopology.read_topics and not may_read_nothing:
        raise TopologyError(f"{where} reads no topic, so it would have no tasks. Give it a source.")
    for name in _all_names(subtopology):
        check_topic_name(where, name)
    # A topic that is a source and a repartition source at once would be read twice by the same task. KIP-1071, "Request
    # Validation", refuses it as well.
    _check_once(where, "source", (*subtopology.source_topics, *(t.name for t in subtopology.repartition_sources)))
    _check_once(where, "sink", subtopology.repartition_sinks)
    _check_once(where, "changelog", (topic.name for topic in subtopology.changelogs))
    internal: tuple[RepartitionTopic | ChangelogTopic, ...] = (
        *subtopology.repartition_sources,
        *subtopology.changelogs,
    )
    for topic in internal:
        _check_internal_topic(where, topic)
    for group in subtopology.copartition_groups:
        _check_copartition_group(where, group, subtopology)


def _all_names(subtopology: Subtopology) -> Iterator[str]:
    yield from sorted(subtopology.read_topics)
    yield from subtopology.repartition_sinks
    yield from (topic.name for topic in subtopology.changelogs)


def check_topic_name(where: str, name: object) -> None:
    """Refuse a name that Kafka refuses, and the names of Kafka's own topics.

    Args:
        where: Whose topic it is, for the error.
        name: The name.

    Raises:
        TopologyError: It is not the name of a topic for an application.
    """
    if not isinstance(name, str):
        raise TopologyError(f"{where} has {name!r}, which is not a topic name. Use a string.")
    if name in _KAFKAS_OWN:
        raise TopologyError(f"{where} uses {name}, which is an internal topic of Kafka. Use another topic.")
    if not is_topic_name(name):
        raise TopologyError(
            f"{where} has the invalid topic name {name!r}. Use 1 to 249 ASCII letters, digits, '.', '_'"
            " and '-'. Only a stream can read topics by a regular expression: give it re.compile(…)."
        )


def _check_once(where: str, role: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise TopologyError(f"{where} names the {role} {name} {count} times. Name it once.")


def _check_internal_topic(where: str, topic: RepartitionTopic | ChangelogTopic) -> None:
    factor = topic.replication_factor
    # The bounds are those of the protocol's int16 and int32. Brokers create the topic only when all source topics
    # exist, so the mistake would show late, as a group that stays NOT_READY.
    if factor != -1 and not 1 <= factor <= _MAX_REPLICATION_FACTOR:
        raise TopologyError(
            f"{where}: topic {topic.name} has the replication factor {factor}. Use -1 for the brokers' default, or a "
            f"number from 1 to {_MAX_REPLICATION_FACTOR}."
        )
    partitions = topic.partitions if isinstance(topic, RepartitionTopic) else None
    if partitions is not None and not 1 <= partitions <= _MAX_PARTITIONS:
        raise TopologyError(
            f"{where}: repartition topic {topic.name} has {counted(partitions, 'partition')}. Use a number of "
            "1 or more, or None "
            "to derive it from the topics that flow into it."
        )


def _check_copartition_group(where: str, group: frozenset[str], subtopology: Subtopology) -> None:
    if not group:
        raise TopologyError(f"{where} has an empty copartition group. Remove it, or name its topics.")
    # KIP-1071, "Request Validation": the groups are indices into the lists of topics that the sub-topology reads, so
    # others cannot even be sent.
    for name in sorted(group - subtopology.read_topics):
        raise TopologyError(
            f"{where} has {name} in a copartition group but does not read it. Add it to the sources, or remove it from "
            "the group."
        )


# ------------------------------------------------------------------------------- between sub-topologies


def _check_readers(every: Iterable[Subtopology]) -> None:
    readers: dict[str, str] = {}
    for each in every:
        for name in sorted(each.read_topics):
            # Kafka Streams puts all nodes that read a topic into one sub-topology. Kafka's coordinator does not check
            # it, but assigns a task of each sub-topology, and both would commit the same partition's offset.
            if name in readers:
                raise TopologyError(
                    f"Topic {name} is read by the sub-topologies {readers[name]!r} and {each.subtopology_id!r}. Read "
                    "it in one of them only, or make them one sub-topology."
                )
            readers[name] = each.subtopology_id


def _check_changelogs(every: tuple[Subtopology, ...]) -> None:
    """A changelog belongs to one sub-topology. It may be one of its sources (an optimised table has no other)."""
    taken: dict[str, str] = {}
    for each in every:
        for topic in each.changelogs:
            _check_changelog(topic.name, each, every, taken)
            taken[topic.name] = each.subtopology_id


def _check_changelog(name: str, owner: Subtopology, every: Iterable[Subtopology], taken: Mapping[str, str]) -> None:
    others = [each for each in every if each is not owner]
    # KIP-1071, "Request Validation", lets a changelog be no source topic at all. Kafka Streams does send source topics
    # as changelogs of the sub-topology that reads them, with topology.optimization=all, and brokers accept it.
    used = [each.subtopology_id for each in others if name in each.read_topics]
    # Records of a repartition topic are deleted once they are processed, so no store could be restored from it.
    used += [each.subtopology_id for each in every if name in each.repartition_sinks]
    used += [taken[name]] if name in taken else []
    if used:
        raise TopologyError(
            f"Changelog {name} of sub-topology {owner.subtopology_id!r} is also used by sub-topology {used[0]!r}. Give "
            "each store a changelog of its own."
        )


def _check_repartition(every: tuple[Subtopology, ...]) -> None:
    sources = {topic.name: each.subtopology_id for each in every for topic in each.repartition_sources}
    sinks = {name: each.subtopology_id for each in every for name in each.repartition_sinks}
    # KIP-1071, "Request Validation". Without a writer, the coordinator cannot derive the number of partitions.
    for name in sorted(sources.keys() - sinks.keys()):
        raise TopologyError(
            f"Sub-topology {sources[name]!r} reads the repartition topic {name}, but none writes to it. Add it to the "
            "sinks of a sub-topology."
        )
    # KIP-1071, "Initializing and updating topology metadata on the broker": output topics are not part of a topology.
    # Brokers take them for repartition topics that nobody declares.
    for name in sorted(sinks.keys() - sources.keys()):
        raise TopologyError(
            f"Sub-topology {sinks[name]!r} has the sink {name}, which is not a repartition source of any sub-topology. "
            "Sinks are repartition topics only: leave out other topics that you write to."
        )
