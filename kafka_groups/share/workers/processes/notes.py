"""Notes in shared memory of what each slot of a process runs, for the parent to read when the process was killed.

A slot makes one note for each run of records. The parent reads only after the process has died, so nothing is locked.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from attrs import frozen

from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.dead_letters import place_of
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.rules.steps import RecordRun
from kafka_groups.types import TopicIdPartition

__all__ = ["NotesLayout", "SlotNotes"]

_MOST_SLOTS = 1_024
"""Slots of a handler beyond this number make no notes."""
_MOST_RANGES = 8
"""A slot notes at most this many partitions of one run; batches may have more."""
_COUNT = struct.Struct("<q")
_RANGE = struct.Struct("<iiqq16s")
_ONE = struct.Struct("<qiiqq16s")
_SLOT_BYTES = _COUNT.size + _MOST_RANGES * _RANGE.size


@frozen
class NotesLayout:
    """The places of all slots in the shared memory. Parent and child compute it from the same handlers.

    Attributes:
        handlers: Name, number of slots and topics of each handler, in the order of their declaration.
    """

    handlers: tuple[tuple[str, int, tuple[str, ...]], ...]

    @classmethod
    def of(cls, specs: Sequence[HandlerSpec]) -> "NotesLayout":
        """Return the layout for some handlers."""
        return cls(tuple((spec.name, min(spec.concurrency, _MOST_SLOTS), spec.topics) for spec in specs))

    @property
    def size(self) -> int:
        """The size of the shared memory in bytes."""
        return _SLOT_BYTES * sum(slots for _, slots, _ in self.handlers)

    @property
    def _topics(self) -> Sequence[str]:
        return [topic for _, _, topics in self.handlers for topic in topics]

    def notes_for(self, name: str, memory: memoryview) -> "SlotNotes":
        """Return the notes that the slots of a handler write."""
        first = 0
        for handler, slots, _ in self.handlers:
            if handler == name:
                numbers = {topic: number for number, topic in enumerate(self._topics)}
                return SlotNotes(memory[first * _SLOT_BYTES : (first + slots) * _SLOT_BYTES], numbers)
            first += slots
        raise KeyError(name)

    def read(self, memory: memoryview) -> list[RunningRange]:
        """Return what the slots of a process that has died were running."""
        topics = self._topics
        return [found for start in range(0, self.size, _SLOT_BYTES) for found in _read_slot(memory, start, topics)]


def _read_slot(memory: memoryview, start: int, topics: Sequence[str]) -> Iterator[RunningRange]:
    (count,) = _COUNT.unpack_from(memory, start)
    for number in range(count):
        topic, partition, first, last, topic_id = _RANGE.unpack_from(memory, start + _COUNT.size + number * _RANGE.size)
        yield RunningRange(TopicIdPartition(UUID(bytes=topic_id), partition, topics[topic]), first, last)


class SlotNotes:
    """The notes of one handler's slots. Each slot has a number and writes its own notes.

    Args:
        memory: The memory of these slots.
        topics: The number of each topic.
    """

    def __init__(self, memory: memoryview, topics: Mapping[str, int]) -> None:
        self._memory = memory
        self._topics = topics
        self.slots = len(memory) // _SLOT_BYTES

    def began(self, slot: int, run: RecordRun[AnyRecord]) -> None:
        """Note that a slot begins a run."""
        records = run.records
        if slot >= self.slots or not records:  # the driver may have taken all of them back
            return
        partition, first = place_of(records[0])
        if run.opened is None and not run.is_batch:  # of one delivery
            _ONE.pack_into(self._memory, slot * _SLOT_BYTES, 1, *self._packed(partition, first, records[-1].offset))
        elif len(records) == 1:
            _ONE.pack_into(self._memory, slot * _SLOT_BYTES, 1, *self._packed(partition, first, first))
        else:
            self._began_several(slot * _SLOT_BYTES, records)

    def ended(self, slot: int) -> None:
        """Note that a slot is idle."""
        if slot < self.slots:
            _COUNT.pack_into(self._memory, slot * _SLOT_BYTES, 0)

    def _began_several(self, start: int, records: Sequence[AnyRecord]) -> None:
        ends: dict[TopicIdPartition, tuple[int, int]] = {}
        for partition, offset in map(place_of, records):
            first, last = ends.get(partition, (offset, offset))
            ends[partition] = min(first, offset), max(last, offset)
        noted = list(ends.items())[:_MOST_RANGES]
        for number, (partition, (first, last)) in enumerate(noted):
            _RANGE.pack_into(
                self._memory, start + _COUNT.size + number * _RANGE.size, *self._packed(partition, first, last)
            )
        _COUNT.pack_into(self._memory, start, len(noted))

    def _packed(self, partition: TopicIdPartition, first: int, last: int) -> tuple[Any, ...]:
        number = self._topics[partition.topic or ""]
        return number, partition.partition, first, last, partition.topic_id.bytes
