"""Topics that vanish, and topics that were made again."""

import pytest

from kafka_groups.errors import TopicAuthorizationFailedError, UnknownTopicOrPartitionError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.producing.produce_requests import FIRST_WITH_IDS
from kafka_groups.types import TopicPartition
from tests.support.producing.partition_of_producers import NaivePartition
from tests.support.producing.producer_world import TOPIC
from tests.unit.records.producing.worlds import check, lingered, numbers, ready, refused, values


def test_a_topic_that_vanishes_is_waited_for_and_then_refused() -> None:
    world = ready()
    world.topics.exists = False
    world.write(0, values(2))
    world.produce.flush_requested = True
    for _ in range(58):
        world.pass_time(1_000)
        world.answer_all()
    assert refused(world) == []
    assert any("t-0 does not exist" in text for text in world.warnings)
    for _ in range(5):
        world.pass_time(1_000)
        world.answer_all()
    found = refused(world)
    assert [value for value, _ in found] == values(2)
    assert isinstance(found[0][1], UnknownTopicOrPartitionError)
    assert str(found[0][1]).startswith("t-0 has not existed for 6")
    assert world.produce.is_flushed
    assert world.accumulator.held_bytes == 0


def test_a_topic_that_comes_back_gets_its_records() -> None:
    world = ready()
    world.topics.exists = False
    world.write(0, values(2))
    for _ in range(30):
        world.pass_time(1_000)
        world.answer_all()
    world.topics.exists = True
    check(world)


def test_a_partition_that_does_not_exist_is_refused_like_a_topic() -> None:
    world = ready()
    world.accumulator.write(TOPIC, b"k", b"v", 0, (), 9, "origin")
    for _ in range(70):
        world.pass_time(1_000)
    [(_, error)] = refused(world)
    assert "t-9 has not existed" in str(error)


def test_metadata_that_may_not_be_read_refuses_the_records() -> None:
    world = ready()
    world.topics.error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    world.topics.known_leaders[0] = -1
    world.write(0, values(1))
    lingered(world)
    [(_, error)] = refused(world)
    assert isinstance(error, TopicAuthorizationFailedError)
    assert world.produce.is_flushed


def test_numbers_begin_anew_in_a_topic_that_was_made_again() -> None:
    world = ready()
    world.write(0, values(2))
    lingered(world)
    assert world.produce.replaced == set()
    world.make_again()
    check(world)
    assert numbers(world)[-2:] == [0, 1]
    assert any("was deleted and created again" in text for text in world.warnings)
    assert world.produce.replaced == {TopicPartition(TOPIC, 0)}
    assert world.told_counts == {TOPIC: len(world.logs)}
    world.produce.renew()
    assert world.produce.replaced == {TopicPartition(TOPIC, 0)}, "the next producer writes to another topic, too"


@pytest.mark.parametrize("is_known", [False, True])
def test_a_topic_that_is_made_again_around_a_renewal_is_told_by_the_next_producer(is_known: bool) -> None:
    world = ready()
    world.make_again()
    world.produce.renew()
    if is_known:
        world.topics.learn()
    assert world.produce.replaced == set(), "nobody has looked"
    world.write(0, values(1))
    check(world)
    assert world.produce.replaced == {TopicPartition(TOPIC, 0)}


def test_a_topic_that_is_made_again_after_its_records_were_refused_is_told() -> None:
    world = ready()
    world.topics.exists = False
    world.write(0, values(1))
    for _ in range(65):
        world.pass_time(1_000)
        world.answer_all()
    assert len(refused(world)) == 1
    world.topics.exists = True
    world.make_again()
    world.topics.learn()
    world.write(0, values(1, start=1))
    lingered(world)
    world.answer_all()
    assert world.produce.replaced == {TopicPartition(TOPIC, 0)}


@pytest.mark.parametrize("is_renewed", [False, True])
def test_a_topic_that_is_made_again_after_its_task_has_ended_is_not_told(is_renewed: bool) -> None:
    world = ready()
    place = TopicPartition(TOPIC, 0)
    world.produce.forget_logs([place])
    world.make_again()
    if is_renewed:
        world.produce.renew()
    world.write(0, values(1))
    check(world)
    assert world.produce.replaced == set()
    world.make_again()
    world.write(0, values(1, start=1))
    check(world)
    assert world.produce.replaced == {place}, "another task has written to it"
    world.produce.forget_logs([place])
    assert world.produce.replaced == set()


@pytest.mark.parametrize("is_renewed", [False, True])
def test_a_topic_that_is_made_again_is_told_by_its_first_offset_if_requests_have_names_of_topics(
    is_renewed: bool,
) -> None:
    world = ready()
    world.version = FIRST_WITH_IDS - 1
    place = TopicPartition(TOPIC, 0)
    world.write(0, values(1))
    check(world)
    assert world.produce.replaced == set()
    world.make_again()
    if is_renewed:
        world.produce.renew()
    world.write(0, values(2, start=1))
    lingered(world)
    world.answer_all()
    assert world.logs[0].values == values(2, start=1), "the broker takes them"
    assert world.produce.replaced == {place}
    assert any("was deleted and created again" in text for text in world.warnings)
    world.produce.replaced.clear()
    world.pass_time(1_000)  # the metadata say it, too
    world.write(0, values(2, start=3))
    check(world)
    assert world.logs[0].values == values(4, start=1)
    assert world.told_counts == {TOPIC: len(world.logs)}
    assert world.produce.replaced == set(), "that is known"
    world.make_again()
    world.write(0, values(1, start=9))
    check(world)
    assert world.produce.replaced == {place}


def test_a_topic_that_was_told_by_its_first_offset_is_not_told_again_by_the_next_producer() -> None:
    world = ready()
    world.version = FIRST_WITH_IDS - 1
    world.make_again()
    world.write(0, values(1))
    lingered(world)
    world.answer_all()
    assert world.produce.replaced == {TopicPartition(TOPIC, 0)}
    world.produce.renew()
    world.produce.replaced.clear()
    world.topics.learn()
    world.write(0, values(1, start=1))
    lingered(world)
    world.answer_all()
    assert world.produce.replaced == set()


def test_a_log_that_has_lost_all_is_not_taken_for_another_topic_if_requests_have_ids() -> None:
    world = ready()
    world.logs[0] = NaivePartition(has_forgotten=True)
    world.write(0, values(1))
    lingered(world)
    world.answer_all()
    assert world.logs[0].values == values(1)
    assert world.produce.replaced == set()


def test_metadata_that_tell_of_a_topic_that_was_made_again_are_not_told_twice_by_its_first_offset() -> None:
    world = ready()
    world.version = FIRST_WITH_IDS - 1
    world.make_again()
    world.topics.learn()
    world.write(0, values(1))
    lingered(world)
    assert world.produce.replaced == {TopicPartition(TOPIC, 0)}
    world.produce.replaced.clear()
    check(world)
    assert world.produce.replaced == set()


def test_a_partition_that_a_topic_does_not_have_after_it_was_made_again_refuses_its_records_at_once() -> None:
    world = ready()
    last = len(world.logs) - 1
    world.write(last, values(2))
    lingered(world)
    world.answer_all()
    world.make_again()
    world.topics.leaders.pop()
    world.write(last, [b"late"])
    lingered(world)
    world.answer_all()
    world.pass_time(1_000)
    [(value, error)] = refused(world)
    assert value == b"late"
    assert f"was deleted and created again with {last} partition" in str(error)
    assert f"it has no {TOPIC}-{last}." in str(error)
    assert world.told_counts == {TOPIC: last}
    assert world.produce.is_flushed
