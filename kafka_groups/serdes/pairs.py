"""A serde of two functions, such as the serialisers of confluent-kafka."""

import inspect
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, Literal, Protocol

from attrs import frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.functions import idle_kind
from kafka_groups.serdes.contexts import DeserializationContext, SerializationContext, takes_context
from kafka_groups.serdes.failures import cannot_deserialize, cannot_serialize, deserializer_raised, serializer_raised
from kafka_groups.serdes.serde import BoundDeserializer, BoundSerializer, Serde, T
from kafka_groups.serdes.value_types import classes_of, is_immutable_type, listed, shown_type
from kafka_groups.types import Header

__all__ = ["of"]


class RegistrySerializer(Protocol):
    """A serialiser like those of confluent-kafka for schema registries."""

    def __call__(self, obj: Any, /, ctx: Any = ...) -> bytes | None:
        """Return the bytes of a value."""


class RegistryDeserializer(Protocol):
    """A deserialiser like those of confluent-kafka for schema registries."""

    def __call__(self, data: Any, /, ctx: Any = ...) -> object:
        """Return the value of bytes."""


@frozen(repr=False)
class PairSerde(Serde[T]):
    """A serde of a program's own functions; whether they take a context was decided when it was made.

    Attributes:
        classes: The classes of values.
    """

    classes: tuple[type, ...]
    _serialize: Callable[..., object]
    _deserialize: Callable[..., Any]
    _serializer_takes_context: bool
    _deserializer_takes_context: bool

    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[T]:
        """Return the function that serialises keys or values of a topic."""
        name, classes, call = self.name, self.classes, self._serializing(topic, is_key=is_key)

        def serialize(value: T, headers: list[Header]) -> bytes:
            if not isinstance(value, classes):
                raise cannot_serialize(name, value, f"expected {listed(classes)}")
            try:
                data = call(value, headers)
            except Exception as error:  # the user's function may raise anything
                raise serializer_raised(name, value, error) from error
            if isinstance(data, bytes):
                return data
            raise cannot_serialize(name, value, f"the serializer returned {type(data).__name__} and not bytes")

        return serialize

    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[T]:
        """Return the function that deserialises keys or values of a topic."""
        name, classes, call = self.name, self.classes, self._deserializing(topic, is_key=is_key)

        def deserialize(data: bytes, headers: Sequence[Header]) -> T:
            try:
                value = call(data, headers)
            except Exception as error:  # the user's function may raise anything
                raise deserializer_raised(name, data, error) from error
            if isinstance(value, classes):
                return value  # type: ignore[return-value]
            returned = type(value).__name__
            raise cannot_deserialize(name, data, f"the deserializer returned {returned} and not {listed(classes)}")

        return deserialize

    def _serializing(self, topic: str, *, is_key: bool) -> Callable[[T, list[Header]], object]:
        call, field = self._serialize, _field(is_key=is_key)
        if self._serializer_takes_context:
            return lambda value, headers: call(value, SerializationContext(topic, field, headers))
        return lambda value, _: call(value)

    def _deserializing(self, topic: str, *, is_key: bool) -> Callable[[bytes, Sequence[Header]], object]:
        call, field = self._deserialize, _field(is_key=is_key)
        if self._deserializer_takes_context:
            # A list, as confluent-kafka looks for the id of a schema in no other kind of sequence.
            return lambda data, headers: call(data, DeserializationContext(topic, field, list(headers)))
        return lambda data, _: call(data)


def of(
    cls: type[T],
    serializer: Callable[[T], bytes] | Callable[[T, SerializationContext], bytes] | RegistrySerializer,
    deserializer: Callable[[bytes], T] | Callable[[bytes, DeserializationContext], T] | RegistryDeserializer,
    *,
    name: str | None = None,
) -> Serde[T]:
    """Return a serde of two functions.

    A function with a second parameter without a default, or one called `ctx` or `context`, also receives a
    `SerializationContext` or a `DeserializationContext`: topic, field ("key" or "value") and headers. So the
    serialisers of confluent-kafka for schema registries work unchanged.

    Both functions serve all topics and tasks, and in a worker several threads at the same time, so they may not keep
    state from one call to the next. A cache that several threads may use is fine.

    Args:
        cls: The type of the values. Values of other types are refused in both directions.
        serializer: The function that turns a value into bytes. If it raises, so does the serde: a `SerializationError`
            with the exception as its cause.
        deserializer: The function that turns bytes into a value. If it raises, so does the serde: a
            `DeserializationError` with the exception as its cause.
        name: The name that errors show. By default it is made from the type.

    Raises:
        ConfigurationError: A function cannot be called like this, or does nothing when it is called (`async def`).
    """
    _check(cls, "serializer", serializer)
    _check(cls, "deserializer", deserializer)
    return PairSerde(
        name or f"serdes.of({shown_type(cls)})",
        is_immutable_type(cls),
        classes_of(cls),
        serializer,
        deserializer,
        takes_context(serializer),
        takes_context(deserializer),
    )


def _check(cls: object, parameter: str, function: object) -> None:
    """Refuse what cannot be called, and what does not do its work when it is called."""
    given = f"serdes.of({shown_type(cls)}, …): {parameter}={function!r}"
    form = "a value" if parameter == "serializer" else "bytes"
    if not callable(function):
        raise ConfigurationError(f"{given} is not callable. Give a function of {form}, and of a context if you want.")
    if (kind := idle_kind(function)) is not None or (kind := _waiting_kind(function)) is not None:
        raise ConfigurationError(f"{given} is {kind}, and calling it does nothing. Give an ordinary function.")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # functions written in C need not tell
        return
    try:
        signature.bind(*range(1 + takes_context(function)))
    except TypeError as error:
        wanted = f"Give a function of {form}, and of a context if you want."
        raise ConfigurationError(f"{given} cannot be called ({error}). {wanted}") from error


def _waiting_kind(function: object) -> str | None:
    """Return what a function is if its annotation says that the result has to be awaited."""
    try:
        returned = inspect.signature(function, eval_str=True).return_annotation  # type: ignore[arg-type]
    except (NameError, TypeError, ValueError):
        return None
    origin = typing.get_origin(returned) or returned
    is_waiting = isinstance(origin, type) and issubclass(origin, Awaitable | Coroutine | AsyncIterator)
    return "asynchronous" if is_waiting else None


def _field(*, is_key: bool) -> Literal["key", "value"]:
    return "key" if is_key else "value"
