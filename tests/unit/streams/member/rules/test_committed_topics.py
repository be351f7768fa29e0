from uuid import UUID

import pytest

from kafka_groups.admin.rules.group_topology.topology_builder import GroupTopologyBuilder
from kafka_groups.streams.member.rules.committed_topics import CommittedTopics
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.types import TaskId, TopicPartition

OLD, NEW = UUID(int=1), UUID(int=2)
FIRST, SECOND, OTHER = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
TOPOLOGY = GroupTopologyBuilder().add_subtopology("0", sources=["a"]).add_subtopology("1", sources=["b"]).build()


@pytest.fixture
def known() -> dict[str, UUID]:
    """The metadata."""
    return {"a": OLD}


@pytest.fixture
def topics(known: dict[str, UUID]) -> CommittedTopics:
    return CommittedTopics(known.get)


def test_ids_are_those_of_the_metadata_before_the_first_commit(topics: CommittedTopics, known: dict[str, UUID]) -> None:
    assert topics.ids([FIRST, OTHER]) == {FIRST: OLD}
    known["a"] = NEW
    assert topics.ids([FIRST]) == {FIRST: NEW}
    assert topics.refusal([FIRST]) is None


def test_an_id_stays_that_of_the_first_commit(topics: CommittedTopics, known: dict[str, UUID]) -> None:
    topics.note(topics.ids([FIRST]))
    known["a"] = NEW
    assert topics.ids([FIRST, SECOND]) == {FIRST: OLD, SECOND: NEW}
    refusal = topics.refusal([OTHER, SECOND, FIRST])
    assert refusal is not None
    assert not refusal.retriable
    assert str(refusal).startswith("The topic a was deleted and created again since an offset of a-0 was committed")
    assert topics.refusal([SECOND]) is None


def test_a_program_that_asks_where_to_begin_begins_with_the_new_topic(
    topics: CommittedTopics, known: dict[str, UUID]
) -> None:
    topics.note(topics.ids([FIRST, SECOND]))
    known["a"] = NEW
    topics.begin([FIRST, OTHER])
    assert topics.ids([FIRST, SECOND]) == {FIRST: NEW, SECOND: OLD}


def test_a_task_that_ends_takes_the_ids_of_its_partitions_with_it(
    topics: CommittedTopics, known: dict[str, UUID]
) -> None:
    known["b"] = OLD
    topics.note(topics.ids([FIRST, SECOND, OTHER]))
    known.update(a=NEW, b=NEW)
    topics.end(MemberTasks(active=[TaskId("0", 0)]), TOPOLOGY)
    assert topics.ids([FIRST, SECOND, OTHER]) == {FIRST: NEW, SECOND: OLD, OTHER: OLD}


def test_what_brokers_tell_counts_more_than_metadata_that_are_behind(topics: CommittedTopics) -> None:
    topics.note(topics.ids([FIRST]))
    topics.learn(["a", "b"], {"a": NEW})
    assert topics.ids([FIRST, SECOND, OTHER]) == {FIRST: OLD, SECOND: NEW}
    assert topics.refusal([FIRST]) is not None
    topics.learn(["a"], {})
    assert topics.ids([SECOND]) == {}, "it does not exist"
    assert topics.refusal([FIRST]) is None
