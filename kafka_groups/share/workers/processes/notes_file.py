"""The file with the notes of a worker, which its successor reads.

It begins with a description: the group, the handlers and the number of parts, with a checksum. Then come the suspects
that the worker knows, and from a multiple of 64 KiB on the notes themselves, which the processes write through a
mapping. So nothing is written to the file when a process is killed: the notes are there.
"""

import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any, Self

from attrs import frozen

from kafka_groups.share.workers.processes.notes import (
    RANGE,
    RunningNotes,
    RunningNotesLayout,
    packed_range,
    unpacked_range,
)
from kafka_groups.share.workers.rules.named_suspects import MOST_NAMED, RunningRange

__all__ = ["NotesFile", "NotesMapping", "NotesOwner", "UnusableNotesError", "read_notes"]

_MAGIC = b"kafka-groups notes\n"
_VERSION = 1
_START = struct.Struct(f"<{len(_MAGIC)}sII")
_CHECKSUM = struct.Struct("<I")
_COUNT = struct.Struct("<q")
_SUSPECT_BYTES = _COUNT.size + MOST_NAMED * RANGE.size
_ALIGNMENT = 65_536
"""Mappings begin at a multiple of the machine's page size, which divides this one."""
_MOST_DESCRIBED = 1 << 24
_PORTION = 1 << 20


class UnusableNotesError(Exception):
    """The notes are not those of a predecessor, or were not written as a whole. The text says why."""


@frozen
class NotesOwner:
    """The worker that a file belongs to.

    Attributes:
        group_id: Its group.
        layout: The layout of a part of the notes.
        parts: How many parts there are.
    """

    group_id: str
    layout: RunningNotesLayout
    parts: int

    @property
    def size(self) -> int:
        """The size of all parts in bytes."""
        return self.parts * self.layout.size

    def encoded(self) -> bytes:
        """Return the beginning of the file."""
        described = {"group": self.group_id, "handlers": self.layout.handlers, "parts": self.parts}
        text = json.dumps(described).encode()
        data = _START.pack(_MAGIC, _VERSION, len(text)) + text
        return data + _CHECKSUM.pack(zlib.crc32(data))

    @classmethod
    def decoded(cls, data: bytes) -> tuple[Self, int]:
        """Return the owner of a file, and the length of its description.

        Raises:
            UnusableNotesError: The description is damaged, or of another version.
        """
        if len(data) < _START.size:
            raise UnusableNotesError("they are incomplete")
        magic, version, length = _START.unpack_from(data)
        if magic != _MAGIC:
            raise UnusableNotesError("they are damaged")
        # The version is looked at before the checksum, which another version may compute differently.
        if version != _VERSION:
            raise UnusableNotesError(f"they are of version {version}, and this release reads version {_VERSION}")
        end = _START.size + length
        if len(data) < end + _CHECKSUM.size:
            raise UnusableNotesError("they are incomplete")
        if _CHECKSUM.unpack_from(data, end) != (zlib.crc32(data[:end]),):
            raise UnusableNotesError("they are damaged")
        found = json.loads(data[_START.size : end])
        layout = RunningNotesLayout(tuple((name, slots, tuple(topics)) for name, slots, topics in found["handlers"]))
        return cls(found["group"], layout, found["parts"]), end + _CHECKSUM.size

    def check_precedes(self, other: "NotesOwner") -> None:
        """Check that another worker may use these notes: it has the same handlers. Their concurrency may differ.

        Raises:
            UnusableNotesError: It is a worker of another group, or has other handlers.
        """
        if self.group_id != other.group_id:
            raise UnusableNotesError(f"they are of a worker of the group {self.group_id!r}")
        # Notes have numbers of topics, which mean others if the handlers differ. Another concurrency only moves the
        # slots, and the description in the file says where they were.
        if self.layout.names_and_topics != other.layout.names_and_topics:
            raise UnusableNotesError("they are of a worker with other handlers or topics")


def _notes_start(description: int) -> int:
    """Return where the notes begin, after a description of some length and the suspects."""
    return -(-(description + _SUSPECT_BYTES) // _ALIGNMENT) * _ALIGNMENT


def read_notes(path: Path, reader: NotesOwner) -> list[RunningRange]:
    """Return the suspects that a worker leaves to its successor: what it was running last, after those that it knew.

    Args:
        path: The file.
        reader: The successor.

    Raises:
        FileNotFoundError: There is no file.
        UnusableNotesError: The file is incomplete, damaged, of another version or of another worker.
    """
    with path.open("rb") as file:
        owner, length = NotesOwner.decoded(file.read(_MOST_DESCRIBED))
        owner.check_precedes(reader)
        start = _notes_start(length)
        if os.fstat(file.fileno()).st_size != start + owner.size:
            raise UnusableNotesError("they are incomplete")
        file.seek(length)
        known = file.read(_SUSPECT_BYTES)
        file.seek(start)
        notes = RunningNotes(owner.layout, file.read(owner.size))
    return [*_read_suspects(known, owner.layout.topics), *notes.read_all()]


def _read_suspects(data: bytes, topics: Sequence[str]) -> list[RunningRange]:
    (count,) = _COUNT.unpack_from(data)
    starts = (_COUNT.size + number * RANGE.size for number in range(min(count, MOST_NAMED)))
    found = (unpacked_range(data, start, topics) for start in starts)
    return [each for each in found if each is not None]


class NotesMapping(mmap.mmap):
    """The notes of a file in memory. It can be sent to processes that this one spawns, which share it.

    Args:
        file: The descriptor of the file, which stays open while processes are spawned.
        size: The size of the notes.
        start: Where they begin in the file.
    """

    _source: tuple[int, int, int]

    def __new__(cls, file: int, size: int, start: int) -> Self:
        """Map the notes."""
        made = super().__new__(cls, file, size, offset=start)
        made._source = file, size, start
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        file, size, start = self._source
        return _mapped, (DupFd(file), size, start)


def _mapped(duplicate: Any, size: int, start: int) -> NotesMapping:
    file = duplicate.detach()
    try:
        return NotesMapping(file, size, start)
    finally:
        os.close(file)  # the mapping has a descriptor of its own


class NotesFile:
    """A new file for the notes of a worker, which replaces that of its predecessor as a whole.

    All of it is written: space that a disk lacks is an error now, and not a signal when a slot notes its first run.

    Args:
        path: The file.
        owner: The worker.
        suspects: What the worker takes over from its predecessors, so that its own end does not forget them.

    Raises:
        OSError: The file cannot be written.

    Attributes:
        memory: The notes.
    """

    def __init__(self, path: Path, owner: NotesOwner, suspects: Iterable[RunningRange]) -> None:
        self._topics = {topic: number for number, topic in enumerate(owner.layout.topics)}
        description = owner.encoded()
        self._suspects_start = len(description)
        start = _notes_start(len(description))
        unfinished = path.with_suffix(".new")
        self._file = os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            beginning = description + self._encoded(suspects)
            _write(self._file, beginning + bytes(start - len(beginning)))
            _write_zeros(self._file, owner.size)
            os.fsync(self._file)
            self._beginning = mmap.mmap(self._file, start)
            self.memory = NotesMapping(self._file, owner.size, start)
            unfinished.replace(path)
        except BaseException:
            # Anything, also Ctrl-C: the file is incomplete and must not be taken for notes, nor stay on a full disk.
            # The notes of the predecessor are still in place.
            os.close(self._file)
            unfinished.unlink(missing_ok=True)
            raise

    def __repr__(self) -> str:
        return f"<NotesFile of {len(self.memory)} bytes>"

    def _encoded(self, suspects: Iterable[RunningRange]) -> bytes:
        ranges = list(suspects)[-MOST_NAMED:]
        return _COUNT.pack(len(ranges)) + b"".join(packed_range(each, self._topics) for each in ranges)

    def keep(self, suspects: Iterable[RunningRange]) -> None:
        """Replace the suspects that the worker knows."""
        data = self._encoded(suspects)
        start = self._suspects_start
        self._beginning[start + _COUNT.size : start + len(data)] = data[_COUNT.size :]
        self._beginning[start : start + _COUNT.size] = data[: _COUNT.size]  # last: it covers only what is there

    def close(self) -> None:
        """Close the file. The mapping stays, as a handler that nobody waits for any more may still write to it."""
        os.close(self._file)


def _write_zeros(file: int, size: int) -> None:
    for start in range(0, size, _PORTION):
        _write(file, bytes(min(_PORTION, size - start)))


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]
