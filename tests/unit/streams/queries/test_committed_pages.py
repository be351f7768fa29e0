"""Iterators of views: pages of windows and sessions, their end, and that they leave nothing behind."""

import gc
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any
from weakref import WeakSet

import pytest

from kafka_groups.streams import (
    InvalidStateStoreError,
    SessionStore,
    WindowStore,
)
from kafka_groups.streams.queries.paged_rows import PAGE_ROWS, PagedRows
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.testing.clock import ManualClock
from tests.unit.streams.queries.views import ROWS, SESSIONS, WINDOWS, filled_engine, view_of

LARGE = 2 * PAGE_ROWS + 7


def put_windows(store: Any, times: Iterable[int]) -> None:
    for at in times:
        store.put("a", str(at), at)


def put_sessions(store: Any, times: Iterable[int]) -> None:
    for at in times:
        store.put("a", at - at % 3, at, str(at))


def halved(definition: StoreDefinition, put: Callable[[Any, Iterable[int]], None]) -> Any:
    """Return the view of a store whose rows are in two tasks."""
    engines = []
    for first in (0, 1):
        times = range(first, LARGE, 2)
        engines.append(filled_engine(definition, lambda store, times=times: put(store, times)))  # type: ignore[misc]
    return view_of(definition, engines)


@pytest.mark.parametrize("reverse", [False, True])
def test_windows_and_sessions_come_in_pages(reverse: bool) -> None:
    """Rows of one key, and of all keys, are more than a page; each time is there once in each task."""
    numbers = range(LARGE)
    windows, sessions = halved(WINDOWS, put_windows), halved(SESSIONS, put_sessions)
    wanted = [*numbers][::-1] if reverse else [*numbers]
    few = [each for each in wanted if 100 <= each <= 1_900]
    assert [at for at, _ in windows.fetch("a", 0, LARGE, reverse=reverse)] == wanted
    assert [at for at, _ in windows.fetch("a", 100, 1_900, reverse=reverse)] == few
    assert [each.window.start_ms for each, _ in windows.all(reverse=reverse)] == wanted
    assert [each.window.start_ms for each, _ in windows.fetch_all(100, 1_900, reverse=reverse)] == few
    assert [each.window.start_ms for each, _ in windows.fetch_range("a", "b", 100, 1_900, reverse=reverse)] == few
    assert not list(windows.fetch_range("b", "c", 100, 1_900, reverse=reverse))
    assert [each.window.end_ms for each, _ in sessions.all(reverse=reverse)] == wanted
    assert [each.window.end_ms for each, _ in sessions.fetch("a", reverse=reverse)] == wanted
    found = sessions.find_sessions("a", 100, 1_900, reverse=reverse)
    assert [each.window.end_ms for each, _ in found] == [
        each for each in wanted if each >= 100 and each - each % 3 <= 1_900
    ]


ITERATORS = [
    pytest.param(ROWS, lambda rows: rows.all(), id="rows"),
    pytest.param(WINDOWS, lambda windows: windows.all(), id="windows"),
    pytest.param(WINDOWS, lambda windows: windows.fetch("a", 0, 9), id="windows of a key"),
    pytest.param(WINDOWS, lambda windows: windows.fetch_range("a", "b", 0, 9), id="windows of some keys"),
    pytest.param(SESSIONS, lambda sessions: sessions.all(), id="sessions"),
    pytest.param(SESSIONS, lambda sessions: sessions.fetch("a"), id="sessions of a key"),
]


def some(store: Any) -> None:
    for at in range(3):
        if isinstance(store, SessionStore):
            store.put("a", at, at, "1")
        elif isinstance(store, WindowStore):
            store.put("a", "1", at)
        else:
            store.put(f"a{at}", "1")


@pytest.fixture
def open_pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Counts the pages that somebody holds. The collector leaves out what other tests have left: that takes seconds."""
    init, held = PagedRows.__init__, WeakSet[PagedRows]()

    def noted(rows: PagedRows, *arguments: Any) -> None:
        init(rows, *arguments)
        held.add(rows)

    def count() -> int:
        gc.collect()
        return len(held)

    monkeypatch.setattr(PagedRows, "__init__", noted)
    gc.freeze()
    yield count
    gc.unfreeze()


@pytest.mark.parametrize(("definition", "iterate"), ITERATORS)
def test_what_an_iterator_holds_goes_with_it(
    definition: StoreDefinition, iterate: Callable[[Any], Generator[Any]], open_pages: Callable[[], int]
) -> None:
    view = view_of(definition, [filled_engine(definition, some)])
    closed, left = iterate(view), iterate(view)
    next(closed), next(left)
    assert open_pages() == 2
    closed.close()
    assert open_pages() == 1
    del left
    assert open_pages() == 0


@pytest.mark.parametrize(("definition", "iterate"), ITERATORS)
def test_an_iterator_ends_after_its_time(definition: StoreDefinition, iterate: Callable[[Any], Iterator[Any]]) -> None:
    clock = ManualClock()
    rows = iterate(view_of(definition, [filled_engine(definition, some)], clock=clock))
    next(rows)
    clock.advance(30_000)
    with pytest.raises(InvalidStateStoreError, match="began 30 s ago"):
        next(rows)
