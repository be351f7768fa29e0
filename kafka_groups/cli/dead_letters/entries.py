"""Dead letters as entries of documents."""

from kafka_groups.cli.documents.dead_letters import CountEntry, DeadLetterContents, DeadLetterEntry, OriginEntry
from kafka_groups.cli.documents.document import json_bytes
from kafka_groups.share.dead_letters.rules.counting import DeadLetterCount
from kafka_groups.share.dead_letters.rules.dead_letter_records import (
    DeadLetterOrigin,
    DeadLetterRecord,
    times_sent_again,
)

__all__ = ["contents_of", "count_entry", "entry_of", "shown_origin"]


def entry_of(letter: DeadLetterRecord) -> DeadLetterEntry:
    """Return a dead letter as an entry."""
    return DeadLetterEntry(
        letter.partition.topic,
        letter.partition.partition,
        letter.record.offset,
        _known_ms(letter.record.timestamp_ms),
        _origin(letter.origin),
        letter.group,
        letter.delivery_count,
        letter.reason,
        letter.is_possible_duplicate,
    )


def contents_of(letter: DeadLetterRecord) -> DeadLetterContents:
    """Return a dead letter as an entry with all that it contains."""
    entry, record = entry_of(letter), letter.record
    return DeadLetterContents(
        entry.topic,
        entry.partition,
        entry.offset,
        entry.timestamp_ms,
        entry.origin,
        entry.group,
        entry.delivery_count,
        entry.reason,
        entry.possible_duplicate,
        times_sent_again(record.headers),
        json_bytes(record.key),
        json_bytes(record.value),
        tuple((name, json_bytes(value)) for name, value in record.headers),
    )


def count_entry(count: DeadLetterCount) -> CountEntry:
    """Return a count as an entry."""
    times = _known_ms(count.first_ms), _known_ms(count.last_ms)
    return CountEntry(count.origin_topic, count.error, count.count, *times)


def _known_ms(timestamp_ms: int) -> int | None:
    """Return a timestamp; None for the number that stands for none."""
    return None if timestamp_ms < 0 else timestamp_ms


def shown_origin(origin: OriginEntry | None) -> str | None:
    """Return an origin as text."""
    return None if origin is None else f"{origin.topic}:{origin.partition}@{origin.offset}"


def _origin(origin: DeadLetterOrigin | None) -> OriginEntry | None:
    if origin is None:
        return None
    return OriginEntry(origin.partition.topic, origin.partition.partition, origin.offset)
