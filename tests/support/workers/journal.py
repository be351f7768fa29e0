"""The journal of handlers: what each attempt did, a line each, written by several processes into one file."""

import enum
import os
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from kafka_groups import Attempt
from tests.support.workers.worker_brokers import Place

__all__ = ["Journal", "JournalEntry", "Step", "entries_in"]


class Step(enum.Enum):
    """A step of an attempt."""

    BEGINS = "begins"
    DONE = "done"
    FAILS = "fails"


@frozen
class JournalEntry:
    """A line.

    Attributes:
        step: The step.
        process: The process in which it happened.
        place: The record.
        delivery_count: The count of its delivery.
        attempt: The number of the attempt with this delivery.
        key: The key of the record.
    """

    step: Step
    process: int
    place: Place
    delivery_count: int
    attempt: int
    key: str


class Journal:
    """A journal to write. A line is in the file when `note` returns, also if the process is killed then.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, step: Step, attempt: Attempt) -> None:
        """Note a step."""
        record = attempt.record
        words = (
            step.value, os.getpid(), record.partition, record.offset, attempt.delivery_count, attempt.number,
            (record.raw_key or b"").decode(),
        )  # fmt: skip
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


def entries_in(path: Path) -> Iterator[JournalEntry]:
    """Yield the entries of a journal, in the order in which they were written."""
    for line in path.read_text(encoding="utf-8").splitlines():
        step, process, partition, offset, count, attempt, key = line.split(" ")
        place = (int(partition), int(offset))
        yield JournalEntry(Step(step), int(process), place, int(count), int(attempt), key)
