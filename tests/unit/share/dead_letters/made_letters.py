"""Dead letters for tests."""

from collections.abc import Sequence

from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterRecord
from kafka_groups.types import FetchedRecord, Header, TopicPartition

__all__ = ["DEAD", "dlq_headers", "made_letter"]

DEAD = "orders.dead"


def dlq_headers(
    offset: int = 7, *, topic: str = "orders", partition: int = 0, reason: str = "KeyError: 'plum'"
) -> list[Header]:
    """The headers of KIP-1191, as workers and brokers write them."""
    values = {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "group": "invoices",
        "delivery.count": 2,
        "message": reason,
    }
    return [(f"__dlq.errors.{name}", str(value).encode()) for name, value in values.items()]


def made_letter(
    offset: int = 0,
    headers: Sequence[Header] | None = None,
    *,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    timestamp_ms: int = 1_000,
    partition: int = 0,
) -> DeadLetterRecord:
    """A dead letter; by default of `orders:0@7`."""
    given = tuple(dlq_headers() if headers is None else headers)
    return DeadLetterRecord(TopicPartition(DEAD, partition), FetchedRecord(offset, key, value, timestamp_ms, given))
