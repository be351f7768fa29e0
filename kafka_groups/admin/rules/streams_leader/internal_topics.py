"""The internal topics of an application: those that are missing are created, and those that exist are checked."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, GroupTopology, RepartitionTopic
from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.admin.rules.streams_leader.topology_counts import CountsByTopic, TopologyCounts
from kafka_groups.admin.rules.topic_creation import create_missing_topics, described_topics, new_topics
from kafka_groups.admin.rules.topics import TopicReplicas, TopicToCreate, replicas_of_topics
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.events import listed
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    InvalidReplicationFactorError,
    KafkaGroupsError,
    PolicyViolationError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.errors.texts import counted, named, sentences

__all__ = ["check_counts", "existing_topics", "needed_topics", "ready_topics", "topics_of_topology"]

Needed = Mapping[str, TopicToCreate]

_BROKERS_DEFAULT: Final = -1
_ANOTHER_ID: Final = (
    "Keys belong to other tasks if a source topic gains partitions. Let the application read a topic with as many "
    "partitions as before, or start it with another application.id, so that it builds its state anew"
)


def topics_of_topology(topology: GroupTopology) -> tuple[str, ...]:
    """Return the names of all topics that tasks read, and of all changelogs, sorted."""
    read = {name for each in topology.subtopologies for name in each.read_topics}
    return tuple(sorted(read | {topic.name for each in topology.subtopologies for topic in each.changelogs}))


async def existing_topics(ask: Asking, topics: Iterable[str]) -> dict[str, TopicReplicas]:
    """Return those topics that exist.

    Raises:
        LeadingError: This member may not see a topic.
        KafkaGroupsError: The brokers do not tell now.
    """
    found = await replicas_of_topics(ask, topics)
    hidden = [name for name, error in found.errors.items() if isinstance(error, TopicAuthorizationFailedError)]
    if hidden:
        raise LeadingError(
            f"This member leads the group, but may not see the topics {listed(sorted(hidden))}. Any member may lead. "
            "So each needs READ on the topics that the application reads, and CREATE, READ and WRITE on all topics "
            f"whose names begin with its application.id and '-'. {found.errors[min(hidden)]}"
        )
    for error in found.errors.values():
        if not isinstance(error, UnknownTopicOrPartitionError):
            raise error
    return dict(found.values)


def needed_topics(topology: GroupTopology, counts: TopologyCounts, replication_factor: int) -> dict[str, TopicToCreate]:
    """Return the internal topics, whether or not they exist.

    Args:
        topology: The topology.
        counts: The numbers of partitions.
        replication_factor: That of topics for which the topology has none.
    """
    return {
        topic.name: TopicToCreate(partitions, _factor(topic, replication_factor), dict(topic.configs))
        for topic, partitions in _internal(topology, counts)
    }


def _internal(
    topology: GroupTopology, counts: TopologyCounts
) -> Iterator[tuple[RepartitionTopic | ChangelogTopic, int]]:
    # Repartition topics come first, as in StreamsPartitionAssignor: without them, nothing can be written.
    for each in topology.subtopologies:
        yield from ((topic, counts.read[topic.name]) for topic in each.repartition_sources)
    for each in topology.subtopologies:
        yield from (
            (topic, counts.changelogs[topic.name]) for topic in each.changelogs if topic.name in counts.changelogs
        )


def _factor(topic: RepartitionTopic | ChangelogTopic, configured: int) -> int:
    return configured if topic.replication_factor == _BROKERS_DEFAULT else topic.replication_factor


def check_counts(topology: GroupTopology, counts: TopologyCounts, existing: CountsByTopic) -> None:
    """Refuse internal topics that exist with other numbers of partitions than the topology needs.

    Raises:
        LeadingError: There is one. The message has the number that it needs, and the number that it has.
    """
    for topic, needed in _internal(topology, counts):
        found = existing.get(topic.name, needed)
        if found != needed:
            reason = _reason(topology, topic, counts)
            text = (
                f"Topic {topic.name} has {counted(found, 'partition')}, but the application needs {needed:,}: {reason}"
            )
            raise LeadingError(sentences(text, _ANOTHER_ID))


def _reason(topology: GroupTopology, topic: RepartitionTopic | ChangelogTopic, counts: TopologyCounts) -> str:
    if isinstance(topic, ChangelogTopic):
        [owner] = [each for each in topology.subtopologies if topic in each.changelogs]
        return (
            f"one for each task of sub-topology {owner.subtopology_id}, which reads {_shown(owner.read_topics, counts)}"
        )
    if topic.partitions:
        return "the topology fixes this number"
    writers = [each for each in topology.subtopologies if topic.name in each.repartition_sinks]
    groups = [group for each in topology.subtopologies for group in each.copartition_groups if topic.name in group]
    related = {name for each in writers for name in each.read_topics}.union(*groups) - {topic.name}
    return f"it is written from, or is copartitioned with, {_shown(related, counts)}"


def _shown(topics: Iterable[str], counts: TopologyCounts) -> str:
    return listed(f"{name} ({counts.read[name]})" for name in sorted(topics))


# ----------------------------------------------------------------------------------------------- creation


async def ready_topics(
    ask: Asking, needed: Needed, existing: Collection[str]
) -> tuple[tuple[str, ...], dict[str, TopicReplicas]]:
    """Create the internal topics that are missing.

    Args:
        ask: Asks the brokers.
        needed: The internal topics.
        existing: The topics that exist. They were checked.

    Returns:
        The topics that were created, and those that somebody else has created meanwhile, whose numbers of partitions
        the caller has to check.

    Raises:
        LeadingError: A topic cannot be created.
        KafkaGroupsError: The brokers cannot do it now.
    """
    missing = {name: topic for name, topic in needed.items() if name not in existing}
    if not missing:
        return (), {}
    creation = await create_missing_topics(ask, missing)
    _raise_first(creation.errors, missing)
    # Another leader was faster, or the answer to an own request was lost.
    return creation.created, await new_topics(ask, creation.existing)


def _raise_first(errors: Mapping[str, KafkaGroupsError], missing: Needed) -> None:
    for name, error in sorted(errors.items()):
        if not error.retriable:
            raise LeadingError(_refusal(name, error, errors, missing)) from error
    for error in errors.values():
        raise error


def _refusal(name: str, error: KafkaGroupsError, errors: Mapping[str, KafkaGroupsError], missing: Needed) -> str:
    alike = {each: missing[each] for each, other in sorted(errors.items()) if type(other) is type(error)}
    what = f"Could not create the internal topics {listed(alike)}: {named(error)}"
    if isinstance(error, TopicAuthorizationFailedError | ClusterAuthorizationFailedError | PolicyViolationError):
        right = "Allow all members to CREATE topics whose names begin with their application.id and '-'"
        return sentences(what, f"{right}, or create these: {described_topics(alike)}")
    if isinstance(error, InvalidReplicationFactorError):
        factor = missing[name].replication_factor
        return sentences(what, f"Set replication.factor, which is {factor} now, to a number that the brokers allow")
    return sentences(what, f"It needs {described_topics({name: missing[name]})}")
