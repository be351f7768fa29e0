"""What `process` may return: None, by which it says that the records are stored."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from kafka_groups.spark.workers.returned import ProcessResultError, check_result

RETURNED = {
    "map": "a map, which nobody iterates over",
    "filter": "a filter, which nobody iterates over",
    "generator": "a generator, which nobody iterates over",
    "coroutine": "a coroutine, which nobody awaits",
    "stream": "a async_generator, which nobody awaits",
    "future": r"a future, which may not be done or may have failed: call its result\(\)",
    "partial": "a function, which nobody calls",
    "lambda": "a function, which nobody calls",
    "False": "process returned False. Records",
    "zero": "process returned 0. Records",
    "number": "process returned 100. Records",
    "string": "process returned 'stored'. Records",
    "list": "process returned \\[1, 1, 1, 1, 1, 1, ...\\]. Records",
    "unprintable": "process returned <Unprintable instance at .*>. Records",
}


class Unprintable:
    """A value that cannot be shown."""

    def __repr__(self) -> str:
        raise ValueError("no")


def _generator() -> Iterator[int]:
    yield 1


async def _coroutine() -> None:
    pass


async def _stream() -> AsyncIterator[int]:
    yield 1


MADE: dict[str, Callable[[], Any]] = {
    "map": lambda: map(print, [1]),
    "filter": lambda: filter(None, [1]),
    "generator": _generator,
    "coroutine": _coroutine,
    "stream": _stream,
    "future": Future,
    "partial": lambda: functools.partial(print, 1),
    "lambda": lambda: lambda: None,
    "False": lambda: False,
    "zero": lambda: 0,
    "number": lambda: 100,
    "string": lambda: "stored",
    "list": lambda: [1] * 100,
    "unprintable": Unprintable,
}


def test_none_says_that_the_records_are_stored() -> None:
    check_result(None)


@pytest.mark.parametrize("what", RETURNED)
def test_whatever_else_is_returned_is_named_with_the_remedy(what: str) -> None:
    with pytest.raises(ProcessResultError, match=RETURNED[what]) as said:
        check_result(MADE[what]())
    assert "returns None when the records are stored, and raises when they are not" in str(said.value)
    assert "\n" not in str(said.value)


def test_a_future_of_an_event_loop_is_awaitable() -> None:
    async def program() -> None:
        with pytest.raises(ProcessResultError, match="a Future, which nobody awaits"):
            check_result(asyncio.get_running_loop().create_future())

    asyncio.run(program())
