"""The topics for dead letters of a driver: kept in memory, and refused when a test says so."""

from collections.abc import Sequence

from attrs import frozen

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.errors.texts import counted
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.dead_letter_headers import dead_letter_headers
from kafka_groups.share.workers.running.dead_letter_writers import (
    HandlerDeadLetterWriter,
    PendingDeadLetter,
    WritePending,
)
from kafka_groups.types import Header, Headers

__all__ = ["CapturedDeadLetter", "CapturedDeadLetters"]

_REASON = "__dlq.errors.message"


@frozen
class CapturedDeadLetter:
    """A dead letter.

    Attributes:
        topic: The topic it was written to.
        key: The key of the record, as bytes.
        value: The value of the record, as bytes.
        headers: The headers of the record, followed by those that say where it came from and why.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def reason(self) -> str:
        """The reason why the record was given up, from the header `__dlq.errors.message`."""
        return (dict(self.headers).get(_REASON) or b"").decode()


class CapturedDeadLetters:
    """Keeps dead letters by topic. It takes the place of a producer.

    Attributes:
        is_failing: Whether writes fail.
    """

    def __init__(self) -> None:
        self._dead_letters: dict[str, list[CapturedDeadLetter]] = {}
        self._unwritten: list[CapturedDeadLetter] = []
        self.is_failing = False

    def add_topic(self, topic: str) -> None:
        """Create a topic."""
        self._dead_letters.setdefault(topic, [])

    @property
    def topics(self) -> Sequence[str]:
        """The topics."""
        return tuple(self._dead_letters)

    def of(self, topic: str) -> list[CapturedDeadLetter]:
        """Return the letters of a topic, oldest first."""
        return list(self._dead_letters[topic])

    def writer(self, topic: str, group_id: str) -> HandlerDeadLetterWriter:
        """Return the writer of a handler, which is the worker's own."""
        return HandlerDeadLetterWriter(topic, group_id, {}, self, _called_here)

    def broker_copies(self, topic: str, record: AnyRecord, group_id: str, reason: str) -> None:
        """Write the copy that a broker makes for the group's own dead-letter topic (KIP-1191)."""
        headers = (*record.headers, *dead_letter_headers(record, group_id, reason))
        self._dead_letters[topic].append(CapturedDeadLetter(topic, record.raw_key, record.raw_value, headers))

    # ------------------------------------------------------------------------------------- a producer

    def produce(self, topic: str, *, key: bytes | None, value: bytes | None, headers: list[Header]) -> None:
        """Queue a letter."""
        self._unwritten.append(CapturedDeadLetter(topic, key, value, tuple(headers)))

    def flush(self, timeout_s: float) -> None:
        """Write the letters that are queued.

        Raises:
            DeliveryFailedError: The test has made writes fail.
        """
        del timeout_s
        letters, self._unwritten = self._unwritten, []
        if self.is_failing:
            raise DeliveryFailedError(
                f"{counted(len(letters), 'record')} could not be written, because of fail_dead_letters()",
                failed=len(letters),
                unanswered=0,
            )
        for letter in letters:
            self._dead_letters[letter.topic].append(letter)


async def _called_here(write: WritePending, letters: Sequence[PendingDeadLetter]) -> Exception | None:
    return write(letters)
