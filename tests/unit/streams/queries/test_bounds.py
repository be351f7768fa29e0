"""Bounds of queries: a view comes as soon as its store has what the caller has written."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, field

from kafka_groups.streams import (
    InvalidStateStoreError,
    Position,
    StateStoreMigratedError,
    StoreNotAvailableError,
    StreamsNotStartedError,
)
from kafka_groups.streams.queries.bounds import Wait, check_bound, view_at_least
from kafka_groups.testing.clock import ManualClock

ASKED = Position({"orders": {0: 5, 1: 7}})


@define
class Store:
    """A view whose position is another one at each look."""

    positions: list[Position | InvalidStateStoreError]
    name: str = "counts"
    looks: int = 0

    def look(self) -> "Store":
        self.looks += 1
        if isinstance(found := self.positions[0], InvalidStateStoreError):
            self.positions.pop(0)
            raise found
        return self

    @property
    def position(self) -> Position:
        found = self.positions.pop(0) if len(self.positions) > 1 else self.positions[0]
        assert isinstance(found, Position)
        return found


@define
class Patience:
    """The time of a caller, which passes while it waits."""

    clock: ManualClock = field(factory=ManualClock)
    pauses_s: list[float] = field(factory=list)

    def wait(self, timeout_s: float, is_over: Callable[[], bool] = lambda: False) -> Wait:
        return Wait(timeout_s, self.clock, self.pause, is_over)

    def pause(self, seconds: float) -> None:
        self.pauses_s.append(seconds)
        self.clock.advance(max(round(seconds * 1_000), 1))


def at(*offsets: int) -> Position:
    return Position({"orders": dict(enumerate(offsets))})


def test_a_store_that_is_there_is_looked_at_once() -> None:
    store, patience = Store([at(5, 9)]), Patience()
    assert view_at_least(store.look, ASKED, None, patience.wait(0)) is store
    assert (store.looks, patience.pauses_s) == (1, [])


def test_it_waits_until_all_partitions_are_there() -> None:
    behind: list[Position | InvalidStateStoreError] = [Position(), at(4, 7), at(5, 6), at(5, 7)]
    store, patience = Store(behind), Patience()
    assert view_at_least(store.look, ASKED, None, patience.wait(60)) is store
    assert (store.looks, len(patience.pauses_s)) == (4, 3)


def test_the_error_names_partition_and_offsets_when_the_time_is_up() -> None:
    store, patience = Store([at(5, 6)]), Patience()
    began_ms = patience.clock.now_ms()
    with pytest.raises(
        StoreNotAvailableError, match=r"'counts' has processed offset 6 of orders-1 here, .* asks for offset 7\. Give"
    ):
        view_at_least(store.look, ASKED, None, patience.wait(0.5))
    assert patience.clock.now_ms() - began_ms == 500
    with pytest.raises(StoreNotAvailableError, match="has processed nothing of orders-0 here"):
        view_at_least(Store([Position()]).look, ASKED, None, patience.wait(0))


def test_the_offset_of_another_partition_does_not_count() -> None:
    store = Store([at(5, 0)])
    assert view_at_least(store.look, ASKED, 0, Patience().wait(0)) is store
    with pytest.raises(StoreNotAvailableError, match="orders-1"):
        view_at_least(store.look, ASKED, 1, Patience().wait(0))


def test_a_task_may_move_in_the_meantime() -> None:
    store = Store([StoreNotAvailableError("none"), StateStoreMigratedError("moved"), at(5, 7)])
    assert view_at_least(store.look, ASKED, None, Patience().wait(1)) is store
    late = Store([StoreNotAvailableError("none"), at(0)])
    assert view_at_least(late.look, None, None, Patience().wait(1)) is late
    with pytest.raises(StoreNotAvailableError, match="none"):
        view_at_least(Store([StoreNotAvailableError("none"), at(0)]).look, None, None, Patience().wait(0))


def test_waiting_ends_where_it_is_of_no_use() -> None:
    patience = Patience()
    with pytest.raises(StoreNotAvailableError):
        view_at_least(Store([at(0)]).look, ASKED, None, patience.wait(60, lambda: True))
    with pytest.raises(StreamsNotStartedError):
        view_at_least(Store([StreamsNotStartedError("not started")]).look, ASKED, None, patience.wait(60))
    assert patience.pauses_s == []


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"orders": {0: 1}}, TypeError, r"at_least={'orders': {0: 1}} is not a Position"),
        (
            Position({"order": {0: 1}}),
            ValueError,
            "topic 'order', which the tasks of store 'counts' do not read.*orders",
        ),
    ],
)
def test_a_bound_about_other_topics_is_refused(given: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        check_bound(given, "counts", ["orders", "returns"])


def test_a_bound_about_some_of_the_topics_is_good() -> None:
    check_bound(ASKED, "counts", ["orders", "returns"])
