"""Records that have not met a partner yet: their bytes, which are Java's, and which of them are due."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups import serdes
from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.state.state_store import ChangelogRecord, RecordContext, StoreSurroundings
from kafka_groups.streams.state.timed_rows import MAX_MS
from kafka_groups.streams.state.unjoined import UnjoinedDefinition, UnjoinedState
from tests.support.committed_states import commit, restore

DEFINITION = UnjoinedDefinition(name="u", left=serdes.string, right=serdes.int64)
PLACES = st.tuples(st.booleans(), st.sampled_from([b"", b"a", b"ab", b"b"]), st.integers(0, 20))


def opened(engine: MemoryEngine | None = None) -> UnjoinedState:
    record = RecordContext()
    surroundings = StoreSurroundings(topic="t", engine=engine or MemoryEngine(), record=record, is_caching=False)
    return UnjoinedState(DEFINITION, surroundings)


def added(state: UnjoinedState, places: Iterable[tuple[bool, bytes, int]]) -> None:
    for is_left, key, time_ms in places:
        state.add(key, "x" if is_left else 7, time_ms, is_left=is_left)


def test_the_bytes_of_a_row_are_javas() -> None:
    state = opened()
    state.add(b"b", "d e a", 1, is_left=True)
    state.add(b"b", "", 1, is_left=True)
    ((key, value, time_ms, headers),) = state.changelog()
    assert key == b"\0\0\0\0\0\0\0\1\1b"
    assert value == b"\1\0\0\0\2\0\0\0\6\1d e a\0\0\0\1\1"
    assert (time_ms, headers) == (1, ())


def test_the_records_of_a_row_have_their_sides_serde_and_the_order_of_their_arrival() -> None:
    state = opened()
    for value in (1, 2):
        state.add(b"k", value, 5, is_left=False)
    found = state.records(state.row(b"k", 5, is_left=False))
    assert (found.is_left, found.key, found.time_ms, found.values) == (False, b"k", 5, (1, 2))


def test_a_removed_row_leaves_a_tombstone_with_the_time_of_its_removal() -> None:
    state = opened()
    state.add(b"k", "x", 5, is_left=True)
    row = state.row(b"k", 5, is_left=True)
    state.remove(row, 9)
    state.remove(state.row(b"other", 5, is_left=True), 9)
    assert list(state.changelog()) == [ChangelogRecord(row, None, 9)]
    assert state.overdue(MAX_MS, MAX_MS) == ([], MAX_MS)


@given(st.lists(PLACES, max_size=20), st.sets(PLACES, max_size=5), st.integers(-5, 25), st.integers(-5, 25))
def test_what_is_due_comes_in_the_order_of_time_side_and_key(
    places: list[tuple[bool, bytes, int]], gone: set[tuple[bool, bytes, int]], left_ms: int, right_ms: int
) -> None:
    state = opened()
    added(state, places)
    for is_left, key, time_ms in gone:
        state.remove(state.row(key, time_ms, is_left=is_left), 30)
    kept = {(time_ms, is_left, key) for is_left, key, time_ms in set(places) - gone}
    due = sorted(place for place in kept if place[0] < (left_ms if place[1] else right_ms))
    assert state.overdue(left_ms, right_ms)[0] == [state.row(key, ms, is_left=side) for ms, side, key in due]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], MAX_MS),
        ([(True, b"k", 3)], 3),
        ([(True, b"k", 12), (True, b"k", 14), (True, b"k", 16)], 16),
        ([(True, b"k", 12), (False, b"k", 14), (True, b"k", 16)], 16),
        ([(True, b"k", 12), (False, b"k", 14)], 14),
        ([(True, b"k", 12), (True, b"k", 13), (False, b"k", 14), (False, b"k", 18), (True, b"k", 16)], 16),
    ],
)
def test_java_looks_on_until_the_row_after_those_of_both_sides_that_are_not_due(
    places: list[tuple[bool, bytes, int]], expected: int
) -> None:
    state = opened()
    added(state, places)
    assert state.overdue(10, 10)[1] == expected


def test_a_record_that_comes_to_a_row_makes_it_be_looked_for_again() -> None:
    state = opened()
    added(state, [(True, b"k", 12), (True, b"k", 16)])
    state.oldest_ms = state.overdue(10, 10)[1]
    assert state.oldest_ms == 16
    added(state, [(True, b"k", 12)])
    assert state.oldest_ms == 12


def test_a_state_that_is_restored_or_opened_again_has_the_same_rows() -> None:
    engine = MemoryEngine()
    copy = MemoryEngine()
    first, second = opened(engine), opened(copy)
    added(first, [(True, b"a", 5), (False, b"b", 3), (True, b"c", 4)])
    first.remove(first.row(b"c", 4, is_left=True), 6)
    restore(second, copy, first.changelog())
    restore(second, copy, [ChangelogRecord(first.row(b"b", 3, is_left=False), None, 7)])
    commit(first, engine)
    again = opened(engine)
    assert again.oldest_ms == second.oldest_ms == -MAX_MS
    assert again.overdue(9, 9) == ([first.row(b"b", 3, is_left=False), first.row(b"a", 5, is_left=True)], 5)
    assert second.overdue(9, 9)[0] == [first.row(b"a", 5, is_left=True)]
