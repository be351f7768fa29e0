"""The decision about a dead letter that is to be sent again: a record to write, a question to its origin, or neither.

A record that is sent again keeps its key, its value and its own headers. Those of dead letters and of retry topics are
removed, as they belong to attempts that are over. One header counts, so that a record that keeps failing does not go
round forever.
"""

from typing import Final

from attrs import frozen

from kafka_groups.share.dead_letters.rules.dead_letter_records import (
    DLQ,
    SENT_AGAIN,
    DeadLetterOrigin,
    DeadLetterRecord,
    RecordPlace,
    times_sent_again,
)
from kafka_groups.types import FetchedRecord, Headers

__all__ = ["LetterToRead", "LetterToSend", "SendingDecision", "SendingRules", "SkippedLetter"]

_RETRY: Final = "__retry."


@frozen
class LetterToSend:
    """A dead letter that is written to a topic.

    Attributes:
        place: The place of the dead letter.
        topic: The topic.
        key: The key of the record to write.
        value: Its value.
        headers: Its headers.
    """

    place: RecordPlace
    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers


@frozen
class LetterToRead:
    """A dead letter without key and value, whose record has to be read at its origin first."""

    place: RecordPlace
    origin: DeadLetterOrigin


@frozen
class SkippedLetter:
    """A dead letter that is not sent.

    Attributes:
        place: The place of the dead letter.
        reason: The reason, as a sentence.
        remedy: What to do, as a sentence.
    """

    place: RecordPlace
    reason: str
    remedy: str


SendingDecision = LetterToSend | LetterToRead | SkippedLetter


@frozen
class SendingRules:
    """Decides about dead letters.

    Attributes:
        to: The topic for all of them; None for the topics that they came from.
        most: How often a record may be sent again in all.
    """

    to: str | None
    most: int

    def decide(self, letter: DeadLetterRecord) -> SendingDecision:
        """Return the decision about a dead letter, as far as it says enough itself."""
        if letter.has_content and self.to is not None:
            return self._sent(letter.place, letter.record, self.to)
        origin = letter.origin
        if origin is None:
            return _without_origin(letter)
        if not letter.has_content:
            return LetterToRead(letter.place, origin)
        return self._sent(letter.place, letter.record, origin.partition.topic)

    def decide_found(self, asked: LetterToRead, found: FetchedRecord | None) -> LetterToSend | SkippedLetter:
        """Return the decision about a dead letter whose origin was read; None: the record is not there any more."""
        if found is None:
            return SkippedLetter(
                asked.place,
                f"It has neither key nor value, and its record {asked.origin} does not exist any more.",
                "Set errors.deadletterqueue.copy.record.enable=true for the group, so that brokers copy records.",
            )
        # The record has its own headers at its origin, which brokers don't copy, so the count is there as well.
        return self._sent(asked.place, found, self.to or asked.origin.partition.topic)

    def _sent(self, place: RecordPlace, record: FetchedRecord, topic: str) -> LetterToSend | SkippedLetter:
        count = times_sent_again(record.headers)
        if count is None:
            return SkippedLetter(
                place, f"Its header {SENT_AGAIN} is not a number.", "Send it with a program of your own."
            )
        if count >= self.most:
            return SkippedLetter(
                place,
                f"It came back after it was sent again {_times(count)}.",
                f"Repair the cause, and use --most {count + 1} to send it once more.",
            )
        headers = (*_own(record.headers), (SENT_AGAIN, b"%d" % (count + 1)))
        return LetterToSend(place, topic, record.key, record.value, headers)


def _without_origin(letter: DeadLetterRecord) -> SkippedLetter:
    if letter.has_content:
        return SkippedLetter(
            letter.place, f"It has no headers {DLQ}errors.* that name its origin.", "Use --to to send it to a topic."
        )
    return SkippedLetter(
        letter.place,
        f"It has neither key nor value, nor headers {DLQ}errors.* that name its origin.",
        "Nothing can be sent.",
    )


def _own(headers: Headers) -> Headers:
    return tuple(header for header in headers if not header[0].startswith((DLQ, _RETRY)))


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
