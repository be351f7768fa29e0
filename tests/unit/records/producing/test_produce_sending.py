"""Produce requests: their form, their limits, and when they are sent."""

import pytest

from kafka_groups.client.requests import NEVER_MS, Lane
from kafka_groups.records.producing.accumulator import AccumulatorSettings
from kafka_groups.records.producing.produce_settings import ProduceSettings
from tests.support.producing.producer_world import TOPIC, ProducerWorld
from tests.unit.records.producing.worlds import SMALL, check, headers, lingered, numbers, ready, values


def test_an_id_is_asked_for_when_the_first_batch_is_ready() -> None:
    world = ProducerWorld(settings=SMALL)
    assert world.turn() == NEVER_MS
    world.write(0, [b"v"])
    assert world.turn() == 5
    assert not world.requests[0]
    world.pass_time(5)
    world.answer_all()
    assert world.logs[0].values == [b"v"]
    assert world.produce.is_flushed
    check(world)


def test_a_request_has_a_batch_of_each_partition_of_a_leader() -> None:
    world = ready(partitions=4, nodes=2)
    for partition in range(4):
        world.write(partition, values(2))
    lingered(world)
    assert [[index for index, _ in batches] for batches in headers(world)] == [[0, 2], [1, 3], [0, 2], [1, 3]]
    check(world)


def test_a_request_asks_for_all_replicas_by_topic_id() -> None:
    world = ready()
    world.write(0, [b"v"])
    lingered(world)
    [message] = world.messages
    [question] = world.requests[0]
    assert (message.acks, message.timeout_ms, message.transactional_id) == (-1, 30_000, None)
    assert (message.topic_data[0].topic_id, message.topic_data[0].name) == (world.topics.topic_id, "")
    assert (question.request.node_id, question.request.timeout_ms, question.request.lane) == (0, 30_000, Lane.PRODUCE)
    check(world)


def test_older_brokers_get_the_name_of_the_topic() -> None:
    world = ready()
    world.version = 12
    world.write(0, [b"v"])
    lingered(world)
    [message] = world.messages
    assert (message.topic_data[0].topic_id, message.topic_data[0].name) == (None, TOPIC)
    check(world)


@pytest.mark.parametrize("most", [1, 5])
def test_so_many_requests_are_in_flight_to_a_broker(most: int) -> None:
    world = ready(produce=ProduceSettings(max_in_flight=most))
    world.write(0, values(9))
    lingered(world)
    assert len(world.requests[0]) == most
    world.handle(0)
    world.deliver(0)
    assert len(world.requests[0]) == most
    assert numbers(world) == list(range(1, most + 2))
    check(world)


def test_a_request_is_no_larger_than_its_limit() -> None:
    world = ready(partitions=5, nodes=1, produce=ProduceSettings(max_request_bytes=300))
    for partition in range(5):
        world.write(partition, values(1))
    lingered(world)
    assert [[index for index, _ in batches] for batches in headers(world)] == [[0, 1], [2, 3], [4]]
    check(world)


def test_a_batch_larger_than_the_rest_has_a_request_of_its_own() -> None:
    settings = AccumulatorSettings(batch_bytes=100, linger_ms=5)
    world = ready(settings, nodes=1, produce=ProduceSettings(max_request_bytes=200))
    world.write(0, values(1))
    world.write(1, [b"v" * 5_000])
    lingered(world)
    assert [[index for index, _ in batches] for batches in headers(world)] == [[0], [1]]
    check(world)


def test_a_flush_waits_for_no_more_records() -> None:
    world = ready()
    world.produce.flush_requested = True
    world.write(0, [b"v"])
    assert world.turn() == NEVER_MS
    assert len(world.requests[0]) == 1
    check(world)


def test_topics_that_are_written_to_are_wanted() -> None:
    world = ready()
    assert world.topics.wanted == {TOPIC}
