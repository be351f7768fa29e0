"""Iterators over the rows of several tasks: what they hold, and how long they last."""

import gc
from collections.abc import Iterator, Sequence
from operator import itemgetter
from types import GeneratorType
from typing import Any

import pytest

from kafka_groups.streams import InvalidStateStoreError
from kafka_groups.streams.engines.questions import TaskAnswer
from kafka_groups.streams.queries.paged_rows import LONGEST_ITERATION_S, PAGE_ROWS, PagedRows, rows_of_each
from kafka_groups.streams.state.engine import KeyedBytes
from kafka_groups.streams.state.stored_rows import FoundPage, PageOf, RowsOf, RowsPart
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TaskId

ALL = RowsPart(b"", None)


class Tasks:
    """Tasks with rows, which count what they are asked for."""

    def __init__(self, *sizes: int, following: int = 0) -> None:
        self.following = following
        """The number of pages whose keys are told with a page."""
        self.asked: list[type] = []
        self.rows = [[(b"%06d-%d" % (at, task), b"x") for at in range(size)] for task, size in enumerate(sizes)]
        self.pages: list[int] = []
        self.clock = ManualClock()

    def page(self, task: int, page: PageOf) -> FoundPage:
        rows = sorted(self.rows[task], reverse=page.reverse)
        if page.after is not None:
            rows = [each for each in rows if (each[0] < page.after if page.reverse else each[0] > page.after)]
        known = page.limit * (1 + self.following)
        keys = [row for row, _ in rows[page.limit : known]]
        return FoundPage(rows[: page.limit], keys, has_more=len(rows) >= known)

    def ask(self, answer: TaskAnswer, about: PageOf | RowsOf) -> Any:
        assert answer.found is None, "it is not kept longer than needed"
        self.asked.append(type(about))
        if isinstance(about, RowsOf):
            there = dict(self.rows[answer.task_id.partition])
            rows = [(row, there[row]) for row in about.rows if row in there]
            self.pages.append(len(rows))
            return rows
        found = self.page(answer.task_id.partition, about)
        self.pages.append(len(found.rows))
        return found

    def iterator(self, limit: int | None = None, *, reverse: bool = False) -> PagedRows:
        count = len(self.rows)
        page = PageOf(ALL, rows_of_each(count) if limit is None else limit, reverse=reverse)
        answers = [TaskAnswer(TaskId("0", at), (1, at), self.page(at, page), count) for at in range(count)]
        return PagedRows("rows", page, answers, self.ask, itemgetter(0), self.clock)

    def all(self, *, reverse: bool) -> list[KeyedBytes]:
        return sorted((row for rows in self.rows for row in rows), reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [None, 1, 500, PAGE_ROWS])
@pytest.mark.parametrize("sizes", [(0,), (PAGE_ROWS,), (PAGE_ROWS + 1,), (2_500, 0, 499, 500, 501)])
@pytest.mark.parametrize("following", [0, 1, 3])
def test_all_rows_come_once_and_in_order(
    sizes: Sequence[int], limit: int | None, following: int, reverse: bool
) -> None:
    tasks = Tasks(*sizes, following=following)
    rows = tasks.iterator(limit, reverse=reverse)
    assert rows.is_empty is (sum(sizes) == 0)
    assert list(rows) == tasks.all(reverse=reverse)


def test_no_more_rows_are_asked_for_than_an_iterator_may_hold() -> None:
    tasks = Tasks(3_000, 3_000, 3_000, 3_000)
    rows = tasks.iterator()
    for _ in range(10_000):
        next(rows)
    assert max(tasks.pages) * len(tasks.rows) == PAGE_ROWS
    assert rows_of_each(3 * PAGE_ROWS) == 1


def test_an_iterator_asks_for_nothing_before_it_needs_it() -> None:
    tasks = Tasks(3_000)
    rows = tasks.iterator()
    for _ in range(PAGE_ROWS):
        next(rows)
    assert tasks.pages == []
    next(rows)
    assert tasks.pages == [PAGE_ROWS]


def test_rows_whose_order_is_known_are_asked_for_by_their_keys() -> None:
    tasks = Tasks(10 * PAGE_ROWS, following=4)
    assert list(tasks.iterator()) == tasks.all(reverse=False)
    assert tasks.asked == [*4 * [RowsOf], PageOf, *4 * [RowsOf], PageOf]


def test_rows_that_go_while_an_iterator_is_read_are_left_out() -> None:
    tasks = Tasks(5 * PAGE_ROWS, following=4)
    rows, wanted = tasks.iterator(), tasks.all(reverse=False)
    next(rows)
    gone = set(wanted[2 * PAGE_ROWS : 3 * PAGE_ROWS]) | {wanted[-1]}  # a whole page, and the last row
    tasks.rows[0] = [each for each in tasks.rows[0] if each not in gone]
    assert list(rows) == [each for each in wanted[1:] if each not in gone]


def test_an_iterator_ends_with_an_error_after_its_time() -> None:
    tasks = Tasks(10)
    rows = tasks.iterator()
    tasks.clock.advance(LONGEST_ITERATION_S * 1_000 - 1)
    assert next(rows) == tasks.rows[0][0]
    tasks.clock.advance(1)
    with pytest.raises(InvalidStateStoreError, match=r"over store 'rows' began 30 s ago, and ends\. Ask for a smaller"):
        next(rows)
    assert held() == 0


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    """The collector leaves out what other tests have left: looking through all of it takes seconds."""
    gc.freeze()
    yield
    gc.unfreeze()


def held() -> int:
    """Return how many rows iterators hold."""
    gc.collect()
    found = [each for each in gc.get_objects() if type(each) is GeneratorType]
    return sum(each.gi_code is PagedRows._pages.__code__ and each.gi_frame is not None for each in found)


def test_a_closed_iterator_holds_nothing() -> None:
    rows = Tasks(10, 10).iterator()
    next(rows)
    assert held() == 2
    rows.close()
    assert held() == 0
    assert list(rows) == []


def test_an_iterator_that_is_left_to_the_collector_holds_nothing() -> None:
    rows: Any = Tasks(10, 10).iterator()
    next(rows)
    assert held() == 2
    del rows
    assert held() == 0
