"""JSON by msgspec: dataclasses, attrs and msgspec classes, and generics of Python. The only importer of msgspec."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import attrs
import msgspec
from attrs import frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import sentences, text_of
from kafka_groups.serdes.failures import cannot_serialize, deserializer_raised, serializer_raised
from kafka_groups.serdes.serde import BoundDeserializer, BoundSerializer, DocumentSerde, Serde, T
from kafka_groups.serdes.value_types import classes_of, is_immutable_type, listed
from kafka_groups.types import Header

__all__ = ["msgspec_serde"]


@frozen(repr=False)
class MsgspecSerde(DocumentSerde[T]):
    """A serde of JSON documents for a type that msgspec knows.

    Equal keys get equal bytes by `_key_order`: "deterministic" sorts sets and dictionaries, "sorted" fields as well.
    """

    _cls: Any
    _key_order: Literal["deterministic", "sorted"]

    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[T]:
        """Return the function that serialises."""
        name, classes = self.name, classes_of(self._cls)
        refused = bool if self._cls in (int, float) else None  # JSON would have true, which is not read as a number
        encode = msgspec.json.Encoder(order=self._key_order if is_key else None).encode

        def serialize(value: T, _: list[Header]) -> bytes:
            if not isinstance(value, classes) or type(value) is refused:
                raise cannot_serialize(name, value, f"expected {listed(classes)}")
            try:
                data: bytes = encode(value)
            except Exception as error:  # hooks and properties of the user's type may raise anything
                raise serializer_raised(name, value, error) from error
            return data

        return serialize

    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[T]:
        """Return the function that deserialises and checks the types of all fields."""
        return self._decoding(msgspec.json.Decoder(self._cls).decode)

    def lax_deserializer(self) -> BoundDeserializer[T]:
        """Return the function that also accepts text for numbers and booleans."""
        return self._decoding(msgspec.json.Decoder(self._cls, strict=False).decode)

    def _decoding(self, decode: Callable[[bytes], T]) -> BoundDeserializer[T]:
        name = self.name

        def deserialize(data: bytes, _: Sequence[Header]) -> T:
            try:
                return decode(data)
            except Exception as error:  # the user's `__post_init__` may raise anything
                raise deserializer_raised(name, data, error) from error

        return deserialize


def msgspec_serde(cls: type[T], name: str) -> Serde[T]:
    """Return a serde of JSON documents for a type.

    Raises:
        ConfigurationError: msgspec does not know the type, or would not write all of its fields, and only them.
    """
    try:
        types = list(_types_within(msgspec.inspect.type_info(cls), set()))
    except Exception as error:  # whatever the user's annotations raise when they are evaluated
        raise ConfigurationError(sentences(f"{name}: {text_of(error)}", _REMEDY)) from error
    for each in types:
        if (reason := _unfit(each)) is not None:
            raise ConfigurationError(f"{name}: {reason}")
    return MsgspecSerde(name, is_immutable_type(cls), cls, "sorted" if any(map(_is_attrs, types)) else "deterministic")


_REMEDY = "Give a dataclass, an attrs, msgspec or pydantic class, or a generic of them; or write a pair for serdes.of."


def _types_within(found: Any, seen: set[int]) -> Iterator[Any]:
    """Yield msgspec's description of a type, and those of all types inside of it."""
    if isinstance(found, tuple):
        for each in found:
            yield from _types_within(each, seen)
    elif isinstance(found, msgspec.inspect.Type | msgspec.inspect.Field) and id(found) not in seen:
        seen.add(id(found))
        yield found
        for name in found.__struct_fields__:
            yield from _types_within(getattr(found, name), seen)


def _unfit(found: Any) -> str | None:
    """Return why values of a type would not come back from JSON as they were; None if they would."""
    if isinstance(found, msgspec.inspect.CustomType) and found.cls is not object:
        return f"{found.cls.__name__} has no form in JSON. {_REMEDY}"
    return _unfit_attrs(found.cls) if _is_attrs(found) else None


def _is_attrs(found: Any) -> bool:
    """Return True for an attrs class. Its fields have the order of slots or of a dictionary, and not their own."""
    return isinstance(found, msgspec.inspect.DataclassType) and attrs.has(found.cls)


def _unfit_attrs(cls: type) -> str | None:
    """Return why msgspec would not write the fields of an attrs class, and only them.

    It writes what is in the slots or the dictionary of an object, without names that begin with an underscore.
    """
    fields = {field.name for field in attrs.fields(cls)}
    if private := sorted(name for name in fields if name.startswith("_")):
        return f"the field {cls.__name__}.{private[0]} is private, and JSON would not have it. Rename it."
    if cached := sorted(_cached_properties(cls) - fields):
        return (
            f"the cached property {cls.__name__}.{cached[0]} would be written as if it was a field."
            " Use a dataclass, or an ordinary property."
        )
    return None


def _cached_properties(cls: type) -> set[str]:
    """Return the names of cached properties, which attrs makes slots of in a class with slots."""
    slots = {name for base in cls.__mro__ for name in base.__dict__.get("__slots__", ())}
    cached = {
        name
        for base in cls.__mro__
        for name, value in vars(base).items()
        if isinstance(value, functools.cached_property)
    }
    return (slots | cached) - {"__weakref__"}
