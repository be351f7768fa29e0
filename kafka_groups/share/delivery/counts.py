"""Totals of a share consumer, as plain numbers."""

from collections import Counter
from collections.abc import Iterable

from attrs import frozen

from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch

__all__ = ["ConsumerCounts", "count_types"]


@frozen(kw_only=True)
class ConsumerCounts:
    """Totals since the consumer was created.

    Subtract two snapshots to see what happened in between.

    Attributes:
        fetches: Fetches that a broker answered, with or without records.
        fetched_bytes: Bytes of the record batches that these fetches returned.
        records: Records that poll or iteration returned. A redelivered record counts again.
        accepted: Records that a broker confirmed as accepted.
        released: Records that a broker confirmed as released.
        rejected: Records that a broker confirmed as rejected.
        renewed: Lock renewals that a broker confirmed, one per partition and fetch response.
        failed: Records whose acknowledgement failed; the broker redelivers them.
    """

    fetches: int = 0
    fetched_bytes: int = 0
    records: int = 0
    accepted: int = 0
    released: int = 0
    rejected: int = 0
    renewed: int = 0
    failed: int = 0


def count_types(batches: Iterable[AcknowledgementBatch]) -> Counter[int]:
    """Count the offsets of acknowledgement batches by type. Look a type up with its `AcknowledgeType`."""
    counts: Counter[int] = Counter()
    for batch in batches:
        types = batch.acknowledge_types
        if len(types) == 1:
            counts[types[0]] += batch.last_offset - batch.first_offset + 1
        else:
            counts.update(types)  # counted in C: a batch of mixed types has one for each record
    return counts
