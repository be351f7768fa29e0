"""Records for `EmbeddedCluster.produce`: checked, given a partition, built into batches."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from attrs import frozen

from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.types import Header

__all__ = ["Payload", "Records", "TopicPartitionOffset", "append_all", "encoded"]

Payload = bytes | str | None
"""A key or a value: bytes, text that is written as UTF-8, or None."""

_MOST_BYTES = 256 * 1024
_MOST_RECORDS = 1_000


class TopicPartitionOffset(NamedTuple):
    """The position of a record."""

    topic: str
    partition: int
    offset: int


@frozen
class Records:
    """The arguments of `EmbeddedCluster.produce`."""

    values: Iterable[Payload]
    keys: Iterable[Payload] | None
    headers: tuple[tuple[str, Payload], ...]
    partition: int | None


def append_all(
    topic: str, given: Records, partitions: int, append: Callable[[int, bytes], int], *, wall_ms: int
) -> list[TopicPartitionOffset]:
    """Append the records, each partition's in their order; nothing is appended if one of them is bad.

    Args:
        topic: The topic.
        given: The records.
        partitions: The number of partitions of the topic.
        append: Appends a batch to a partition and returns its first offset.
        wall_ms: The timestamp.

    Raises:
        TypeError: A value, key or header is neither bytes nor text, or `values` is a single value.
        ValueError: The numbers of keys and values differ, or the partition does not exist.
    """
    records = _records(given, wall_ms)
    chosen = _partitions(records, given.partition, partitions)
    offsets: dict[int, Iterator[int]] = {}
    for partition in sorted(set(chosen)):
        own = [record for record, at in zip(records, chosen, strict=True) if at == partition]
        offsets[partition] = iter([offset for part in _parts(own) for offset in _appended(part, partition, append)])
    return [TopicPartitionOffset(topic, partition, next(offsets[partition])) for partition in chosen]


def encoded(what: str, value: object) -> bytes | None:
    """Return a key, value or header as bytes.

    Raises:
        TypeError: It is neither bytes, text nor None.
    """
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise TypeError(f"{what} contains {value!r}: use bytes, text or None")


def _records(given: Records, wall_ms: int) -> list[NewRecord]:
    values = _listed("values", given.values)
    keys = [None] * len(values) if given.keys is None else _listed("keys", given.keys)
    if len(keys) != len(values):
        raise ValueError(f"{len(keys)} keys for {len(values)} values: give a key for each value, None for no key")
    headers: tuple[Header, ...] = tuple((name, encoded("headers", value)) for name, value in given.headers)
    return [NewRecord(value, key, wall_ms, headers) for value, key in zip(values, keys, strict=True)]


def _listed(what: str, given: Iterable[Payload]) -> list[bytes | None]:
    if isinstance(given, bytes | bytearray | str) or not isinstance(given, Iterable):
        raise TypeError(f"{what}={given!r}: use a list, such as [{given!r}]")
    return [encoded(what, each) for each in given]


def _partitions(records: Sequence[NewRecord], partition: int | None, partitions: int) -> list[int]:
    if partition is None:
        return [
            index % partitions if record.key is None else zlib.crc32(record.key) % partitions
            for index, record in enumerate(records)
        ]
    if not 0 <= partition < partitions:
        raise ValueError(f"partition={partition}: the topic has partitions 0 to {partitions - 1}")
    return [partition] * len(records)


def _parts(records: Sequence[NewRecord]) -> Iterator[list[NewRecord]]:
    """Consecutive records, so many that their batch stays far below the largest that topics allow by default."""
    part: list[NewRecord] = []
    size_bytes = 0
    for record in records:
        added_bytes = len(record.value or b"") + len(record.key or b"")
        if part and (size_bytes + added_bytes > _MOST_BYTES or len(part) == _MOST_RECORDS):
            yield part
            part, size_bytes = [], 0
        part.append(record)
        size_bytes += added_bytes
    if part:
        yield part


def _appended(part: Sequence[NewRecord], partition: int, append: Callable[[int, bytes], int]) -> range:
    first = append(partition, build_batch(part))
    return range(first, first + len(part))
