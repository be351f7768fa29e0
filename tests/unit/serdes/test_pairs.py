"""A serde of two functions: how they are called, what is refused at once, and what their exceptions become."""

import functools
import json
import operator
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, cast

import pytest
from attrs import frozen

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError, DeserializationError, SerializationError
from kafka_groups.serdes import DeserializationContext, SerializationContext
from kafka_groups.types import Header
from tests.unit.serdes.calling import read, write


@frozen
class Celsius:
    degrees: int


def encode(value: Celsius) -> bytes:
    return str(value.degrees).encode()


def decode(data: bytes) -> Celsius:
    return Celsius(int(data))


def encode_with_schema(value: Celsius, ctx: SerializationContext) -> bytes:
    ctx.headers.append(("schema", ctx.topic.encode()))
    return encode(value)


def decode_with_schema(data: bytes, ctx: DeserializationContext) -> Celsius:
    assert list(ctx.headers) == [("schema", ctx.topic.encode())]
    return decode(data)


CELSIUS = serdes.of(Celsius, encode, decode)


def test_functions_of_one_argument_get_the_value() -> None:
    assert write(CELSIUS, Celsius(20)) == b"20"
    assert read(CELSIUS, b"-3") == Celsius(-3)
    assert (CELSIUS.name, CELSIUS.is_immutable) == ("serdes.of(Celsius)", True)


def test_functions_of_two_arguments_get_a_context_too() -> None:
    serde = serdes.of(Celsius, encode_with_schema, decode_with_schema)
    headers: list[Header] = []
    assert write(serde, Celsius(20), headers) == b"20"
    assert headers == [("schema", b"t")]
    assert read(serde, b"20", headers) == Celsius(20)


@pytest.mark.parametrize(("is_key", "field"), [(True, "key"), (False, "value")])
def test_the_context_says_whether_it_is_a_key(*, is_key: bool, field: str) -> None:
    seen: list[str] = []

    def noting(data: bytes, context: DeserializationContext) -> int:
        seen.append(context.field)
        return 1

    read(serdes.of(int, str.encode, noting), b"", is_key=is_key)  # type: ignore[arg-type]
    assert seen == [field]


def test_a_second_parameter_with_a_default_keeps_it() -> None:
    serde = serdes.of(str, str.encode, bytes.decode)
    assert read(serde, write(serde, "ü")) == "ü"


def test_types_and_functions_written_in_c_may_be_given() -> None:
    serde = serdes.of(list, bytes, list)
    assert read(serde, write(serde, [1, 2])) == [1, 2]
    assert not serde.is_immutable


def test_methods_and_partials_may_be_given() -> None:
    dump = functools.partial(json.dumps, sort_keys=True)
    serde = serdes.of(dict, lambda value: dump(value).encode(), json.loads, name="sorted JSON")
    assert write(serde, {"b": 1, "a": 2}) == b'{"a": 2, "b": 1}'
    with pytest.raises(DeserializationError, match="sorted JSON cannot deserialise"):
        read(serde, b"{")


def test_values_of_another_type_are_refused_before_the_function_sees_them() -> None:
    with pytest.raises(SerializationError, match=r"serdes.of\(Celsius\) cannot serialise 20 \(int\): expected Celsius"):
        write(CELSIUS, 20)  # type: ignore[misc]


def test_what_the_functions_return_is_checked() -> None:
    degrees: Any = operator.attrgetter("degrees")
    wrong = serdes.of(Celsius, degrees, cast("Any", int))
    with pytest.raises(SerializationError, match="the serializer returned int and not bytes"):
        write(wrong, Celsius(20))
    with pytest.raises(DeserializationError, match="the deserializer returned int and not Celsius"):
        read(wrong, b"20")


def test_exceptions_of_the_functions_are_the_cause() -> None:
    with pytest.raises(DeserializationError, match=r"b'x' \(1 byte\): ValueError: invalid") as raised:
        read(CELSIUS, b"x")
    assert isinstance(raised.value.__cause__, ValueError)

    def refuse(value: Celsius) -> bytes:
        raise LookupError("no schema")

    with pytest.raises(SerializationError, match=r"Celsius\(degrees=20\) \(Celsius\): LookupError: no schema") as wrote:
        write(serdes.of(Celsius, refuse, decode), Celsius(20))
    assert isinstance(wrote.value.__cause__, LookupError)


@pytest.mark.parametrize(
    ("error", "retriable"), [(ConnectionRefusedError(), True), (TimeoutError(), True), (ValueError(), False)]
)
@pytest.mark.parametrize("depth", [0, 2])
def test_errors_of_the_network_may_pass(error: Exception, depth: int, *, retriable: bool) -> None:
    def fail(value: object) -> Any:
        raised = error
        for _ in range(depth):
            wrapper = RuntimeError("registry")
            wrapper.__cause__ = raised
            raised = wrapper
        raise raised

    serde = serdes.of(Celsius, fail, fail)
    with pytest.raises(SerializationError) as wrote:
        write(serde, Celsius(1))
    with pytest.raises(DeserializationError) as refused:
        read(serde, b"")
    assert (wrote.value.retriable, refused.value.retriable) == (retriable, retriable)
    assert not DeserializationError.retriable


@pytest.mark.parametrize(("behind", "retriable"), [(ConnectionRefusedError(), True), (LookupError(), False)])
def test_an_error_that_is_its_own_cause_is_judged_by_what_was_handled(behind: Exception, *, retriable: bool) -> None:
    def fail(value: object) -> Any:
        try:
            raise behind
        except Exception:
            try:
                raise ValueError("registry")
            except ValueError as error:
                raise error from error

    with pytest.raises(DeserializationError) as refused:
        read(serdes.of(Celsius, fail, fail), b"")
    assert refused.value.retriable is retriable


def test_pairs_of_the_same_functions_are_equal() -> None:
    assert serdes.of(Celsius, encode, decode) == CELSIUS
    assert serdes.of(Celsius, encode_with_schema, decode) != CELSIUS


async def encode_later(value: Celsius) -> bytes:
    return b""


def encode_in_pieces(value: Celsius) -> Iterator[bytes]:
    yield b""


async def encode_in_pieces_later(value: Celsius) -> AsyncIterator[bytes]:
    yield b""


class Client:
    """Like confluent-kafka's asynchronous serialisers: an ordinary method that returns a coroutine."""

    def __call__(self, obj: object, ctx: object = None) -> Coroutine[Any, Any, bytes | None]:
        return self.called()

    async def called(self) -> bytes:
        return b""


def nothing() -> bytes:
    return b""


def of_three(value: Celsius, topic: str, headers: list[Header]) -> bytes:
    return b""


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (None, "serdes.of(Celsius, …): serializer=None is not callable"),
        (b"abc", "serializer=b'abc' is not callable"),
        (encode_later, "is declared with async def, and calling it does nothing. Give an ordinary function"),
        (encode_in_pieces, "is a generator function (it contains yield)"),
        (encode_in_pieces_later, "is declared with async def"),
        (Client(), "is asynchronous, and calling it does nothing"),
        (nothing, "cannot be called (too many positional arguments). Give a function of a value"),
        (of_three, "cannot be called (missing a required argument: 'headers')"),
    ],
)
def test_functions_that_cannot_work_are_refused_at_once(function: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        serdes.of(Celsius, function, decode)
    assert reason in str(raised.value)
    with pytest.raises(ConfigurationError, match="deserializer="):
        serdes.of(Celsius, encode, function)


class WithoutTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("error", [WithoutTextError(), ValueError(1_000_000 * "x")], ids=["no text", "long text"])
def test_the_text_of_an_error_is_safe_and_short(error: Exception) -> None:
    def fail(_given: object) -> Any:
        raise error

    serde = serdes.of(str, fail, fail)
    with pytest.raises(DeserializationError) as reading:
        serde.deserializer("t", is_key=False)(b"x", ())
    with pytest.raises(SerializationError) as writing:
        serde.serializer("t", is_key=False)("x", [])
    for raised in (reading, writing):
        assert type(error).__name__ in str(raised.value)
        assert len(str(raised.value)) < 2_200
