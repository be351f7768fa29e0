"""Writes the records of dead letters, and waits until all in-sync replicas have them."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence

from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError
from kafka_groups.errors.texts import sentences
from kafka_groups.records.confirmed_writer import ConfirmedWriter, RecordToWrite, WriteOutcome
from kafka_groups.share.dead_letters.letter_sender import LetterErrors
from kafka_groups.share.dead_letters.rules.dead_letter_records import RecordPlace
from kafka_groups.share.dead_letters.rules.sending import LetterToSend

__all__ = ["ConfirmedLetterWriter"]


class ConfirmedLetterWriter:
    """Writes the records of dead letters with a `ConfirmedWriter`, one call at a time.

    That writer holds records without end while a topic cannot be written to. Here, they fail when a right is missing,
    or when nothing was confirmed for a while.

    Args:
        writer: The writer.
        timeout_ms: How long to wait for the next confirmation.
    """

    def __init__(self, writer: ConfirmedWriter, timeout_ms: int) -> None:
        self._room = writer.room("dead letters", self._took, self._hold)
        self._timeout_ms = timeout_ms
        self._pending: dict[RecordPlace, LetterToSend] = {}
        self._errors: dict[RecordPlace, KafkaGroupsError | None] = {}
        self._held: dict[str, KafkaGroupsError] = {}
        self._news = asyncio.Event()

    def __repr__(self) -> str:
        return f"<ConfirmedLetterWriter with {self._room!r}>"

    async def write(self, letters: Iterable[LetterToSend]) -> LetterErrors:
        """Write records. Each has an error, or None, when this returns."""
        coming = deque(letters)
        self._errors = {}
        while coming or self._pending:
            self._begin(coming)
            if self._pending and not await self._wait():
                self._give_up([*self._pending.values(), *coming])
                break
            self._give_up(each for each in tuple(self._pending.values()) if self._is_refused(each.topic))
        return self._errors

    def _begin(self, coming: deque[LetterToSend]) -> None:
        while coming and self._room.has_room:
            letter = coming.popleft()
            if self._is_refused(letter.topic):
                self._errors[letter.place] = self._held[letter.topic]
                continue
            self._pending[letter.place] = letter
            self._room.write([RecordToWrite(letter.topic, letter.key, letter.value, letter.headers)], letter)

    async def _wait(self) -> bool:
        """Wait until something is known that was not before. Return False if the time is up."""
        try:
            async with asyncio.timeout(self._timeout_ms / 1_000):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True

    def _is_refused(self, topic: str) -> bool:
        held = self._held.get(topic)
        return held is not None and not held.retriable

    def _give_up(self, letters: Iterable[LetterToSend]) -> None:
        for letter in letters:
            pending = self._pending.pop(letter.place, None)
            is_open = pending is not None and not self._room.withdraw(pending)
            self._errors[letter.place] = self._why(letter.topic, may_be_written=is_open)

    def _why(self, topic: str, *, may_be_written: bool) -> KafkaGroupsError:
        held = self._held.get(topic)
        # A batch that was refused is sent again while the writer lives, but was not written.
        if held is not None and (not may_be_written or not held.retriable):
            return held
        why = "" if held is None else str(held)
        doubt = "It may be written, and would be a duplicate if you send it again" if may_be_written else ""
        text = f"The topic {topic} has not confirmed the record within {self._timeout_ms} ms"
        return OperationTimeoutError(sentences(text, why, doubt))

    # ------------------------------------------------------------------------------ called by the writer

    def _took(self, outcomes: Sequence[WriteOutcome]) -> None:
        for outcome in outcomes:
            for letter in outcome.tokens:
                # One that was given up may still have an outcome, which comes too late.
                if isinstance(letter, LetterToSend) and self._pending.get(letter.place) is letter:
                    del self._pending[letter.place]
                    self._errors[letter.place] = outcome.error
        self._news.set()

    def _hold(self, topic: str, error: KafkaGroupsError | None) -> None:
        if error is None:
            self._held.pop(topic, None)
        else:
            self._held[topic] = error
        self._news.set()
