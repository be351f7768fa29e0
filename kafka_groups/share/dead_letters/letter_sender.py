"""Sends dead letters again: decides about each, and writes the records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share.dead_letters.letter_planner import FailedLetter, LetterPlanner
from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterRecord, RecordPlace
from kafka_groups.share.dead_letters.rules.sending import LetterToSend, SkippedLetter

__all__ = ["LetterErrors", "LetterResult", "LetterSender", "LetterWriter", "SentLetter"]


@frozen
class SentLetter:
    """A dead letter that was sent: all in-sync replicas have the record."""

    place: RecordPlace
    topic: str


LetterResult = SentLetter | SkippedLetter | FailedLetter

LetterErrors = Mapping[RecordPlace, KafkaGroupsError | None]
"""An error for each dead letter, or None if its record was confirmed."""


class LetterWriter(Protocol):
    """Writes the records of dead letters."""

    async def write(self, letters: Iterable[LetterToSend]) -> LetterErrors:
        """Write records, and wait for the brokers."""


class LetterSender:
    """Sends dead letters of a topic again.

    Args:
        planner: Decides about each of them.
        writer: Writes records.
    """

    def __init__(self, planner: LetterPlanner, writer: LetterWriter) -> None:
        self._planner = planner
        self._writer = writer

    def __repr__(self) -> str:
        return f"<LetterSender with {self._planner!r}>"

    async def send(self, letters: Sequence[DeadLetterRecord]) -> Sequence[LetterResult]:
        """Send dead letters. Return the result of each, in their order.

        Raises:
            KafkaGroupsError: Origins cannot be read, or the brokers do not tell about topics.
        """
        planned = await self._planner.plan(letters)
        errors = await self._writer.write(each for each in planned if isinstance(each, LetterToSend))
        return [_result(each, errors) if isinstance(each, LetterToSend) else each for each in planned]


def _result(sent: LetterToSend, errors: LetterErrors) -> SentLetter | FailedLetter:
    error = errors[sent.place]
    return SentLetter(sent.place, sent.topic) if error is None else FailedLetter(sent.place, error)
