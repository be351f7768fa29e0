"""Writes the records of lines, and knows which of them the brokers have confirmed."""

import asyncio
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError
from kafka_groups.errors.texts import sentences
from kafka_groups.net.clock import Clock
from kafka_groups.records.confirmed_writer import ConfirmedWriter, RecordToWrite, WriteOutcome

__all__ = ["LineWriter", "RefusedLine", "WrittenLine"]

_LOOK_S: Final = 0.5


@frozen(eq=False)
class WrittenLine:
    """A line whose record is on its way.

    Attributes:
        number: The number of the line.
        record: Its record.
    """

    number: int
    record: RecordToWrite


@frozen
class RefusedLine:
    """A line whose record was refused.

    Attributes:
        line: The line.
        error: Why.
        may_be_written: Whether it may be in the log nevertheless.
    """

    line: WrittenLine
    error: KafkaGroupsError
    may_be_written: bool


class LineWriter:
    """Writes records in order, some at a time, until the first one fails.

    Args:
        writer: Writes them.
        clock: Tells the time.
        timeout_ms: The longest wait for the next confirmation.

    Attributes:
        count: The number of records that are confirmed.
        refused: The first line that failed, or None. Write no others then.
    """

    def __init__(self, writer: ConfirmedWriter, clock: Clock, timeout_ms: int) -> None:
        self._room = writer.room("produce", self._took, self._hold)
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._pending: dict[int, WrittenLine] = {}
        self._held: KafkaGroupsError | None = None
        self._news = asyncio.Event()
        self._since_ms = clock.now_ms()
        self.count = 0
        self.refused: RefusedLine | None = None

    def __repr__(self) -> str:
        return f"<LineWriter: {self.count} written, {len(self._pending)} pending>"

    async def write(self, number: int, record: RecordToWrite) -> None:
        """Write the record of a line when there is room for it. If one has failed, this does nothing."""
        while not (self._room.has_room or self.refused):
            await self._wait()
        if self.refused is None:
            if not self._pending:
                self._since_ms = self._clock.now_ms()
            line = WrittenLine(number, record)
            self._pending[number] = line
            self._room.write([record], line)

    async def finish(self) -> None:
        """Wait until the brokers have answered about all records. After a failure, those not sent are dropped."""
        while self._pending:
            if self.refused is not None:
                self._drop()
            if self._pending and not await self._wait():
                return

    def look(self) -> None:
        """Note a failure if nothing was confirmed for too long, or if the topic refuses records."""
        if not self._pending or self.refused is not None:
            return
        if self._held is not None and not self._held.retriable:
            self._fail(self._held)
        elif self._clock.now_ms() - self._since_ms >= self._timeout_ms:
            self._fail(self._stalled())

    async def _wait(self) -> bool:
        """Wait for news. Return False if none can come any more, as the time is up."""
        self._news.clear()
        try:
            async with asyncio.timeout(_LOOK_S):
                await self._news.wait()
        except TimeoutError:
            had_failed = self.refused is not None
            self.look()
            return not had_failed or self._clock.now_ms() - self._since_ms < self._timeout_ms
        self.look()
        return True

    def _fail(self, error: KafkaGroupsError) -> None:
        first = next(iter(self._pending.values()))
        del self._pending[first.number]
        self.refused = RefusedLine(first, error, may_be_written=not self._room.withdraw(first))

    def _drop(self) -> None:
        for line in tuple(self._pending.values()):
            if self._room.withdraw(line):
                del self._pending[line.number]

    def _stalled(self) -> OperationTimeoutError:
        why = "" if self._held is None else str(self._held)
        return OperationTimeoutError(sentences(f"The brokers have not confirmed it for {self._timeout_ms} ms", why))

    # ------------------------------------------------------------------------------ called by the writer

    def _took(self, outcomes: Sequence[WriteOutcome]) -> None:
        for outcome in outcomes:
            for line in outcome.tokens:
                # One that has failed by the time may still have an outcome, which comes too late.
                if isinstance(line, WrittenLine) and self._pending.pop(line.number, None) is not None:
                    self._note(line, outcome)
        self._since_ms = self._clock.now_ms()
        self._news.set()

    def _note(self, line: WrittenLine, outcome: WriteOutcome) -> None:
        if outcome.error is None:
            self.count += 1
        elif self.refused is None:
            self.refused = RefusedLine(line, outcome.error, outcome.may_be_written)

    def _hold(self, _topic: str, error: KafkaGroupsError | None) -> None:
        self._held = error
        self._news.set()
