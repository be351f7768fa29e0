"""Rows of a store in several tasks, which are asked for page by page while a program iterates over them."""

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Any, Final

from attrs import evolve

from kafka_groups.net.clock import Clock
from kafka_groups.streams.engines.questions import TaskAnswer
from kafka_groups.streams.errors import InvalidStateStoreError
from kafka_groups.streams.state.engine import KeyedBytes
from kafka_groups.streams.state.stored_rows import FoundPage, PageOf, RowsOf

__all__ = ["FIRST_AHEAD", "LONGEST_ITERATION_S", "PAGE_ROWS", "PagedRows", "rows_of_each"]

PAGE_ROWS: Final = 1_000
"""The most rows that an iterator holds, of all tasks together.

It may hold the keys of more, without their values, if they come in another order than that of the store."""

FIRST_AHEAD, _AHEAD = 7, 127
"""The numbers of pages that are put in order together with the first page, and with later ones.

The more pages, the less often a table is read. Many iterators are read no further than their first page.
"""

LONGEST_ITERATION_S: Final = 30
"""The time after which an iterator ends: it would read other and other states of the tasks."""

AskAgain = Callable[[TaskAnswer, PageOf | RowsOf], Any]
"""Asks the task that has given an answer for another page, or for some rows, and returns what it has found."""


class PagedRows:
    """Iterates over the rows of several tasks in one order, and asks for more when it has handed out what it holds.

    Args:
        store: The name of the store, for errors.
        page: The first page, which was asked for.
        answers: The first page of each task. At least one.
        ask: Asks for more.
        order: Returns by what a row is ordered.
        clock: Tells the time.

    Attributes:
        is_empty: Whether no task has had any row.
    """

    def __init__(
        self,
        store: str,
        page: PageOf,
        answers: Sequence[TaskAnswer],
        ask: AskAgain,
        order: Callable[[KeyedBytes], Any],
        clock: Clock,
    ) -> None:
        self._store = store
        self._clock = clock
        self._until_ms = clock.now_ms() + 1_000 * LONGEST_ITERATION_S
        self._ask = ask
        self.is_empty = not any(each.found.rows for each in answers)
        limit = rows_of_each(len(answers))
        pages = [self._pages(each, page, limit) for each in answers]
        self._rows: Iterator[KeyedBytes] = merge(*pages, key=order, reverse=page.reverse)

    def __repr__(self) -> str:
        return f"<PagedRows of {self._store!r}>"

    def __iter__(self) -> Iterator[KeyedBytes]:
        return self

    def __next__(self) -> KeyedBytes:
        """Return the next row.

        Raises:
            InvalidStateStoreError: The iterator is too old, or a task has gone.
        """
        if self._clock.now_ms() >= self._until_ms:
            self.close()
            raise InvalidStateStoreError(
                f"The iterator over store {self._store!r} began {LONGEST_ITERATION_S} s ago, and ends. Ask for a "
                "smaller range, or continue with another iterator from the last key that you got."
            )
        return next(self._rows)

    def close(self) -> None:
        """Hold nothing any more, and return no more rows."""
        self._rows = iter(())

    def _pages(self, answer: TaskAnswer, page: PageOf, limit: int) -> Iterator[KeyedBytes]:
        found: FoundPage = answer.found
        answer = evolve(answer, found=None)
        # The first page was asked for before the number of tasks was known.
        rows, keys, has_more = found.rows[:limit], _behind(found, limit), found.has_more
        del found
        last = rows[-1][0] if rows else b""
        while True:
            yield from rows
            if some := tuple(islice(keys, limit)):
                rows, last = self._ask(answer, RowsOf(some)), some[-1]
            elif has_more:
                next_page: FoundPage = self._ask(answer, evolve(page, after=last, limit=limit, ahead=_AHEAD))
                rows, keys, has_more = next_page.rows, iter(next_page.following), next_page.has_more
                last = rows[-1][0] if rows else last
            else:
                return


def _behind(found: FoundPage, limit: int) -> Iterator[bytes]:
    return iter([*(row for row, _ in found.rows[limit:]), *found.following])


def rows_of_each(tasks: int) -> int:
    """Return how many rows an iterator may hold of each of so many tasks."""
    return max(PAGE_ROWS // max(tasks, 1), 1)
