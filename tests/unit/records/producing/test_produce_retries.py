"""Requests that fail and are sent again."""

import pytest

from kafka_groups.client.requests import ClientResponse
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import ProduceResponse
from tests.unit.records.producing.worlds import check, lingered, numbers, ready, values


def test_a_request_without_answer_is_sent_again_with_the_same_bytes() -> None:
    world = ready()
    world.write(0, values(3))
    lingered(world)
    world.disconnect(0, handled=2)
    check(world)
    first = [data.records for topic in world.messages[0].topic_data for data in topic.partition_data]
    again = [data.records for topic in world.messages[3].topic_data for data in topic.partition_data]
    assert first == again
    assert world.topics.is_refreshed or world.logs[0].values


def test_later_batches_follow_the_failed_one() -> None:
    world = ready()
    world.faults[0].append(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.write(0, values(4))
    lingered(world)
    world.answer_all()
    assert numbers(world) == [1, 2, 3, 4]
    world.pass_time(200)
    world.answer_all()
    assert numbers(world) == [1, 2, 3, 4, 1, 2, 3, 4]
    check(world)


def test_a_failed_batch_waits_for_the_back_off() -> None:
    world = ready()
    world.faults[0].append(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.write(0, values(1))
    lingered(world)
    world.answer_all()
    wait_ms = world.turn()
    assert 80 <= wait_ms <= 120
    world.pass_time(wait_ms - 1)
    assert not world.requests[0]
    world.pass_time(1)
    assert len(world.requests[0]) == 1
    check(world)


def test_a_partition_without_a_leader_for_long_is_a_warning() -> None:
    world = ready()
    leader, world.topics.leaders[0] = world.topics.leaders[0], -1
    world.topics.learn()
    world.write(0, values(1))
    for _ in range(5):
        world.pass_time(1_200)
    assert world.warnings == []
    world.pass_time(1_200)
    assert world.warnings == ["t-0 has no leader, so its records wait. Are all brokers up?"]
    world.topics.leaders[0] = leader
    check(world)


def test_batches_that_fail_together_count_as_one_failure() -> None:
    world = ready()
    world.write(0, values(5))
    lingered(world)
    world.disconnect(0, handled=0)
    assert 80 <= world.turn() <= 120
    check(world)


def test_a_leader_that_becomes_known_is_used_at_once() -> None:
    world = ready()
    known, world.topics.known_leaders[0] = world.topics.known_leaders[0], -1
    world.write(0, values(1))
    lingered(world)
    for _ in range(5):
        world.pass_time(0)
        world.topics.known_leaders[0] = -1
    world.topics.known_leaders[0] = known
    world.turn()
    assert len(world.requests[0]) == 1
    check(world)


@pytest.mark.parametrize("code", [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND])
def test_a_batch_that_was_appended_is_written_once(code: ErrorCode) -> None:
    world = ready()
    world.faults[0].append(code)
    world.write(0, values(3))
    lingered(world)
    check(world)
    assert world.warnings == []
    assert world.produce.confirmed == 2 + 3


def test_a_new_leader_in_the_answer_is_used_at_once() -> None:
    world = ready()
    world.move(0, 1)
    world.write(0, values(1))
    lingered(world)
    world.handle(0)
    world.deliver(0)
    assert len(world.requests[1]) == 1
    check(world)


def test_without_a_leader_in_the_answer_metadata_is_fetched() -> None:
    world = ready()
    world.gives_hints = False
    world.move(0, 1)
    world.write(0, values(1))
    lingered(world)
    world.handle(0)
    world.deliver(0)
    assert world.topics.is_refreshed
    assert not world.requests[1]
    check(world)


def test_a_partition_without_a_leader_waits() -> None:
    world = ready()
    world.topics.known_leaders[0] = -1
    world.write(0, values(1))
    lingered(world)
    assert not world.requests[0]
    assert world.topics.is_refreshed
    assert world.turn() <= 120
    check(world)


def test_an_answer_that_leaves_out_a_partition_counts_as_none() -> None:
    world = ready()
    world.write(0, values(1))
    lingered(world)
    question = world.requests[0].popleft()
    world.produce.on_response(question.request, ClientResponse(ProduceResponse(), 13, 1), world.now_ms)
    assert world.produce.pending == 1
    world.pass_time(200)
    question = world.requests[0].popleft()
    world.produce.on_response(question.request, ClientResponse(ProduceResponse(), 13, 1), world.now_ms)
    assert "does not mention the partition" in world.warnings[0]
    check(world)


def test_a_throttled_broker_gets_nothing_for_a_while() -> None:
    world = ready()
    world.throttle_ms = 500
    for partition in (0, 1):
        world.write(partition, values(1))
    lingered(world)
    world.answer_all()
    world.throttle_ms = 0
    world.write(0, values(1, 1))
    lingered(world)
    assert not world.requests[0]
    assert 400 <= world.turn() <= 500
    world.pass_time(500)
    assert len(world.requests[0]) == 1
    check(world)


def test_warnings_are_events_with_subjects() -> None:
    """The log leaves out repeats of a subject, so that a broker that is away for long does not fill it."""
    world = ready()
    world.faults[0].extend([ErrorCode.NOT_ENOUGH_REPLICAS] * 20)
    world.write(0, values(1))
    for _ in range(20):
        world.pass_time(2_000)
        world.answer_all()
    subjects = {event.subject for event in world.errors.events.take()}
    assert subjects == {"retry t-0 NOT_ENOUGH_REPLICAS"}
    check(world)


def test_markers_of_the_transaction_before_are_waited_for_without_a_warning() -> None:
    world = ready()
    world.faults[0].extend([ErrorCode.CONCURRENT_TRANSACTIONS] * 5)
    world.write(0, values(1))
    for _ in range(5):
        world.pass_time(2_000)
        world.answer_all()
    assert list(world.errors.events.take()) == []
    world.settle()
    check(world)
