"""A topology with the topics of the cluster: tasks, numbers of partitions, internal topics to create, or a problem.

The first problem counts: missing source topics, then topics with other numbers of partitions than they need, then
missing internal topics.
"""

from collections.abc import Iterable, Mapping

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.streams.topologies.partition_counts import (
    IncorrectlyPartitioned,
    PartitionCounts,
    decided_counts,
)
from kafka_groups.broker.coordinators.groups.streams.topologies.topology import StreamsTopology
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsStatus
from kafka_groups.protocol.messages.streams_group_parts import StreamsSubtopology, StreamsTopicInfo

__all__ = ["ConfiguredSubtopology", "ConfiguredTopology", "TopicProblem", "configured"]

_TOPICS_TOLD = 3


@frozen
class TopicProblem:
    """The reason why a topology does not work with the existing topics, for the status in responses."""

    status: StreamsStatus
    detail: str


@frozen
class ConfiguredSubtopology:
    """A sub-topology whose topics have numbers of partitions.

    Attributes:
        declared: The sub-topology. Its internal topics have the numbers that they have or need.
        number_of_tasks: The number of tasks, one for each partition of its largest source.
    """

    declared: StreamsSubtopology
    number_of_tasks: int

    @property
    def source_names(self) -> tuple[str, ...]:
        """Names of the topics that it reads, repartition topics included."""
        return (*self.declared.source_topics, *(info.name for info in self.declared.repartition_source_topics))

    @property
    def internal_topics(self) -> tuple[StreamsTopicInfo, ...]:
        """The repartition topics that it reads, and its changelogs."""
        return (*self.declared.repartition_source_topics, *self.declared.state_changelog_topics)


@frozen
class ConfiguredTopology:
    """A topology resolved against the topics of the cluster.

    Attributes:
        epoch: The topology's epoch.
        subtopologies: The sub-topologies by id. Empty if it has a problem that others than the broker must solve.
        to_create: The internal topics that do not exist.
        problem: The reason why it does not work, or None.
    """

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology]
    to_create: tuple[StreamsTopicInfo, ...] = ()
    problem: TopicProblem | None = None

    @property
    def is_ready(self) -> bool:
        """True if the tasks can be assigned."""
        return self.problem is None


def configured(topology: StreamsTopology, topics: TopicsImage) -> ConfiguredTopology:
    """Return a topology resolved against the existing topics.

    Raises:
        StreamsInvalidTopologyError: The numbers of partitions cannot be derived, whichever topics exist.
    """
    # The order is that of KIP-1071, "Handling topic topology mismatches": without its source topics, nothing else about
    # a topology can be decided, and numbers of partitions have to be right before internal topics are created with
    # them. Kafka's InternalTopicManager.configureTopics has the same steps.
    missing = sorted(_missing_sources(topology, topics))
    if missing:
        detail = f"Source topics are missing: {_summary(missing)}."
        return _unusable(topology, TopicProblem(StreamsStatus.MISSING_SOURCE_TOPICS, detail))
    try:
        counts = decided_counts(topology, topics)
        subtopologies = {each.subtopology_id: _configured(each, counts) for each in topology.subtopologies}
        to_create = _missing_internal(topology, subtopologies, topics)
    # There are two kinds of problems. Numbers that cannot be derived from any topics are an error, which is fatal for
    # the member. Numbers that contradict each other may be put right by an operator, so the members wait with a status.
    except IncorrectlyPartitioned as error:
        return _unusable(topology, TopicProblem(StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS, str(error)))
    return ConfiguredTopology(topology.epoch, subtopologies, to_create, _problem_of(to_create))


def _missing_sources(topology: StreamsTopology, topics: TopicsImage) -> set[str]:
    # Repartition topics are sources as well, but the broker creates them itself.
    sources = {name for each in topology.subtopologies for name in each.source_topics}
    return {name for name in sources if topics.topic(name) is None}


def _unusable(topology: StreamsTopology, problem: TopicProblem) -> ConfiguredTopology:
    return ConfiguredTopology(topology.epoch, {}, problem=problem)


def _configured(subtopology: StreamsSubtopology, counts: PartitionCounts) -> ConfiguredSubtopology:
    declared = evolve(
        subtopology,
        repartition_source_topics=_sized(subtopology.repartition_source_topics, counts),
        state_changelog_topics=_sized(subtopology.state_changelog_topics, counts),
    )
    return ConfiguredSubtopology(declared, counts.tasks_of(subtopology))


def _sized(infos: Iterable[StreamsTopicInfo], counts: PartitionCounts) -> tuple[StreamsTopicInfo, ...]:
    # A number of 0 stands for "as many as needed" (InternalTopicManager.fromPersistedTopicInfo).
    return tuple(evolve(each, partitions=each.partitions or counts.decided[each.name]) for each in infos)


def _missing_internal(
    topology: StreamsTopology, subtopologies: Mapping[str, ConfiguredSubtopology], topics: TopicsImage
) -> tuple[StreamsTopicInfo, ...]:
    needed = {info.name: info for each in subtopologies.values() for info in each.internal_topics}
    for name in topology.required_topics:
        existing, info = topics.topic(name), needed.get(name)
        # A missing topic is to be created. One that is only a source has been looked at before.
        if existing is None or info is None:
            continue
        # KIP-1071, "Handling topic topology mismatches", case 2. Other configs of an existing topic, case 4, are not
        # compared: Kafka ignores differences there.
        if existing.num_partitions != info.partitions:
            raise IncorrectlyPartitioned(
                f"Topic {name} has {existing.num_partitions} partitions, but the topology needs {info.partitions}."
            )
        del needed[name]
    return tuple(needed[name] for name in sorted(needed))


def _problem_of(to_create: Iterable[StreamsTopicInfo]) -> TopicProblem | None:
    names = [info.name for info in to_create]
    if not names:
        return None
    return TopicProblem(StreamsStatus.MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {_summary(names)}.")


def _summary(names: list[str]) -> str:
    # InternalTopicManager.summarizeTopics in Kafka also names three topics only: the status goes to every member with
    # every heartbeat.
    told = ", ".join(names[:_TOPICS_TOLD])
    return told if len(names) <= _TOPICS_TOLD else f"{told} and {len(names) - _TOPICS_TOLD} more"
