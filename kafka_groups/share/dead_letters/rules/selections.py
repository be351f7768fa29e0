"""A selection of dead letters: by time, origin, reason or place."""

from collections.abc import Iterator

from attrs import frozen

from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterRecord, RecordPlace

__all__ = ["EVERYTHING", "DeadLetterSelection"]


@frozen(kw_only=True)
class DeadLetterSelection:
    """The dead letters that fit everything that is given.

    Attributes:
        since_ms: Those with a timestamp from this one on.
        until_ms: Those with a timestamp before this one.
        origin_topic: Those of records of this topic.
        origin_partition: Those of records of this partition of the topic.
        reason: Those whose reason contains this text, in upper or lower case.
        places: Those at these places; all if there are none.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    origin_topic: str | None = None
    origin_partition: int | None = None
    reason: str | None = None
    places: frozenset[RecordPlace] = frozenset()

    def __bool__(self) -> bool:
        """Return True if anything is given, so that some dead letters may be left out."""
        return self != EVERYTHING

    def __contains__(self, letter: DeadLetterRecord) -> bool:
        return all(self._checks(letter))

    def _checks(self, letter: DeadLetterRecord) -> Iterator[bool]:
        timestamp_ms = letter.record.timestamp_ms
        yield not self.places or letter.place in self.places
        yield self.since_ms is None or timestamp_ms >= self.since_ms
        yield self.until_ms is None or timestamp_ms < self.until_ms
        yield self.origin_topic is None or self._is_origin(letter)
        yield self.reason is None or self.reason.casefold() in (letter.reason or "").casefold()

    def _is_origin(self, letter: DeadLetterRecord) -> bool:
        origin = letter.origin
        return (
            origin is not None
            and origin.partition.topic == self.origin_topic
            and self.origin_partition in (None, origin.partition.partition)
        )


EVERYTHING = DeadLetterSelection()
"""All dead letters of a topic."""
