"""Serdes whose bytes are JSON documents."""

from abc import abstractmethod

from attrs import frozen

from kafka_groups.serdes.serde import BoundDeserializer, Serde, T

__all__ = ["DocumentSerde"]


@frozen(repr=False)
class DocumentSerde(Serde[T]):
    """A serde whose bytes are JSON documents."""

    @abstractmethod
    def lax_deserializer(self) -> BoundDeserializer[T]:
        """Return a deserialiser that also accepts text in place of numbers and booleans: the cells of a CSV file."""
