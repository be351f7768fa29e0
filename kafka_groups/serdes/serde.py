"""A serde: how keys or values of one type become bytes, and come back."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast

from attrs import evolve, field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.types import Header

__all__ = ["BoundDeserializer", "BoundSerializer", "DocumentSerde", "Serde", "check_serde", "nullable"]

T = TypeVar("T")

BoundSerializer = Callable[[T, list[Header]], bytes]
"""Turns a value into bytes. It may append to the headers of the record that will be written."""

BoundDeserializer = Callable[[bytes, Sequence[Header]], T]
"""Turns bytes into a value. It may read the record's headers, and does not change them."""


@frozen(repr=False)
class Serde(ABC, Generic[T]):
    """Serialises and deserialises keys or values of one type. A serde is immutable.

    One serde serves all topics and tasks, and in a worker several threads at the same time. So do the functions that it
    returns, which may be the same for all topics: neither may keep state from one call to the next.

    A serde is never asked about None: callers write it as null, and read null as None.

    Attributes:
        name: The name that errors show, such as "serdes.int64".
        is_immutable: Whether no value of the type can change. Stores keep such values as objects, others as bytes.
        is_nullable: Whether the program expects null, too (see `nullable`).
    """

    name: str
    is_immutable: bool
    is_nullable: bool = field(default=False, kw_only=True, eq=False)

    @abstractmethod
    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[T]:
        """Return the function that serialises keys or values of a topic.

        The function raises `SerializationError` if it is given a value that does not fit.
        """

    @abstractmethod
    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[T]:
        """Return the function that deserialises keys or values of a topic.

        The function raises `DeserializationError` if the bytes are not a value of the type.
        """

    def __repr__(self) -> str:
        return self.name


@frozen(repr=False)
class DocumentSerde(Serde[T]):
    """A serde whose bytes are JSON documents."""

    @abstractmethod
    def lax_deserializer(self) -> BoundDeserializer[T]:
        """Return a deserialiser that also accepts text in place of numbers and booleans: the cells of a CSV file."""


def nullable(serde: Serde[T]) -> Serde[T | None]:
    """Return the same serde with None in its type, for keys or values that may be null.

    Raises:
        ConfigurationError: It is not a serde.
    """
    check_serde("nullable", "serde", serde)
    return cast("Serde[T | None]", evolve(serde, is_nullable=True))


def check_serde(function: str, parameter: str, given: object) -> None:
    """Refuse an argument that is not a serde."""
    if not isinstance(given, Serde):
        raise ConfigurationError(
            f"serdes.{function}: {parameter}={given!r} is not a serde. Give one, such as serdes.string."
        )
