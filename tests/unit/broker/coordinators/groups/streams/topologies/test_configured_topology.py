"""Topologies with the topics of a cluster: tasks, what is to be created, and problems in their order."""

import pytest

from kafka_groups.broker.coordinators.groups.streams.topologies.configured_topology import (
    ConfiguredTopology,
    configured,
)
from kafka_groups.broker.coordinators.groups.streams.topologies.topology import topology_of
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology, StreamsStatus
from tests.support.broker.share_groups import Topics
from tests.support.members.streams_topologies import WORD_COUNT, internal, sent, subtopology, together


def word_count(topology: StreamsGroupHeartbeatTopology = WORD_COUNT, **existing: int) -> ConfiguredTopology:
    """A topology with these topics in the cluster."""
    topics = Topics()
    for name, partitions in existing.items():
        topics.create(name.replace("_", "-"), partitions)
    return configured(topology_of(topology), topics)


def status(topology: ConfiguredTopology) -> StreamsStatus:
    assert topology.problem is not None
    assert not topology.is_ready
    return topology.problem.status


def test_internal_topics_are_to_be_created_with_their_configs() -> None:
    topology = word_count(lines=3)

    assert status(topology) is StreamsStatus.MISSING_INTERNAL_TOPICS
    assert topology.to_create == (
        internal("app-counts-changelog", 3, configs={"cleanup.policy": "compact"}),
        internal("app-words-repartition", 3, configs={"cleanup.policy": "delete"}),
    )
    assert [each.number_of_tasks for each in topology.subtopologies.values()] == [3, 3]


def test_a_topology_is_ready_when_all_topics_exist() -> None:
    topology = word_count(lines=3, app_words_repartition=3, app_counts_changelog=3)

    assert topology.is_ready
    assert topology.to_create == ()
    assert [info.partitions for info in topology.subtopologies["1"].internal_topics] == [3, 3]


def test_missing_source_topics_come_first() -> None:
    topology = word_count(app_words_repartition=2)

    assert status(topology) is StreamsStatus.MISSING_SOURCE_TOPICS
    assert topology.subtopologies == {}
    assert topology.to_create == ()
    assert topology.problem is not None
    assert topology.problem.detail == "Source topics are missing: lines."


def test_wrong_numbers_of_partitions_come_before_missing_internal_topics() -> None:
    topology = word_count(lines=3, app_counts_changelog=2)

    assert status(topology) is StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS
    assert topology.problem is not None
    assert topology.problem.detail == "Topic app-counts-changelog has 2 partitions, but the topology needs 3."
    assert topology.to_create == ()


def test_an_existing_repartition_topic_must_have_the_partitions_that_it_needs() -> None:
    topology = word_count(lines=3, app_words_repartition=4, app_counts_changelog=4)

    assert status(topology) is StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS


def test_topics_that_are_not_copartitioned_are_a_problem() -> None:
    joined = sent(subtopology(sources=("a", "b"), together=(together(0, 1),)))

    assert status(word_count(joined, a=1, b=2)) is StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS
    assert word_count(joined, a=2, b=2).is_ready


def test_a_source_topic_may_be_a_changelog_too() -> None:
    topology = word_count(sent(subtopology(sources=("table",), changelogs=(internal("table"),))), table=2)

    assert topology.is_ready


@pytest.mark.parametrize(("count", "told"), [(3, "t0, t1, t2."), (5, "t0, t1, t2 and 2 more.")])
def test_only_some_topics_are_told(count: int, told: str) -> None:
    topology = word_count(sent(subtopology(sources=tuple(f"t{n}" for n in range(count)))))

    assert topology.problem is not None
    assert topology.problem.detail == f"Source topics are missing: {told}"
