"""Topics that were deleted and made again."""

import pytest

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.interface import LogChange, PolledRecords
from tests.support.naive_brokers import NaiveBrokers
from tests.unit.records.fetching.scenes import A0, B0, brokers, take, values, write


@pytest.mark.parametrize("waits", [True, False])
def test_a_topic_that_was_made_again_is_told_and_nothing_of_it_is_read_at_the_old_position(waits: bool) -> None:
    found = brokers()
    write(found, A0, b"0")
    write(found, A0, b"1")
    found.reader.assign({A0: 0})
    found.turn()
    assert values(take(found, 1)) == [b"0"]
    if not waits:
        take(found)
    old = found.ids["a"]
    found.create("a", 2)
    for at in range(3):
        write(found, A0, b"new%d" % at)
    found.turn()  # the id is unknown
    assert found.refreshes == 1
    found.tell_metadata()
    assert not found.reader.changed([A0])
    found.poll()
    assert not found.sent
    assert found.reader.changed([A0]) == {A0}
    assert found.reader.topic_ids([A0]) == {A0: old}, "offsets that nobody has told otherwise are from that one"
    assert take(found) == PolledRecords({}, {}, (A0,), {A0: LogChange(1 if waits else 2)})
    assert not found.reader.changed([A0])
    (note,) = found.events.take()
    assert "a-0 was deleted and made again" in note.text
    found.reader.assign({A0: 0})
    found.turn()
    assert values(take(found)) == [b"new0", b"new1", b"new2"]


def test_by_name_it_is_noticed_in_the_metadata_alone() -> None:
    found = brokers()
    found.version = 12
    write(found, A0, b"0")
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    found.create("a", 2)
    found.tell_metadata()
    found.poll()
    assert take(found).changes == {A0: LogChange(1)}


def test_a_paused_partition_is_told_too() -> None:
    found = brokers()
    write(found, A0, b"0")
    found.reader.assign({A0: 0})
    found.turn()
    found.reader.pause([A0])
    found.create("a", 2)
    found.tell_metadata()
    found.poll()
    assert take(found) == PolledRecords({}, {}, (A0,), {A0: LogChange(0)})


def test_a_broker_that_lags_behind_does_not_bring_the_old_topic_back() -> None:
    found = brokers()
    old = found.ids["a"]
    found.reader.assign({A0: 0})
    found.turn()
    found.create("a", 2)
    new = found.ids["a"]
    found.tell_metadata()
    found.poll()
    take(found)
    write(found, A0, b"new")
    found.reader.assign({A0: 0})
    found.ids["a"] = old
    found.tell_metadata()
    found.poll()
    assert not take(found)
    assert [topic.topic_id for each in found.built() for topic in each.topics] == [new]
    found.ids["a"] = new
    found.answer()
    found.reader.assign({A0: 0})
    found.poll()
    assert not found.sent  # its id is that of the old topic for now
    found.tell_metadata()
    found.turn()
    assert values(take(found)) == [b"new"]


def test_the_topic_that_a_partition_is_read_from_stays_the_same_until_it_is_assigned_again() -> None:
    found = NaiveBrokers({"a": 1})
    found.reader.assign({A0: 0})
    assert (found.reader.topic_ids([A0]), found.reader.topic_id("a")) == ({}, None)  # nothing is known
    found.tell_metadata()
    found.turn()
    old = found.ids["a"]
    assert (found.reader.topic_ids([A0, B0]), found.reader.topic_id("a")) == ({A0: old}, old)
    found.create("a", 2)
    new = found.ids["a"]
    found.tell_metadata()
    found.poll()
    assert (found.reader.topic_ids([A0]), found.reader.topic_id("a")) == ({A0: old}, new)
    take(found)
    assert found.reader.topic_ids([A0]) == {}
    found.reader.assign({A0: 0})
    assert found.reader.topic_ids([A0]) == {A0: new}
    found.ids["a"] = old  # as a broker says that lags behind
    found.tell_metadata()
    found.poll()
    assert (found.reader.topic_ids([A0]), found.reader.topic_id("a")) == ({A0: new}, None)


def test_a_topic_that_is_not_made_again_is_an_error_after_a_while() -> None:
    found = brokers()
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    del found.ids["a"]
    begun_ms = found.now_ms
    while not found.reader.has_news:
        found.turn()
        found.now_ms += found.poll()
    assert found.now_ms - begun_ms >= 5_000
    with pytest.raises(KafkaGroupsError, match="a-0 cannot be read from offset 0 on: UNKNOWN_TOPIC_ID") as raised:
        found.reader.raise_failure()
    assert raised.value.retriable
