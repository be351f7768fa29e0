"""Notes in memory that all processes of a worker share: what each slot runs.

A slot makes one note for each run of records. The parent reads the notes of a process that was killed. The other
processes read them when a record arrives that was delivered before: brokers may be quicker than the parent. Nothing is
locked. Notes that a living process is changing may be misread, which makes a suspect too many or too few.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
from uuid import UUID

from attrs import frozen

from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.dead_letter_headers import record_id
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.rules.steps import InvokeHandler
from kafka_groups.types import TopicIdPartition

__all__ = ["RANGE", "HandlerNotes", "RunningNotes", "RunningNotesLayout", "packed_range", "unpacked_range"]

_MOST_SLOTS = 1_024
"""Slots of a handler beyond this number make no notes."""
_PARTS_OF_A_SLOT = 2
_MOST_RANGES = 8
"""A slot notes at most this many partitions of one run; batches may have more."""
_COUNT = struct.Struct("<q")
RANGE = struct.Struct("<iiqq16s")
"""A range in the notes: the number of its topic, the partition, first and last offset, and the topic's id."""
_ONE = struct.Struct("<qiiqq16s")
_SLOT_BYTES = _COUNT.size + _MOST_RANGES * RANGE.size


@frozen
class RunningNotesLayout:
    """The places of all slots in the notes of a process. Parent and child compute it from the same handlers.

    Attributes:
        handlers: Name, number of slots and topics of each handler, in the order of their declaration. Its retry topics
            are among them, as the same slots run their records.
    """

    handlers: tuple[tuple[str, int, tuple[str, ...]], ...]

    @classmethod
    def of(cls, specs: Sequence[HandlerSpec]) -> "RunningNotesLayout":
        """Return the layout for some handlers."""
        return cls(tuple((spec.name, min(spec.concurrency, _MOST_SLOTS), _topics_of(spec)) for spec in specs))

    @property
    def size(self) -> int:
        """The size of the notes of a process in bytes."""
        return _SLOT_BYTES * sum(slots for _, slots, _ in self.handlers)

    @property
    def topics(self) -> Sequence[str]:
        """The topics of all handlers. Notes have their numbers in this list."""
        return [topic for _, _, topics in self.handlers for topic in topics]

    @property
    def names_and_topics(self) -> Sequence[tuple[str, tuple[str, ...]]]:
        """Name and topics of each handler, which tell handlers from others."""
        return [(name, topics) for name, _, topics in self.handlers]

    def notes_for(self, name: str, memory: memoryview) -> "HandlerNotes":
        """Return the notes that the slots of a handler write."""
        first = 0
        for handler, slots, _ in self.handlers:
            if handler == name:
                numbers = {topic: number for number, topic in enumerate(self.topics)}
                return HandlerNotes(memory[first * _SLOT_BYTES : (first + slots) * _SLOT_BYTES], numbers)
            first += slots
        raise KeyError(name)

    def read(self, memory: memoryview) -> list[RunningRange]:
        """Return what the slots of a process were running when they made their last notes."""
        topics = self.topics
        counts = memory.cast("q")[:: _SLOT_BYTES // _COUNT.size].tolist()  # of all slots at once: most are idle
        busy = (slot for slot, count in enumerate(counts) if count)
        return [found for slot in busy for found in _read_slot(memory, slot * _SLOT_BYTES, topics)]


def _topics_of(spec: HandlerSpec) -> tuple[str, ...]:
    return spec.topics if spec.retry_topics is None else (*spec.topics, *spec.retry_topics.names)


def _read_slot(memory: memoryview, start: int, topics: Sequence[str]) -> Iterator[RunningRange]:
    (count,) = _COUNT.unpack_from(memory, start)
    for number in range(min(count, _MOST_RANGES)):
        found = unpacked_range(memory, start + _COUNT.size + number * RANGE.size, topics)
        if found is not None:
            yield found


def packed_range(found: RunningRange, numbers: Mapping[str, int]) -> bytes:
    """Return the bytes of a range, given the number of each topic."""
    partition = found.partition
    number = numbers[partition.topic or ""]
    return RANGE.pack(number, partition.partition, found.first, found.last, partition.topic_id.bytes)


def unpacked_range(data: bytes | memoryview, start: int, topics: Sequence[str]) -> RunningRange | None:
    """Return a range; None if a process was just writing it, so that it names no topic."""
    topic, partition, first, last, topic_id = RANGE.unpack_from(data, start)
    if not 0 <= topic < len(topics):
        return None
    return RunningRange(TopicIdPartition(UUID(bytes=topic_id), partition, topics[topic]), first, last)


class RunningNotes:
    """The notes of all processes of a worker.

    Each slot of a process has two parts of the memory, which its processes use in turn. So the notes of one that was
    killed stay until its second successor begins.

    Args:
        layout: The layout of a part.
        memory: All parts, in an array or another buffer of bytes.

    Attributes:
        memory: The same.
    """

    def __init__(self, layout: RunningNotesLayout, memory: Any) -> None:
        self._layout = layout
        self.memory = memory
        self._bytes = memoryview(memory).cast("B")

    @staticmethod
    def size(layout: RunningNotesLayout, processes: int) -> int:
        """Return the size in bytes of the memory for some processes at a time."""
        return _PARTS_OF_A_SLOT * processes * layout.size

    @property
    def processes(self) -> int:
        """The number of processes at a time."""
        return self._parts // _PARTS_OF_A_SLOT

    @property
    def _parts(self) -> int:
        return len(self._bytes) // max(1, self._layout.size)

    @staticmethod
    def next_part(slot: int, part: int | None) -> int:
        """Return the part for the next process of a slot.

        Args:
            slot: The number of the slot, from 0.
            part: The part that its last process had, or None.
        """
        first = _PARTS_OF_A_SLOT * slot
        return first if part is None else first + (part - first + 1) % _PARTS_OF_A_SLOT

    def clear(self, part: int) -> None:
        """Remove the notes of a part, which a new process will have."""
        self._part(part)[:] = bytes(self._layout.size)

    def clear_all(self) -> None:
        """Remove all notes."""
        for part in range(self._parts):
            self.clear(part)

    def read_all(self) -> list[RunningRange]:
        """Return what all processes run, or were running when they died."""
        return [each for part in range(self._parts) for each in self.read(part)]

    def notes_for(self, part: int, name: str) -> "HandlerNotes":
        """Return the notes that the slots of a handler write."""
        return self._layout.notes_for(name, self._part(part))

    def read(self, part: int) -> list[RunningRange]:
        """Return what a process runs, or was running when it died."""
        return self._layout.read(self._part(part))

    def others(self, own: int, partition: TopicIdPartition, first: int, last: int) -> list[RunningRange]:
        """Return the runs of other processes, or of their predecessors, that have some of these offsets.

        Args:
            own: The part of the process that asks.
            partition: The partition.
            first: The first offset.
            last: The last offset.
        """
        found = chain.from_iterable(self.read(part) for part in range(self._parts) if part != own)
        return [each for each in found if each.has_any(partition, first, last)]

    def _part(self, part: int) -> memoryview:
        size = self._layout.size
        return self._bytes[part * size : (part + 1) * size]


class HandlerNotes:
    """The notes of one handler's slots. Each slot has a number and writes its own notes.

    Args:
        memory: The memory of these slots.
        topics: The number of each topic.
    """

    def __init__(self, memory: memoryview, topics: Mapping[str, int]) -> None:
        self._memory = memory
        self._topics = topics
        self.slots = len(memory) // _SLOT_BYTES

    def began(self, slot: int, run: InvokeHandler[AnyRecord]) -> None:
        """Note that a slot begins a run."""
        records = run.records
        if slot >= self.slots or not records:  # the driver may have taken all of them back
            return
        partition, first = record_id(records[0])
        # There are three cases. Fresh records are of one delivery, so one range covers them. A single record is a range
        # of its own. Others may be of several partitions.
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
        for partition, offset in map(record_id, records):
            first, last = ends.get(partition, (offset, offset))
            ends[partition] = min(first, offset), max(last, offset)
        noted = list(ends.items())[:_MOST_RANGES]
        for number, (partition, (first, last)) in enumerate(noted):
            RANGE.pack_into(
                self._memory, start + _COUNT.size + number * RANGE.size, *self._packed(partition, first, last)
            )
        # The count is last. If the process is killed before, the slot counts as idle instead of naming what it never
        # ran.
        _COUNT.pack_into(self._memory, start, len(noted))

    def _packed(self, partition: TopicIdPartition, first: int, last: int) -> tuple[Any, ...]:
        number = self._topics[partition.topic or ""]
        return number, partition.partition, first, last, partition.topic_id.bytes
