"""Functions that a program hands over: what does nothing when it is called is refused, wherever it is given."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from kafka_groups import KafkaShareConsumer
from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import check_function, has_wrong_arguments, idle_kind


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


def wrong_inside() -> None:
    ordinary()  # type: ignore[call-arg]


def called_by_the_package(function: Callable[..., object], *arguments: object) -> Exception:
    """The error of a call that a module of the package makes."""
    code = compile("function(*arguments)", "operators.py", "exec")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of any class
        exec(code, {"__name__": "kafka_groups.operators", "function": function, "arguments": arguments})
    return raised.value


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(ordinary, (1, 2)), (ordinary, ()), (Ordinary().two, (1,)), (len, ("a", "b")), ("".join, ()), (int, (1, 2, 3))],
)
def test_a_call_with_a_wrong_number_of_arguments_is_a_mistake_of_the_program(
    function: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    assert has_wrong_arguments(called_by_the_package(function, *arguments))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(int, (None,)), (int, ("x",)), (len, (None,)), (wrong_inside, ())],
)
def test_other_errors_may_be_about_a_value(function: Callable[..., object], arguments: tuple[object, ...]) -> None:
    assert not has_wrong_arguments(called_by_the_package(function, *arguments))
