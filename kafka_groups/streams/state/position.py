"""Positions of stores: the input records whose changes they have."""

from collections.abc import Iterable, Mapping
from struct import Struct
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from kafka_groups.streams.state.engine import Notes
from kafka_groups.types import TopicPartition

__all__ = ["Position", "input_notes", "inputs_in", "position_of"]

_PREFIX: Final = "#input-"
_OFFSET: Final = Struct(">q")

Offsets = Mapping[str, Mapping[int, int]]


def _frozen(offsets: Offsets) -> Offsets:
    """Return a copy that nobody changes.

    Raises:
        TypeError: A topic, partition or offset has another type.
        ValueError: A partition or an offset is negative.
    """
    if not isinstance(offsets, Mapping):
        raise TypeError(f"Position({offsets!r}): give a mapping of topics, such as {{'orders': {{0: 41}}}}.")
    return MappingProxyType({topic: _of_topic(topic, given) for topic, given in offsets.items()})


def _of_topic(topic: object, given: object) -> Mapping[int, int]:
    if not isinstance(topic, str) or not isinstance(given, Mapping):
        raise TypeError(f"Position: {topic!r}: {given!r} is not a topic with its offsets, such as 'orders': {{0: 41}}.")
    for number in (*given.keys(), *given.values()):
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"Position: {number!r} of topic {topic!r} is not a partition or an offset. Give an int.")
        if number < 0:
            raise ValueError(f"Position: {number} of topic {topic!r} is negative. Partitions and offsets begin at 0.")
    return MappingProxyType(dict(given))


@frozen
class Position:
    """The input offsets that a store has reached, as in KIP-796.

    An offset is that of a record: the store has the changes of this record and of all before it. So the offset that a
    producer got for its record is the position from which on a store knows the record.

    Attributes:
        offsets: By topic and partition, the offset of the last record. A partition of which nothing was processed is
            missing.
    """

    offsets: Offsets = field(factory=dict, converter=_frozen, hash=False)

    def __reduce__(self) -> tuple[type["Position"], tuple[dict[str, dict[int, int]]]]:
        return Position, ({topic: dict(found) for topic, found in self.offsets.items()},)

    def at(self, topic: str, partition: int) -> int | None:
        """Return the offset of a partition; None if nothing of it was processed."""
        return self.offsets.get(topic, {}).get(partition)


def input_notes(offsets: Mapping[TopicPartition, int]) -> Notes:
    """Return the offsets of the next records of inputs as an engine keeps them."""
    return {f"{_PREFIX}{place.partition}-{place.topic}": _OFFSET.pack(offset) for place, offset in offsets.items()}


def inputs_in(notes: Notes) -> dict[TopicPartition, int]:
    """Return the offsets of the next records of the inputs that an engine knows."""
    found = ((name.removeprefix(_PREFIX), value) for name, value in notes.items() if name.startswith(_PREFIX))
    split = ((*name.partition("-"), value) for name, value in found)
    return {TopicPartition(topic, int(number)): _OFFSET.unpack(value)[0] for number, _, topic, value in split}


def position_of(inputs: Iterable[tuple[TopicPartition, int]]) -> Position:
    """Return the position of a store by the offsets of the next records of its inputs."""
    found: dict[str, dict[int, int]] = {}
    for place, offset in inputs:
        if offset:
            found.setdefault(place.topic, {})[place.partition] = offset - 1
    return Position(found)
