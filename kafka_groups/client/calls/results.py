"""The results of a call of an admin client: a value or an error for each key."""

from collections.abc import Iterator, Mapping
from typing import Generic, Self, TypeVar

from attrs import field, frozen

from kafka_groups.errors import KafkaGroupsError

__all__ = ["Results"]

K = TypeVar("K")
V = TypeVar("V")


@frozen
class Results(Generic[K, V]):
    """A value or an error for each key that you asked for, such as a group or a partition.

    `results[key]` returns the key's value or raises its error.

    Attributes:
        values: The values of the keys that succeeded. They are None if a success has no value.
        errors: The errors of the keys that failed.
    """

    values: Mapping[K, V] = field(factory=dict)
    errors: Mapping[K, KafkaGroupsError] = field(factory=dict)

    def __getitem__(self, key: K) -> V:
        """Return the value of a key.

        Raises:
            KafkaGroupsError: The error of the key.
            KeyError: You did not ask for the key.
        """
        if key in self.errors:
            raise self.errors[key]
        return self.values[key]

    def __iter__(self) -> Iterator[K]:
        """Iterate over all keys: those that succeeded, then those that failed."""
        yield from self.values
        yield from self.errors

    def __len__(self) -> int:
        """Number of keys."""
        return len(self.values) + len(self.errors)

    def __contains__(self, key: object) -> bool:
        return key in self.values or key in self.errors

    def checked(self) -> Self:
        """Return these results if every key succeeded.

        Raises:
            KafkaGroupsError: The first error, if there is one.
        """
        for error in self.errors.values():
            raise error
        return self
