"""Consumer groups in virtual time: sessions, time to revoke, intervals between assignments, and new coordinators."""

import pytest

from kafka_groups.broker.coordinators.groups.consumer.states import ConsumerGroupState
from kafka_groups.config.cluster.consumer_group import ConsumerGroupConfig
from kafka_groups.errors import GroupIdNotFoundError, NonEmptyGroupError, UnknownMemberIdError
from tests.support.broker.consumer_groups import GROUP, REBALANCE_MS, Consumers, as_owned
from tests.support.topic_patterns import HEAVY

SESSION_MS, INTERVAL_MS = 45_000, 1_000
EMPTY, STABLE = ConsumerGroupState.EMPTY, ConsumerGroupState.STABLE


def test_a_session_ends_if_no_heartbeat_moves_it() -> None:
    consumers = Consumers()
    consumers.topics.create("t", 2)
    consumers.join("a", "t")
    consumers.after(SESSION_MS - 1)
    consumers.beat("a", 2)
    consumers.after(SESSION_MS - 1)
    assert consumers.group.state is STABLE
    consumers.after(1)
    assert (consumers.group.state, consumers.group.epoch, consumers.group.assignment_epoch) == (EMPTY, 3, 3)
    assert consumers.groups.next_deadline_ms() is None
    with pytest.raises(UnknownMemberIdError):
        consumers.beat("a", 2)


def test_a_new_coordinator_gives_all_the_time_again() -> None:
    consumers = Consumers()
    topic = consumers.topics.create("t", 2)
    consumers.join("a", "t")
    consumers.join("b", "t")
    assert as_owned(consumers.beat("a", 2)) == {topic: (0,)}
    consumers.after(REBALANCE_MS - 1)
    consumers.move()
    consumers.after(REBALANCE_MS - 1)
    assert set(consumers.group.members) == {"a", "b"}
    consumers.after(1)
    assert set(consumers.group.members) == {"b"}
    assert as_owned(consumers.beat("b", 3)) == {topic: (0, 1)}
    consumers.move()
    consumers.after(SESSION_MS)
    assert consumers.group.state is EMPTY


def test_who_has_revoked_has_no_deadline_for_it() -> None:
    consumers = Consumers()
    topic = consumers.topics.create("t", 2)
    consumers.join("a", "t")
    consumers.join("b", "t")
    consumers.beat("a", 2)
    consumers.beat("a", 2, {topic: (0,)})
    consumers.after(REBALANCE_MS)
    assert set(consumers.group.members) == {"a", "b"}


def test_the_interval_between_assignments_survives_a_move() -> None:
    consumers = Consumers(ConsumerGroupConfig(assignment_interval_ms=INTERVAL_MS))
    consumers.topics.create("t", 2)
    consumers.join("a", "t")
    consumers.join("b", "t")
    consumers.after(INTERVAL_MS - 1)
    consumers.move()
    consumers.beat("a", 2)
    assert (consumers.group.epoch, consumers.group.assignment_epoch) == (3, 2)
    consumers.after(1)
    consumers.beat("a", 2)
    assert (consumers.group.epoch, consumers.group.assignment_epoch) == (3, 3)


def test_members_that_prefer_different_assignors() -> None:
    consumers = Consumers()
    consumers.topics.create("t", 2)
    consumers.join("a", "t", server_assignor="range")
    consumers.join("b", "t")
    assert consumers.groups.describe(GROUP).assignor_name == "range"
    consumers.join("c", "t", server_assignor="uniform")
    assert consumers.groups.describe(GROUP).assignor_name == "uniform", "the default, as both have one vote"
    epoch = consumers.group.epoch
    reached = consumers.beat("b", 3, server_assignor="uniform").member_epoch
    assert consumers.group.epoch == epoch
    consumers.beat("b", reached, server_assignor="range")
    assert consumers.groups.describe(GROUP).assignor_name == "range"
    assert consumers.group.epoch == epoch + 1


def test_where_no_assignor_has_more_than_one_vote_the_member_that_heartbeats_decides() -> None:
    consumers = Consumers()
    consumers.topics.create("t", 1)
    consumers.topics.create("u", 2)
    consumers.join("b", "t", "u", server_assignor="uniform")
    consumers.join("a", "t", "u", server_assignor="range")
    by_range = [("a", 2), ("b", 1)]
    assert sizes(consumers) == by_range, "each topic from the first member on"
    assert consumers.groups.describe(GROUP).assignor_name == "uniform"
    consumers.beat("b", 2)
    assert consumers.group.epoch == 3
    consumers.beat("a", 3)
    assert consumers.group.epoch == 4
    consumers.join("c", "t", server_assignor="uniform")
    reached = consumers.beat("a", 4).member_epoch
    consumers.beat("a", reached)
    assert consumers.group.epoch == 5, "two votes against one"


def sizes(consumers: Consumers) -> list[tuple[str, int]]:
    """How many partitions each member is to have."""
    return sorted((member, sum(map(len, topics.values()))) for member, topics in consumers.group.target.items())


def test_a_regular_expression_follows_the_topics() -> None:
    consumers = Consumers()
    first = consumers.topics.create("t1", 1)
    assert as_owned(consumers.beat("a", 0, {}, rebalance_timeout_ms=1, subscribed_topic_regex="t.*")) == {}
    consumers.after(0)
    assert as_owned(consumers.beat("a", 1)) == {first: (0,)}
    second = consumers.topics.create("t2", 1)
    consumers.after(9_000)
    assert as_owned(consumers.beat("a", 2)) is None, "at most every ten seconds"
    consumers.after(2_000)
    consumers.beat("a", 2)
    consumers.after(0)
    assert as_owned(consumers.beat("a", 2)) == {first: (0,), second: (0,)}
    consumers.move()
    assert consumers.group.subscribed_topics() == {"t1", "t2"}
    consumers.beat("a", -1)
    assert consumers.group.regexes == {}


def test_groups_are_deleted_when_they_are_empty() -> None:
    consumers = Consumers()
    consumers.topics.create("t", 1)
    consumers.join("a", "t")
    with pytest.raises(NonEmptyGroupError):
        consumers.groups.delete(GROUP)
    consumers.beat("a", -1)
    for record in consumers.groups.delete(GROUP):
        consumers.groups.replay(record)
    assert consumers.groups.groups == {}
    with pytest.raises(GroupIdNotFoundError):
        consumers.groups.delete(GROUP)


def test_a_member_whose_first_records_alone_were_stored() -> None:
    whole = Consumers()
    whole.topics.create("t", 2)
    whole.join("a", "t")
    for kept in range(len(whole.records)):
        consumers = Consumers()
        topic = consumers.topics.create("t", 2)
        consumers.records = whole.records[:kept]
        consumers.move()
        assert as_owned(consumers.join("a", "t")) == {topic: (0, 1)}
        assert consumers.group.state is STABLE


def test_topics_are_looked_for_in_several_turns() -> None:
    consumers = Consumers()
    ids = {consumers.topics.create(f"{'x' * 200}-{number}", 1) for number in range(20)}
    consumers.topics.create("other", 1)
    consumers.beat("a", 0, {}, rebalance_timeout_ms=1, subscribed_topic_regex=f"(?:{HEAVY['options']}|.*)x-.*")
    assert turns_of_search(consumers) > 10
    assert as_owned(consumers.beat("a", 1)) == dict.fromkeys(ids, (0,))


def test_a_small_search_takes_one_turn() -> None:
    consumers = Consumers()
    for number in range(20):
        consumers.topics.create(f"topic-{number}", 1)
    consumers.beat("a", 0, {}, rebalance_timeout_ms=1, subscribed_topic_regex="topic.*")
    assert turns_of_search(consumers) == 1


def test_an_expression_that_comes_during_a_search_is_not_lost() -> None:
    consumers = Consumers()
    consumers.topics.create("t" * 200, 1)
    consumers.topics.create("u" * 200, 1)
    for number in range(20):
        consumers.topics.create(f"{'x' * 200}-{number}", 1)
    consumers.beat("a", 0, {}, rebalance_timeout_ms=1, subscribed_topic_regex=f"t+|(?:{HEAVY['options']})!")
    consumers.store(consumers.groups.expire(consumers.now_ms))
    consumers.beat("b", 0, {}, rebalance_timeout_ms=1, subscribed_topic_regex="u+")
    turns_of_search(consumers)
    assert consumers.group.subscribed_topics() == {"t" * 200}
    consumers.after(10_000)
    consumers.beat("b", 1)
    turns_of_search(consumers)
    assert consumers.group.subscribed_topics() == {"t" * 200, "u" * 200}


def test_a_search_ends_with_its_group() -> None:
    consumers = Consumers()
    for number in range(20):
        consumers.topics.create(f"{'x' * 200}-{number}", 1)
    consumers.beat("a", 0, {}, rebalance_timeout_ms=1, subscribed_topic_regex=f"(?:{HEAVY['options']})!")
    consumers.store(consumers.groups.expire(consumers.now_ms))
    assert consumers.groups.next_deadline_ms() == consumers.now_ms + 1
    consumers.beat("a", -1)
    consumers.after(1)
    assert consumers.groups.next_deadline_ms() is None


def turns_of_search(consumers: Consumers) -> int:
    """Do what is due from now on, a millisecond after the other; return how often something was."""
    turns = 0
    while (due_ms := consumers.groups.next_deadline_ms()) is not None and due_ms <= consumers.now_ms + 1:
        consumers.now_ms = max(consumers.now_ms, due_ms)
        consumers.store(consumers.groups.expire(consumers.now_ms))
        turns += 1
    return turns


def test_the_table_of_members_grows_as_kafkas_does_also_when_a_member_changes() -> None:
    consumers = Consumers()
    consumers.topics.create("t", 2)
    consumers.topics.create("u", 2)
    consumers.join("a", "t")
    consumers.join("b", "t")
    assert consumers.group.member_slots == 2
    consumers.join("b", "u")
    assert consumers.group.member_slots == 4
    consumers.move()
    assert consumers.group.member_slots == 4
