"""Records that were fetched are taken, and ends are told with the last of them."""

import pytest
from attrs import evolve

from kafka_groups.client.requests import ClientResponse
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.interface import PolledRecords
from tests.unit.records.fetching.scenes import A0, B0, brokers, offsets, take, values, write


def test_whole_batches_are_taken_until_there_are_enough_records_and_others_come_first_the_next_time() -> None:
    found = brokers()
    for place in (A0, B0):
        for at in range(3):
            write(found, place, b"%d" % at, b"x")
    found.reader.assign({A0: 0, B0: 0})
    found.turn()
    taken = [take(found, 3) for _ in range(4)]
    assert [{place.topic: len(each) for place, each in polled.batches.items()} for polled in taken] == [
        {"a": 4},
        {"b": 4},
        {"a": 2, "b": 2},
        {},
    ]
    assert not found.reader.has_news


def test_a_paused_partition_keeps_what_was_fetched_and_is_not_fetched() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.turn()
    found.reader.pause([A0])
    assert not found.reader.has_news
    assert not take(found)
    found.poll()
    assert not found.sent
    found.reader.resume([A0])
    assert values(take(found)) == [b"x"]
    found.poll()
    assert offsets(found) == [(1,)]


def test_what_arrives_for_a_paused_partition_waits() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.poll()
    found.reader.pause([A0])
    found.answer()
    assert not take(found)
    found.reader.resume([A0])
    assert values(take(found)) == [b"x"]


@pytest.mark.parametrize(("level", "end"), [(0, 3), (1, 1)])
def test_an_end_is_told_once_with_the_last_records_before_it(level: int, end: int) -> None:
    found = brokers(options=FetchOptions(isolation_level=level))
    write(found, A0, b"x")
    write(found, A0, b"open", b"open", producer_id=4)
    found.reader.assign({A0: 0})
    found.turn()
    first = take(found)
    assert first.ends == {A0: end}
    assert len(first.batches[A0]) == end
    found.turn()
    assert not take(found)
    found.log("a").end(4, is_commit=False)
    write(found, A0, b"y")
    found.turn()
    polled = take(found)
    assert (values(polled), polled.ends) == ([b"y"], {A0: 5})


def test_an_empty_log_has_an_end() -> None:
    found = brokers()
    found.reader.assign({A0: 0})
    found.turn()
    assert found.reader.has_news
    assert take(found) == PolledRecords({}, {A0: 0})
    assert not found.reader.has_news


def test_markers_alone_move_the_position() -> None:
    found = brokers()
    write(found, A0, b"x", producer_id=1)
    found.log("a").end(1, is_commit=False)
    found.reader.assign({A0: 0})
    found.turn()
    polled = take(found)
    assert (polled.batches, polled.ends) == ({}, {A0: 2})
    found.poll()
    assert offsets(found) == [(2,)]


def test_nothing_of_an_answer_counts_for_a_partition_that_was_assigned_anew_or_unassigned() -> None:
    found = brokers()
    for place in (A0, B0):
        write(found, place, b"0")
        write(found, place, b"1")
    found.reader.assign({A0: 0, B0: 0})
    found.poll()
    found.reader.assign({A0: 1})
    found.reader.unassign([B0])
    found.answer()
    assert not take(found)
    found.turn()
    polled = take(found)
    assert (values(polled), list(polled.batches)) == ([b"1"], [A0])
    assert found.reader.assigned == {A0}


def test_two_leaders_that_answer_for_the_same_offset_give_its_records_once() -> None:
    found = brokers()
    write(found, A0, b"x")
    found.reader.assign({A0: 0})
    found.poll()
    (old,) = found.sent
    late = found.response_to(old)
    found.sent = []
    found.partitions[A0].lead(2)
    found.tell_metadata()
    found.turn()
    found.reader.on_response(old, ClientResponse(late, found.version, 1), found.now_ms)
    assert values(take(found)) == [b"x"]
    found.turn()
    assert not take(found)


def test_batches_that_end_before_the_position_are_passed_over() -> None:
    found = brokers()
    write(found, A0, b"0")
    write(found, A0, b"1")
    found.reader.assign({A0: 1})
    found.poll()
    (topic,) = found.response_to(found.sent[0]).responses
    records = b"".join(batch.data for batch in found.log("a").batches)
    found.answer(responses=(evolve(topic, partitions=(evolve(topic.partitions[0], records=records),)),))
    assert values(take(found)) == [b"1"]
    assert found.reader.waiting_bytes == 0
