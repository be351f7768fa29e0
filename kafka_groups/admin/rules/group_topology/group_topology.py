"""The topology of an application as the members of its streams group send it (KIP-1071).

These are plain values. `GroupTopologyBuilder` checks what you give it and builds them. A topology prints itself as
text, and `GroupTopology.to_mermaid` as a diagram. All members of a group have to send the same topology in the same
order, or the coordinator refuses the join. Everything is therefore sorted, as in Kafka's Java client: sub-topologies
by id, topics by name, configs by key. Only copartition groups and their topics have the order of Java's hash sets, as
there.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from kafka_groups.assignment.java_order import copied, grown, in_hash_order, set_hash, string_hash

if TYPE_CHECKING:  # messages are imported when a topology is sent: building or testing one needs no protocol
    from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology
    from kafka_groups.protocol.messages.streams_group_parts import (
        CopartitionGroup,
        StreamsSubtopology,
        StreamsTopicInfo,
    )

__all__ = ["ChangelogTopic", "GroupTopology", "RepartitionTopic", "Subtopology"]

_BROKERS_DEFAULT = -1
# KIP-1071, "Request Validation": a changelog topic must not have a number of partitions. The coordinator derives it,
# and that of a repartition topic without one.
_DERIVED = 0


def _configs(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(given.items()))


@frozen
class ChangelogTopic:
    """The changelog of a state store. The coordinator creates it with one partition for each task.

    Attributes:
        name: The topic's name.
        configs: The topic's configs as pairs, sorted by key; give a mapping.
        replication_factor: -1 for the brokers' default.
    """

    name: str
    configs: tuple[tuple[str, str], ...] = field(factory=dict, converter=_configs)
    replication_factor: int = _BROKERS_DEFAULT

    def __str__(self) -> str:
        return _shown(self, None)

    def to_wire(self) -> "StreamsTopicInfo":
        """Return the topic as a heartbeat has it."""
        return _topic_info(self, _DERIVED)


@frozen
class RepartitionTopic:
    """A topic through which one sub-topology sends records to another. The coordinator creates it.

    Attributes:
        name: The topic's name.
        partitions: The number of partitions, or None to derive it from the topics that flow into it.
        configs: The topic's configs as pairs, sorted by key; give a mapping.
        replication_factor: -1 for the brokers' default.
    """

    name: str
    partitions: int | None = None
    configs: tuple[tuple[str, str], ...] = field(factory=dict, converter=_configs)
    replication_factor: int = _BROKERS_DEFAULT

    def __str__(self) -> str:
        return _shown(self, self.partitions)

    def to_wire(self) -> "StreamsTopicInfo":
        """Return the topic as a heartbeat has it."""
        return _topic_info(self, self.partitions or _DERIVED)


@frozen(kw_only=True)
class Subtopology:
    """A part of a topology that exchanges records with other parts only through repartition topics.

    Attributes:
        subtopology_id: The first half of the ids of its tasks; Kafka Streams counts from "0".
        source_topics: Topics that it reads, without repartition topics.
        repartition_sources: Repartition topics that it reads.
        repartition_sinks: Names of the repartition topics that it writes to.
        changelogs: The changelogs of its stores.
        copartition_groups: Sets of topics that it reads and that need the same number of partitions.
    """

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    repartition_sources: tuple[RepartitionTopic, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    changelogs: tuple[ChangelogTopic, ...] = ()
    copartition_groups: tuple[frozenset[str], ...] = ()

    @property
    def read_topics(self) -> frozenset[str]:
        """Names of all topics that it reads."""
        return frozenset(self.source_topics) | {topic.name for topic in self.repartition_sources}

    def __str__(self) -> str:
        parts: Mapping[str, Iterable[str]] = {
            "reads": sorted(self.source_topics),
            "reads repartition topic": map(str, sorted(self.repartition_sources, key=_by_name)),
            "writes repartition topic": sorted(self.repartition_sinks),
            "keeps changelog": map(str, sorted(self.changelogs, key=_by_name)),
            "co-partitions": [", ".join(sorted(group)) for group in self.copartition_groups],
        }
        lines = [f"  {role} {each}" for role, found in parts.items() for each in found]
        return "\n".join([f"Sub-topology {self.subtopology_id}", *lines])

    def to_wire(self, copartitioned: int | None = None) -> "StreamsSubtopology":
        """Return the sub-topology as a heartbeat has it.

        Args:
            copartitioned: How many topics of the whole topology are copartitioned, on which the order of the groups
                depends. None: those of this sub-topology.
        """
        from kafka_groups.protocol.messages.streams_group_parts import StreamsSubtopology  # noqa: PLC0415 - see above

        sources = tuple(sorted(self.source_topics))
        repartition = sorted(self.repartition_sources, key=_by_name)
        names = [topic.name for topic in repartition]
        copartitioned = _copartitioned((self,)) if copartitioned is None else copartitioned
        ordered = sorted(self.copartition_groups, key=sorted)
        # Java keeps a group for each copartitioned topic and copies them into a hash set, so the set has the size for
        # all these topics although it has fewer groups (InternalTopologyBuilder.copartitionGroups).
        groups = in_hash_order(ordered, set_hash, copied(copartitioned))
        return StreamsSubtopology(
            subtopology_id=self.subtopology_id,
            source_topics=sources,
            state_changelog_topics=tuple(topic.to_wire() for topic in sorted(self.changelogs, key=_by_name)),
            repartition_sink_topics=tuple(sorted(self.repartition_sinks)),
            repartition_source_topics=tuple(topic.to_wire() for topic in repartition),
            copartition_groups=tuple(_positions(group, sources, names) for group in groups),
        )


@frozen
class GroupTopology:
    """The topology of an application.

    Attributes:
        subtopologies: Its parts.
        epoch: Its number. No release of Kafka lets a group change its topology, so this is 0.
    """

    subtopologies: tuple[Subtopology, ...]
    epoch: int = 0

    @property
    def source_topics(self) -> frozenset[str]:
        """Names of the topics that have to exist before the group assigns tasks."""
        return frozenset(name for each in self.subtopologies for name in each.source_topics)

    def __str__(self) -> str:
        return "\n".join(map(str, self._ordered))

    def to_mermaid(self) -> str:
        """Return the topology as a Mermaid flowchart.

        Topics are cylinders and sub-topologies boxes. An arrow goes where records go; a dotted line connects a
        sub-topology with the changelogs of its stores.
        """
        topics: dict[str, str] = {}
        boxes, arrows = [], []
        for number, each in enumerate(self._ordered):
            box = f"subtopology{number}"
            boxes.append(f'  {box}["sub-topology {_quoted(each.subtopology_id)}"]')
            arrows += [f"  {_node(topics, name)} --> {box}" for name in sorted(each.read_topics)]
            arrows += [f"  {box} --> {_node(topics, name)}" for name in sorted(each.repartition_sinks)]
            arrows += [f"  {box} -.- {_node(topics, topic.name)}" for topic in sorted(each.changelogs, key=_by_name)]
        cylinders = [f'  {node}[("{_quoted(name)}")]' for name, node in topics.items()]
        return "\n".join(["flowchart LR", *cylinders, *boxes, *arrows])

    @property
    def _ordered(self) -> list[Subtopology]:
        # The ids are sorted as text, so "10" comes before "2".
        return sorted(self.subtopologies, key=lambda each: each.subtopology_id)

    def to_wire(self) -> "StreamsGroupHeartbeatTopology":
        """Return the topology as a heartbeat that joins has it."""
        from kafka_groups.protocol.messages.streams_group_heartbeat import (  # noqa: PLC0415 - see above
            StreamsGroupHeartbeatTopology,
        )

        copartitioned = _copartitioned(self.subtopologies)
        parts = tuple(each.to_wire(copartitioned) for each in self._ordered)
        return StreamsGroupHeartbeatTopology(epoch=self.epoch, subtopologies=parts)


def _topic_info(topic: ChangelogTopic | RepartitionTopic, partitions: int) -> "StreamsTopicInfo":
    from kafka_groups.protocol.messages.streams_group_parts import KeyValue, StreamsTopicInfo  # noqa: PLC0415 - see above

    return StreamsTopicInfo(
        name=topic.name,
        partitions=partitions,
        replication_factor=topic.replication_factor,
        topic_configs=tuple(KeyValue(key=key, value=value) for key, value in topic.configs),
    )


def _positions(group: frozenset[str], sources: tuple[str, ...], repartition: list[str]) -> "CopartitionGroup":
    from kafka_groups.protocol.messages.streams_group_parts import CopartitionGroup  # noqa: PLC0415 - see above

    # The coordinator compares a joining member's topology with the group's as it was sent
    # (GroupMetadataManager.maybeUpdateTopology in Kafka), so members in Java and in Python have to list these indices
    # in the same order.
    topics = in_hash_order(sorted(group), string_hash, grown(len(group)))
    return CopartitionGroup(
        source_topics=tuple(sources.index(name) for name in topics if name in sources),
        repartition_source_topics=tuple(repartition.index(name) for name in topics if name in repartition),
    )


def _copartitioned(subtopologies: Iterable[Subtopology]) -> int:
    return len({topic for each in subtopologies for group in each.copartition_groups for topic in group})


def _by_name(topic: ChangelogTopic | RepartitionTopic) -> str:
    return topic.name


def _shown(topic: ChangelogTopic | RepartitionTopic, partitions: int | None) -> str:
    factor = None if topic.replication_factor == _BROKERS_DEFAULT else topic.replication_factor
    numbers = {"partitions": partitions, "replication factor": factor}
    details = [f"{name}={number}" for name, number in numbers.items() if number is not None]
    details += [f"{key}={value}" for key, value in topic.configs]
    return f"{topic.name} ({', '.join(details)})" if details else topic.name


def _node(nodes: dict[str, str], name: str) -> str:
    return nodes.setdefault(name, f"topic{len(nodes)}")


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;")
