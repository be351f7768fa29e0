"""The topics that the patterns of an application read in a round."""

from collections.abc import Iterable, Mapping

from attrs import evolve

from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LeadingError
from kafka_groups.admin.rules.streams_leader.internal_topics import existing_topics, topics_of_topology
from kafka_groups.admin.rules.streams_leader.subscriptions import Subscriptions
from kafka_groups.admin.rules.topics import TopicReplicas
from kafka_groups.client.calls.questions import Asking

__all__ = ["round_with_topics", "with_patterns_of"]


async def round_with_topics(
    ask: Asking, given: GroupRound, subscriptions: Subscriptions
) -> tuple[GroupRound, Mapping[str, TopicReplicas]]:
    """Return a round whose patterns read what members subscribe to, and those of its topics that exist.

    Members may look at the metadata at different times, so one may know a topic that others do not know. Topics that
    were deleted are left out: only those that are named have to exist.

    Raises:
        LeadingError: Two sources read the same topic, or this member may not see a topic.
        KafkaGroupsError: The brokers do not tell now.
    """
    subscribed = frozenset[str]().union(*(member.topics for member in subscriptions.members.values()))
    given = _reading(given, subscribed)
    existing = await existing_topics(ask, topics_of_topology(given.topology))
    return _reading(given, subscribed & existing.keys()), existing


def with_patterns_of(sources: PatternSources | None) -> frozenset[str]:
    """Return the ids of the sub-topologies that read topics by patterns."""
    return frozenset() if sources is None else sources.subtopologies


def _reading(given: GroupRound, topics: Iterable[str]) -> GroupRound:
    if given.sources is None:
        return given
    try:
        return evolve(given, topology=given.sources.topology_of(topics))
    except TopologyError as error:
        raise LeadingError(str(error)) from error
