"""Dead letters: the headers that say where a copy came from, the reasons for it, and what was copied already."""

from collections import OrderedDict
from collections.abc import Callable, Iterable

from attrs import define, field

from kafka_groups.errors.texts import LONGEST_TEXT
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.delivery.records import AnyRecord, delivery_of
from kafka_groups.share.workers.rules.retry_topics.retried_records import origin_of
from kafka_groups.share.workers.rules.steps import OpenRecord
from kafka_groups.types import Header, RecordId

__all__ = [
    "FAILED",
    "LAST_DELIVERIES",
    "REJECTED",
    "CopiedRecords",
    "dead_letter_headers",
    "makes_dead_letters",
    "record_id",
]

REJECTED = "rejected"
"""The reason for a copy of a record that the program rejected."""

FAILED = "failed"
"""The reason for a copy of a record that failed while others succeeded."""

LAST_DELIVERIES = "on one of its last deliveries"
"""The reason for a copy that is written before the record is processed."""

_ATTEMPTS = "__dlq.errors.attempts"
_POSSIBLE_DUPLICATE = ("__dlq.errors.possible.duplicate", b"true")

# A copy that is written twice is a nuisance, not a loss, so a bounded memory is enough.
_REMEMBERED = 10_000


def record_id(record: AnyRecord) -> RecordId:
    """Return the partition and the offset of a record."""
    return delivery_of(record).topic_partition, record.offset


def dead_letter_headers(record: AnyRecord, group_id: str, reason: str) -> list[Header]:
    """Return the headers that Kafka's own dead-letter queues add to a record (KIP-1191).

    A record of a retry topic is named by its place in the first topic, so that it can be sent there again.
    """
    origin = origin_of(record)
    values = {
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": origin.offset,
        "group": group_id,
        "delivery.count": record.delivery_count,
        "message": reason,
    }
    return [(f"__dlq.errors.{name}", _encoded(str(value))) for name, value in values.items()]


def makes_dead_letters(topic: str, group_id: str) -> Callable[[OpenRecord[AnyRecord]], RecordToWrite]:
    """Return a function that makes the dead letter of a record in hand, for a topic."""

    def dead_letter(opened: OpenRecord[AnyRecord]) -> RecordToWrite:
        record = opened.record
        headers = [*record.headers, *dead_letter_headers(record, group_id, opened.reason)]
        if opened.state is not None:
            headers.append((_ATTEMPTS, str(opened.all_attempts).encode()))
        # A write that failed may have had no answer, and with other deliveries another process may have copied it.
        if opened.failed_writes or record.delivery_count > 1:
            headers.append(_POSSIBLE_DUPLICATE)
        return RecordToWrite(topic, record.raw_key, record.raw_value, tuple(headers))

    return dead_letter


def _encoded(text: str) -> bytes:
    """Return a text as bytes that fit into a header: reasons may be long, or have parts that are not Unicode."""
    # The reason may be the text of any exception. An error here would keep the record from being copied at all.
    return text[:LONGEST_TEXT].encode(errors="backslashreplace")


@define
class CopiedRecords:
    """Remembers the last 10,000 records whose copies were confirmed, so that a process copies each record once."""

    _places: OrderedDict[RecordId, None] = field(factory=OrderedDict)

    def __contains__(self, place: object) -> bool:
        return place in self._places

    def add(self, places: Iterable[RecordId]) -> None:
        """Remember records, and forget the oldest if there are too many."""
        self._places.update(dict.fromkeys(places))
        while len(self._places) > _REMEMBERED:
            self._places.popitem(last=False)
