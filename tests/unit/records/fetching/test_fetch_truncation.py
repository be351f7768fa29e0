"""Logs that have lost records, and offsets that a log does not have."""

import pytest

from kafka_groups.records.interface import LogChange, PolledRecords
from kafka_groups.types import TopicPartition
from tests.unit.records.fetching.scenes import A0, brokers, filled, take, values, write


def test_a_log_that_lost_records_that_were_taken_is_told_with_both_offsets() -> None:
    found = brokers()
    filled(found, 0, 0, 0)
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    found.log("a").truncate(2)
    found.turn()
    polled = take(found)
    assert (polled.out_of_range, polled.changes) == ((A0,), {A0: LogChange(6, diverges_at=2)})
    (note,) = found.events.take()
    assert "read up to offset 6, and its leader has lost the records from offset 2 on" in note.text
    assert not found.reader.assigned
    found.reader.assign({A0: 2})
    write(found, A0, b"new")
    found.turn()
    assert values(take(found)) == [b"new"]


def test_a_log_that_has_lost_the_record_before_a_start_is_told_if_the_epoch_of_that_is_known() -> None:
    found = brokers()
    filled(found, 0, 1)
    found.log("a").truncate(2)
    filled(found, 2, 2, 2)
    found.reader.assign({A0: 4})
    found.turn()
    assert values(take(found)) == [b"2", b"x", b"2", b"x"], "nobody knows that these are others"
    found.reader.assign({A0: 4}, {A0: 1})
    found.turn()
    assert take(found).changes == {A0: LogChange(4, diverges_at=2)}
    found.reader.assign({A0: 4}, {A0: 2})
    found.turn()
    assert values(take(found)) == [b"2", b"x", b"2", b"x"]


def test_the_epochs_of_records_that_were_taken_are_known() -> None:
    found = brokers()
    filled(found, 0, 0, 3)
    found.reader.assign({A0: 0})
    assert found.reader.leader_epochs({A0: 0}) == {}
    found.turn()
    assert found.reader.leader_epochs({A0: 2}) == {}, "nothing is taken yet"
    take(found)
    assert found.reader.leader_epochs({A0: 4, TopicPartition("other", 0): 1}) == {A0: 0}
    assert found.reader.leader_epochs({A0: 5}) == {A0: 3}
    found.reader.assign({A0: 6}, {A0: 3})
    assert found.reader.leader_epochs({A0: 6}) == {A0: 3}


def test_other_records_at_the_same_offsets_are_noticed_by_their_epoch() -> None:
    found = brokers()
    filled(found, 0, 1, 1)
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    found.log("a").truncate(2)
    filled(found, 2, 2, 2)
    found.turn()
    assert take(found).changes == {A0: LogChange(6, diverges_at=2)}


def test_records_that_were_fetched_and_not_taken_are_dropped_in_silence() -> None:
    found = brokers()
    filled(found, 0, 1, 1)
    found.reader.assign({A0: 0})
    found.turn()
    assert values(take(found, 1)) == [b"0", b"x"]
    found.log("a").truncate(4)
    filled(found, 2)
    found.turn()
    found.turn()
    polled = take(found)
    assert (values(polled), polled.ends, polled.changes) == ([b"1", b"x", b"2", b"x"], {A0: 6}, {})
    assert not found.events


def test_an_offset_that_the_log_does_not_have_is_out_of_range_after_what_was_fetched() -> None:
    found = brokers()
    filled(found, 0, 0)
    found.reader.assign({A0: 0})
    found.turn()
    filled(found, 0, 0)
    found.log("a").delete_before(6)
    found.turn()
    polled = take(found)
    assert values(polled) == [b"0", b"x", b"0", b"x"]
    assert (polled.out_of_range, polled.changes) == ((A0,), {})
    assert found.reader.assigned == frozenset()


@pytest.mark.parametrize("start", [1, 50])
def test_a_start_below_or_above_the_log_is_out_of_range(start: int) -> None:
    found = brokers()
    filled(found, 0, 0)
    found.log("a").delete_before(2)
    found.reader.assign({A0: start})
    found.turn()
    assert take(found) == PolledRecords({}, {}, (A0,))
    (note,) = found.events.take()
    assert f"does not have offset {start}" in note.text
    found.poll()
    assert not found.sent


def test_a_new_leader_that_lags_behind_is_asked_once_more() -> None:
    found = brokers()
    filled(found, 0)
    found.version = 11  # nothing tells the leader what was read
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    log = found.log("a")
    kept = log.batches[:]
    log.truncate(0)
    found.partitions[A0].lead(2)
    found.tell_metadata()
    found.turn()
    assert not take(found)
    assert found.refreshes == 1
    found.now_ms += 120
    log.batches, log.end_offset = kept, 2
    write(found, A0, b"y")
    found.turn()
    assert values(take(found)) == [b"y"]


def test_a_new_leader_without_the_offset_is_believed_the_second_time() -> None:
    found = brokers()
    filled(found, 0)
    found.version = 11
    found.reader.assign({A0: 0})
    found.turn()
    take(found)
    found.log("a").truncate(0)
    found.partitions[A0].lead(2)
    found.tell_metadata()
    found.turn()
    found.now_ms += 120
    found.turn()
    assert take(found).out_of_range == (A0,)
