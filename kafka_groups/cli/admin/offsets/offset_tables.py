"""Tables of offsets, which commands about share groups and streams groups print."""

from collections.abc import Sequence
from typing import Final

from kafka_groups.cli.answers import AnswerTable
from kafka_groups.cli.documents.moved_offsets import DeletedOffsetEntry, ListedOffsetEntry, MovedOffsetEntry
from kafka_groups.cli.text_tables import one_line, shown_number

__all__ = ["DELETED_OFFSETS", "LISTED_OFFSETS", "MOVED_OFFSETS", "START_OFFSETS", "named_partition"]


def named_partition(topic: str, partition: int) -> str:
    """Return the name of a partition, for `--quiet` and errors."""
    return f"{topic}:{partition}"


def _listed_row(entry: ListedOffsetEntry) -> Sequence[str]:
    numbers = entry.offset, entry.end, entry.lag
    return one_line(entry.group), entry.topic, str(entry.partition), *map(shown_number, numbers)


def _start_row(entry: ListedOffsetEntry) -> Sequence[str]:
    numbers = entry.offset, entry.lag
    return one_line(entry.group), entry.topic, str(entry.partition), *map(shown_number, numbers)


def _moved_row(entry: MovedOffsetEntry) -> Sequence[str]:
    return one_line(entry.group), entry.topic, str(entry.partition), str(entry.offset)


def _deleted_row(entry: DeletedOffsetEntry) -> Sequence[str]:
    return one_line(entry.group), entry.topic, str(entry.partition)


LISTED_OFFSETS: Final = AnswerTable[ListedOffsetEntry](
    ("GROUP", "TOPIC", "PARTITION", "OFFSET", "END", "LAG"), _listed_row, ("PARTITION", "OFFSET", "END", "LAG")
)
"""Committed offsets, with the ends of partitions."""

START_OFFSETS: Final = AnswerTable[ListedOffsetEntry](
    ("GROUP", "TOPIC", "PARTITION", "START", "LAG"), _start_row, ("PARTITION", "START", "LAG")
)
"""Start offsets of share groups."""

MOVED_OFFSETS: Final = AnswerTable[MovedOffsetEntry](
    ("GROUP", "TOPIC", "PARTITION", "NEW OFFSET"), _moved_row, ("PARTITION", "NEW OFFSET")
)
"""Offsets to which a group was moved."""

DELETED_OFFSETS: Final = AnswerTable[DeletedOffsetEntry](
    ("GROUP", "TOPIC", "DELETED PARTITION"), _deleted_row, ("DELETED PARTITION",)
)
"""Offsets that were deleted."""
