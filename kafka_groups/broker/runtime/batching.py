"""Puts the records of one operation into batches that the log takes."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from kafka_groups.errors import UnknownServerError
from kafka_groups.protocol.record_batch import HEADER_BYTES

__all__ = ["batches_of"]

R = TypeVar("R")


def batches_of(records: Iterable[R], size_of: Callable[[R], int], max_bytes: int) -> list[list[R]]:
    """Return the records in order, in batches that are as large as they may be.

    Args:
        records: The records.
        size_of: Returns how many bytes a record takes in a batch, at the most.
        max_bytes: The largest batch (`max.message.bytes`).

    Raises:
        UnknownServerError: A record does not fit into a batch. Kafka's coordinators answer that, too.
    """
    batches: list[list[R]] = []
    room = 0
    for record in records:
        size = size_of(record)
        if size > max_bytes - HEADER_BYTES:
            raise UnknownServerError(f"A record of {size} bytes does not fit into a batch of {max_bytes} bytes.")
        if size > room:
            batches.append([])
            room = max_bytes - HEADER_BYTES
        batches[-1].append(record)
        room -= size
    return batches
