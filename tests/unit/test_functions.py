"""Functions that a program hands over: what does nothing when it is called is refused, wherever it is given."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from kafka_groups import KafkaShareConsumer
from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import check_function, idle_kind


def ordinary(value: object) -> None:
    pass


def generator(value: object) -> Iterator[object]:
    yield value


async def coroutine(value: object) -> None:
    pass


async def stream(value: object) -> AsyncIterator[object]:
    yield value


@functools.wraps(coroutine)
def wrapping(*arguments: Any) -> Any:
    return coroutine(*arguments)


class Idle:
    """An object whose call runs nothing."""

    async def __call__(self, value: object) -> None:
        pass

    def method(self, value: object) -> Iterator[object]:
        yield value


class Ordinary:
    """An object whose call does its work."""

    def __call__(self, value: object) -> None:
        pass

    def two(self, value: object, other: object) -> None:
        pass


IDLE = [
    (generator, "a generator function"),
    (coroutine, "declared with async def"),
    (stream, "declared with async def"),
    (wrapping, "declared with async def"),
    (Idle(), "declared with async def"),
    (Idle().method, "a generator function"),
    (functools.partial(generator), "a generator function"),
    (functools.partial(functools.partial(coroutine)), "declared with async def"),
]


@pytest.mark.parametrize(("function", "kind"), IDLE)
def test_a_function_whose_call_runs_nothing(function: Callable[..., object], kind: str) -> None:
    assert str(idle_kind(function)).startswith(kind)
    with pytest.raises(ConfigurationError, match=rf"^f=.* is {kind}.*: calling it does nothing; do it now$"):
        check_function("f", function, "a function", arguments=1, remedy="do it now")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (None, r"f=None is not callable: give a function"),
        (Ordinary, r"f=Ordinary is a class: calling it only makes an object; give an object, as in f=Ordinary\(…\)"),
        (functools.partial(Ordinary), "f=Ordinary is a class"),
        (Ordinary().two, r"f=.* cannot be called with one argument \(missing a required argument: 'other'\): give a"),
        (Ordinary.__call__, "cannot be called with one argument"),
        (lambda: None, r"cannot be called with one argument \(too many positional arguments\)"),
    ],
)
def test_a_function_that_does_not_fit(function: object, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_function("f", function, "a function", arguments=1, remedy="")


@pytest.mark.parametrize(
    "function",
    [ordinary, Ordinary(), functools.partial(ordinary), functools.partial(Ordinary().two, other=1), print, [].append],
)
def test_ordinary_functions_may_be_given(function: Callable[..., object]) -> None:
    assert idle_kind(function) is None
    check_function("f", function, "a function", arguments=1, remedy="")


@pytest.mark.parametrize(("function", "kind"), IDLE)
def test_no_function_of_a_consumer_may_do_nothing(function: Any, kind: str) -> None:
    with pytest.raises(ConfigurationError, match=f"value.deserializer.*it is {kind}.*give an ordinary function"):
        KafkaShareConsumer(bootstrap_servers="b:9092", group_id="g", value_deserializer=function)
    consumer = KafkaShareConsumer(bootstrap_servers="b:9092", group_id="g")
    for setter in (consumer.set_acknowledgement_callback, consumer.set_archive_callback):
        with pytest.raises(ConfigurationError, match=rf"callback=.* is {kind}.*without await"):
            setter(function)
    consumer.close()
