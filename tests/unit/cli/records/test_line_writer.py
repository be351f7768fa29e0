"""Lines are written in order until the first one fails; how it is reported, and what becomes of the others."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from kafka_groups.cli.records.line_writer import LineWriter, RefusedLine
from kafka_groups.errors import (
    InvalidRecordError,
    KafkaGroupsError,
    LeaderNotAvailableError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
)
from kafka_groups.records.confirmed_writer import ConfirmedWriter, RecordToWrite, WriteOutcome

TIMEOUT_MS = 5_000
RECORD = RecordToWrite("orders", None, b"tea")


class HandClock:
    at_ms = 0

    def now_ms(self) -> int:
        return self.at_ms

    def wall_ms(self) -> int:
        return self.at_ms


class FakeRoom:
    """A room for two records, whose outcomes the test says."""

    def __init__(self, took: Callable[[Sequence[WriteOutcome]], None], held: Callable[..., None]) -> None:
        self.took, self.held = took, held
        self.tokens: list[Any] = []
        self.sent: set[int] = set()

    @property
    def has_room(self) -> bool:
        return len(self.tokens) < 2

    def write(self, _records: Sequence[RecordToWrite], token: Any) -> None:
        self.tokens.append(token)

    def withdraw(self, token: Any) -> bool:
        if token.number in self.sent:
            return False
        self.tokens.remove(token)
        return True

    def confirm(self, *numbers: int, error: KafkaGroupsError | None = None) -> None:
        tokens = [token for token in self.tokens if token.number in numbers]
        self.tokens = [token for token in self.tokens if token not in tokens]
        self.took([WriteOutcome(tokens, error)])


class FakeWriter:
    def room(self, _owner: str, took: Callable[..., None], held: Callable[..., None]) -> FakeRoom:
        self.made = FakeRoom(took, held)
        return self.made


def line_writer() -> tuple[LineWriter, FakeRoom, HandClock]:
    writer, clock = FakeWriter(), HandClock()
    return LineWriter(cast(ConfirmedWriter, writer), clock, TIMEOUT_MS), writer.made, clock


def refused_of(writer: LineWriter) -> RefusedLine | None:
    return writer.refused


async def test_a_line_waits_for_room() -> None:
    writer, room, _ = line_writer()
    await writer.write(1, RECORD)
    await writer.write(2, RECORD)
    third = asyncio.create_task(writer.write(3, RECORD))
    await asyncio.sleep(0)
    assert [token.number for token in room.tokens] == [1, 2]
    room.confirm(1)
    await third
    assert [token.number for token in room.tokens] == [2, 3]
    finishing = asyncio.create_task(writer.finish())
    await asyncio.sleep(0)
    room.confirm(2, 3)
    await finishing
    assert (writer.count, writer.refused) == (3, None)


async def test_the_first_line_that_is_refused_ends_it() -> None:
    writer, room, _ = line_writer()
    await writer.write(1, RECORD)
    await writer.write(2, RECORD)
    error = InvalidRecordError("no key")
    room.confirm(1, error=error)
    assert writer.refused is not None
    assert (writer.refused.line.number, writer.refused.error) == (1, error)
    await writer.write(3, RECORD)
    await writer.finish()
    assert (room.tokens, writer.count) == ([], 0)  # what was not sent is dropped


async def test_lines_that_were_sent_may_still_be_confirmed_after_a_failure() -> None:
    writer, room, _ = line_writer()
    await writer.write(1, RECORD)
    await writer.write(2, RECORD)
    room.sent.add(2)
    room.confirm(1, error=InvalidRecordError("no key"))
    finishing = asyncio.create_task(writer.finish())
    await asyncio.sleep(0)
    room.confirm(2)
    await finishing
    assert writer.count == 1


async def test_a_right_that_is_missing_is_a_failure_at_once() -> None:
    writer, room, _ = line_writer()
    await writer.write(1, RECORD)
    denied = TopicAuthorizationFailedError("grant WRITE")
    room.held("orders", LeaderNotAvailableError("soon"))
    writer.look()
    assert refused_of(writer) is None
    room.held("orders", denied)
    writer.look()
    refused = refused_of(writer)
    assert refused is not None
    assert (refused.error, refused.may_be_written) == (denied, False)


async def test_silence_is_a_failure_after_the_longest_wait() -> None:
    writer, room, clock = line_writer()
    clock.at_ms = 10_000
    await writer.write(1, RECORD)  # the wait begins here
    room.sent.add(1)
    clock.at_ms += TIMEOUT_MS - 1
    writer.look()
    assert refused_of(writer) is None
    room.held("orders", LeaderNotAvailableError("The leader is away."))
    clock.at_ms += 1
    writer.look()
    refused = refused_of(writer)
    assert refused is not None
    assert isinstance(refused.error, OperationTimeoutError)
    assert str(refused.error) == "The brokers have not confirmed it for 5000 ms. The leader is away."
    assert refused.may_be_written
    await writer.finish()
