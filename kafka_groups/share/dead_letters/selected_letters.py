"""Selected dead letters of a log, to be sent again. It is read without a group, and nothing is remembered."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Final

from kafka_groups.share.dead_letters.letter_planner import FailedLetter, LetterPlanner, PlannedLetter
from kafka_groups.share.dead_letters.letter_sender import LetterResult, LetterSender
from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterRecord, RecordPlace
from kafka_groups.share.dead_letters.rules.selections import DeadLetterSelection
from kafka_groups.share.dead_letters.rules.sending import SkippedLetter
from kafka_groups.share.dead_letters.topic import Bounds, DeadLetterTopic

__all__ = ["SelectedLetters"]

_AT_ONCE: Final = 500
"""The most dead letters that are sent together."""


class SelectedLetters:
    """The dead letters of a selection, in the order of each partition.

    Args:
        topic: The dead-letter topic.
        selection: The selection.
        most: The largest number of them; None: all.
        bounds: Where to read; None: wherever the selection may have dead letters.
    """

    def __init__(
        self,
        topic: DeadLetterTopic,
        selection: DeadLetterSelection,
        most: int | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self._topic = topic
        self._selection = selection
        self._most = most
        self._bounds = bounds
        self._absent: frozenset[RecordPlace] = frozenset()

    def __repr__(self) -> str:
        return f"<SelectedLetters of {self._topic!r}: {self._selection}>"

    async def plan(self, planner: LetterPlanner) -> Sequence[PlannedLetter]:
        """Return a decision about each, and send nothing.

        Raises:
            KafkaGroupsError: They cannot be read.
        """
        planned: list[PlannedLetter] = []
        async for letters in self._parts():
            planned += await planner.plan(letters)
        return [*planned, *self._missing()]

    async def send(self, sender: LetterSender, report: Callable[[LetterResult], None]) -> None:
        """Send them, until one could not be written.

        Args:
            sender: Sends them.
            report: Receives the result of each.

        Raises:
            KafkaGroupsError: They cannot be read.
        """
        async with aclosing(self._parts()) as parts:
            async for letters in parts:
                results = await sender.send(letters)
                for result in results:
                    report(result)
                if any(isinstance(result, FailedLetter) for result in results):
                    return
        for missing in self._missing():
            report(missing)

    async def _parts(self) -> AsyncGenerator[Sequence[DeadLetterRecord]]:
        left = self._most
        async with aclosing(self._read()) as read:
            async for letters in read:
                wanted = letters[:left]
                left = None if left is None else left - len(wanted)
                for at in range(0, len(wanted), _AT_ONCE):
                    yield wanted[at : at + _AT_ONCE]
                if left == 0:
                    return

    async def _read(self) -> AsyncGenerator[Sequence[DeadLetterRecord]]:
        if places := self._selection.places:
            found = await self._topic.at(places)
            self._absent = places - found.keys()
            yield [found[place] for place in sorted(found)]
            return
        bounds = await self._topic.bounds(self._selection) if self._bounds is None else self._bounds
        async with aclosing(self._topic.read(self._selection, bounds)) as read:
            async for letters in read:
                yield letters

    def _missing(self) -> Sequence[SkippedLetter]:
        remedy = f"kafka-groups dead-letters list {self._topic.name} shows those that there are."
        why = "There is no such record, or it was deleted."
        return [SkippedLetter(place, why, remedy) for place in sorted(self._absent)]
