"""Serdes of JSON documents: by msgspec, or by the methods of pydantic's models."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from kafka_groups.serdes.failures import cannot_serialize, deserializer_raised, serializer_raised
from kafka_groups.serdes.serde import BoundDeserializer, BoundSerializer, DocumentSerde, Serde, T
from kafka_groups.serdes.value_types import is_immutable_type, shown_type
from kafka_groups.types import Header

__all__ = ["json"]


@frozen(repr=False)
class ModelSerde(DocumentSerde[T]):
    """A serde of JSON documents for a pydantic model, by the model's own methods."""

    _cls: Any

    def serializer(self, topic: str, *, is_key: bool) -> BoundSerializer[T]:
        """Return the function that serialises."""
        name, cls = self.name, self._cls

        def serialize(value: T, _: list[Header]) -> bytes:
            if not isinstance(value, cls):
                raise cannot_serialize(name, value, f"expected {cls.__name__}")
            try:
                text: str = value.model_dump_json(by_alias=True, round_trip=True, warnings="error")
            except Exception as error:  # validators and serialisers of the user's model may raise anything
                raise serializer_raised(name, value, error) from error
            return text.encode()

        return serialize

    def deserializer(self, topic: str, *, is_key: bool) -> BoundDeserializer[T]:
        """Return the function that deserialises and validates."""
        return self._validating(self._cls.model_validate_json)

    def lax_deserializer(self) -> BoundDeserializer[T]:
        """Return the function that also accepts text for numbers and booleans, even if the model is strict."""
        return self._validating(functools.partial(self._cls.model_validate_json, strict=False))

    def _validating(self, validate: Callable[[bytes], T]) -> BoundDeserializer[T]:
        name = self.name

        def deserialize(data: bytes, _: Sequence[Header]) -> T:
            try:
                return validate(data)
            except Exception as error:  # validators and serialisers of the user's model may raise anything
                raise deserializer_raised(name, data, error) from error

        return deserialize


def json(cls: type[T]) -> Serde[T]:
    """Return a serde of JSON documents for a type.

    Reading checks the types of all fields. Writing checks the class of the value alone.

    Equal keys have equal bytes: fields have the order of the class, and dictionaries and sets are sorted. If there are
    attrs classes in the type, all fields are sorted, too. Only in pydantic's models dictionaries and sets are not.

    Args:
        cls: A dataclass, an attrs or msgspec class, a generic such as `list[Order]` or `dict[str, int]`, or a pydantic
            model (version 2.7 or newer), which uses its own methods and aliases.

    Raises:
        ConfigurationError: Values of the type cannot be written as JSON and read again.
        ModuleNotFoundError: msgspec is not installed, and the class is not a pydantic model.
    """
    name = f"serdes.json({shown_type(cls)})"
    if hasattr(cls, "model_validate_json") and hasattr(cls, "model_dump_json"):
        return ModelSerde(name, is_immutable_type(cls), cls)
    try:
        from kafka_groups.serdes.json_msgspec import msgspec_serde  # noqa: PLC0415 - msgspec belongs to an extra
    except ModuleNotFoundError as error:
        if error.name != "msgspec":
            raise
        raise ModuleNotFoundError(
            f"{name} needs msgspec, which is not installed: run pip install '.[json]' in the checkout of"
            " kafka-groups, or install its wheel with [json]",
            name="msgspec",
        ) from error
    return msgspec_serde(cls, name)
