"""Acknowledgement state per offset, one byte each, and its encoding as batches.

The values 0 to 4 are acknowledgement types. All work on whole deliveries (accept all, is anything open, cut into
runs) is done by the methods of `bytearray` and by regular expressions, at the speed of C.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from kafka_groups.errors import ProtocolError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.types import AcknowledgeType

__all__ = ["HELD", "NOT_ACQUIRED", "OPEN", "SENT", "encode_batches", "marks_of", "replace", "runs_of"]

OPEN: Final = 255
"""Acquired, and not acknowledged yet."""
NOT_ACQUIRED: Final = 254
"""Not acquired: an offset between acquired ranges."""
SENT: Final = 253
"""Acknowledged, and sent to the broker or on the way."""

# Marks take one byte for each offset, and a broken response must not make the client allocate gigabytes.
_MAX_OFFSETS = 1 << 26

HELD: Final = 252
"""Acknowledged with a delayed release, and held until then."""

# Acknowledgements.MAX_RECORDS_WITH_SAME_ACKNOWLEDGE_TYPE in Kafka's client.
_SINGLE_TYPE_FROM = 10
"""A longer run of equal types is encoded as a batch with a single type, as in Kafka's client."""

_ACKNOWLEDGED = re.compile(rb"[\x00-\x04]+")
_EQUAL = re.compile(rb"(.)\1*", re.DOTALL)


def marks_of(ranges: Sequence[AcquiredRecords]) -> bytearray:
    """Return the marks of acquired ranges: OPEN within them, NOT_ACQUIRED between them.

    Raises:
        ProtocolError: A range ends before it begins, or the ranges span too many offsets.
    """
    first, last = ranges[0].first_offset, max(r.last_offset for r in ranges)
    size = last - first + 1
    # The ranges come from the network. They are checked before memory is allocated for them.
    if any(r.last_offset < r.first_offset for r in ranges) or size > _MAX_OFFSETS:
        raise ProtocolError(f"the broker acquired impossible ranges of offsets: {first} to {last}")
    # One range without a hole is the usual case: the broker prefers complete batches (KIP-932, "Batching").
    if len(ranges) == 1:
        return bytearray([OPEN]) * size
    marks = bytearray([NOT_ACQUIRED]) * size
    for r in ranges:
        marks[r.first_offset - first : r.last_offset + 1 - first] = bytes([OPEN]) * (r.last_offset + 1 - r.first_offset)
    return marks


def replace(marks: bytearray, old: bytes, new: int, start: int = 0, end: int | None = None) -> None:
    """Give every offset from `start` to before `end` that has one of the old marks the new one."""
    end = len(marks) if end is None else end
    marks[start:end] = marks[start:end].translate(_translation(old, new))


@functools.cache
def _translation(old: bytes, new: int) -> bytes:
    return bytes(new if mark in old else mark for mark in range(256))


def runs_of(marks: bytes | bytearray, mark: int) -> Iterator[tuple[int, int]]:
    """Return the runs of one mark, as (first, last) positions."""
    for run in re.finditer(b"[" + re.escape(bytes([mark])) + b"]+", marks):
        yield run.start(), run.end() - 1


def encode_batches(marks: bytes | bytearray, first_offset: int) -> tuple[AcknowledgementBatch, ...]:
    """Return the acknowledged offsets as the batches of ShareFetch and ShareAcknowledge, in ascending order.

    A long run of one type is one batch with one type. The offsets between such runs are one batch with a type for each
    offset.
    """
    batches: list[AcknowledgementBatch] = []
    for stretch in _ACKNOWLEDGED.finditer(marks):
        types, first, last = stretch.group(), first_offset + stretch.start(), first_offset + stretch.end() - 1
        if types == types[:1] * len(types):  # as almost always; comparing is twenty times as fast as looking for runs
            batches.append(AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=(types[0],)))
        else:
            _encode_mixed(types, first, batches)
    return tuple(batches)


def _encode_mixed(types: bytes, first_offset: int, batches: list[AcknowledgementBatch]) -> None:
    pending = 0
    for run in _EQUAL.finditer(types):
        # A short run stays in the batch around it with one type for each offset: a batch of its own would cost more
        # bytes.
        if run.end() - run.start() <= _SINGLE_TYPE_FROM:
            continue
        _append(types[pending : run.start()], first_offset + pending, batches)
        _append(run.group(), first_offset + run.start(), batches)
        pending = run.end()
    _append(types[pending:], first_offset + pending, batches)


def _append(types: bytes, first_offset: int, batches: list[AcknowledgementBatch]) -> None:
    if types:
        kinds = tuple(types[:1] if types.count(types[0]) == len(types) else types)
        last = first_offset + len(types) - 1
        batches.append(AcknowledgementBatch(first_offset=first_offset, last_offset=last, acknowledge_types=kinds))


ACCEPT: Final = int(AcknowledgeType.ACCEPT)
RELEASE: Final = int(AcknowledgeType.RELEASE)
REJECT: Final = int(AcknowledgeType.REJECT)
RENEW: Final = int(AcknowledgeType.RENEW)
GAP: Final = int(AcknowledgeType.GAP)
