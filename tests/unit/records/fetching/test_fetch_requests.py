"""Fetch requests: their form, their limits, and when they are sent."""

import pytest

from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.fetching.limits import ReadingLimits
from kafka_groups.types import TopicPartition
from tests.unit.records.fetching.scenes import A0, A1, B0, brokers, offsets, take, values, write


def test_each_leader_gets_one_request_with_all_its_partitions_and_what_the_options_say() -> None:
    limits = ReadingLimits(min_bytes=3, max_wait_ms=70, max_bytes=9_000, max_partition_bytes=800)
    found = brokers(options=FetchOptions(limits=limits, isolation_level=0, rack="r1"))
    found.reader.assign({A0: 0, A1: 5, B0: 7})
    found.poll()
    assert sorted((each.node_id, at) for each, at in zip(found.sent, offsets(found), strict=True)) == [
        (1, (0, 7)),
        (2, (5,)),
    ]
    request = found.built()[0]
    assert (request.min_bytes, request.max_wait_ms, request.max_bytes) == (3, 70, 9_000)
    assert (request.isolation_level, request.rack_id, request.session_epoch) == (0, "r1", -1)
    assert {p.partition_max_bytes for topic in request.topics for p in topic.partitions} == {800}
    found.poll()
    assert len(found.sent) == 2  # one under way for each leader


@pytest.mark.parametrize(("version", "by_id"), [(11, False), (12, False), (13, True), (18, True)])
def test_topics_go_by_id_from_version_13_on_and_by_name_before(version: int, by_id: bool) -> None:
    found = brokers()
    found.version = version
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.poll()
    (topic,) = found.built()[0].topics
    assert (topic.topic_id, topic.topic) == ((found.ids["a"], "") if by_id else (None, "a"))
    found.answer()
    assert values(take(found)) == [b"x"]
    found.poll()
    ((partition,),) = [topic.partitions for topic in found.built()[0].topics]
    assert partition.last_fetched_epoch == (0 if version >= 12 else -1)
    assert partition.current_leader_epoch == 0


def test_the_next_request_is_sent_before_anything_is_taken_until_the_room_is_used_up() -> None:
    # A batch has about 80 bytes, so a response has one.
    limits = ReadingLimits(max_partition_bytes=100, buffer_bytes=300)
    found = brokers(options=FetchOptions(limits=limits))
    for at in range(9):
        write(found, A0, b"%d" % at * 10)
    found.reader.assign({A0: 0})
    rounds = 0
    while found.poll() and found.sent:
        found.answer()
        rounds += 1
    assert rounds == 3
    assert values(take(found, 1)) == [b"0" * 10]
    found.turn()
    assert values(take(found)) == [b"%d" % at * 10 for at in (1, 2, 3)]


def test_a_batch_that_is_larger_than_all_limits_comes_all_the_same() -> None:
    limits = ReadingLimits(max_partition_bytes=100, buffer_bytes=300)
    found = brokers(options=FetchOptions(limits=limits))
    write(found, A0, bytes(5_000))
    write(found, A0, b"next")
    found.reader.assign({A0: 0})
    found.turn()
    assert not (found.poll(), found.sent)[1]
    assert values(take(found)) == [bytes(5_000)]
    found.turn()
    assert values(take(found)) == [b"next"]


def test_partitions_without_room_shorten_the_wait_of_the_others() -> None:
    found = brokers(options=FetchOptions(limits=ReadingLimits(max_partition_bytes=100, buffer_bytes=200)))
    write(found, A0, bytes(200))
    found.reader.assign({A0: 0, B0: 0})
    found.turn()
    found.poll()
    (request,) = found.built()
    assert request.max_wait_ms == 100
    assert offsets(found) == [(0,)]


def test_rows_that_wait_make_fetches_smaller() -> None:
    found = brokers()
    found.reader.assign({A0: 0})
    asked = []
    for waited_ms in (0, 3_000, 3_000, 0):
        write(found, A0, b"x")
        found.poll()
        asked.append(found.built()[0].topics[0].partitions[0].partition_max_bytes >> 10)
        found.answer()
        found.now_ms += waited_ms
        take(found)
    found.poll()
    assert [*asked, found.built()[0].topics[0].partitions[0].partition_max_bytes >> 10] == [1024, 1024, 512, 256, 512]


def test_partitions_that_had_records_come_last_in_the_next_request() -> None:
    found = brokers({"a": 1, "b": 1, "c": 1})
    for topic in ("b", "c"):
        write(found, TopicPartition(topic, 0), b"x")
    found.reader.assign({B0: 0, A0: 0, TopicPartition("c", 0): 1})
    found.turn()
    found.poll()
    names = {topic_id: name for name, topic_id in found.ids.items()}
    assert [names[topic.topic_id] for topic in found.built()[0].topics if topic.topic_id] == ["a", "c", "b"]


def test_a_throttled_reader_waits() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.poll()
    found.answer(throttle_time_ms=700)
    assert values(take(found)) == [b"x"]
    assert found.poll() == 700
    assert not found.sent
    found.now_ms += 700
    found.poll()
    assert found.sent
