"""Writing dead letters: what is in hand at a time, and what becomes of records that brokers do not confirm."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from attrs import define, field

from kafka_groups.errors import (
    KafkaGroupsError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.records.confirmed_writer import ConfirmedWriter, RecordToWrite, WriteOutcome
from kafka_groups.share.dead_letters.confirmed_letters import ConfirmedLetterWriter
from kafka_groups.share.dead_letters.rules.dead_letter_records import RecordPlace
from kafka_groups.share.dead_letters.rules.sending import LetterToSend
from kafka_groups.testing.simulation import Simulation, run_simulated

TIMEOUT_MS = 1_000
DENIED = TopicAuthorizationFailedError("User:ann may not write to orders.")
MISSING = UnknownTopicOrPartitionError("The topic orders does not exist.")


@define(eq=False)
class MadeUpRoom:
    """A writer and its room, which has room for two records and answers when the test says so."""

    took: Callable[[Sequence[WriteOutcome]], None] = lambda _outcomes: None
    held: Callable[[str, KafkaGroupsError | None], None] = lambda _topic, _error: None
    unconfirmed: list[Any] = field(factory=list)
    written: list[bytes | None] = field(factory=list)
    most: int = 0
    is_sent: bool = False

    def room(self, _owner: str, took: Any, held: Any) -> "MadeUpRoom":
        self.took, self.held = took, held
        return self

    @property
    def has_room(self) -> bool:
        return len(self.unconfirmed) < 2

    def write(self, records: Sequence[RecordToWrite], token: object) -> None:
        self.unconfirmed.append(token)
        self.written += [record.value for record in records]
        self.most = max(self.most, len(self.unconfirmed))

    def withdraw(self, token: object) -> bool:
        if not self.is_sent:
            self.unconfirmed.remove(token)
        return not self.is_sent

    def answer(self, error: KafkaGroupsError | None = None) -> None:
        tokens, self.unconfirmed = self.unconfirmed, []
        self.took([WriteOutcome(tokens, error)])


def letters(count: int, topic: str = "orders") -> list[LetterToSend]:
    return [LetterToSend(RecordPlace(0, at), topic, None, b"%d" % at, ()) for at in range(count)]


def scene(play: Callable[[MadeUpRoom, ConfirmedLetterWriter], Any]) -> None:
    """Play a scene in virtual time."""

    async def run(_simulation: Simulation) -> None:
        room = MadeUpRoom()
        await play(room, ConfirmedLetterWriter(cast("ConfirmedWriter", room), TIMEOUT_MS))

    run_simulated(run, seed=1)


def test_no_more_is_in_hand_than_there_is_room_for() -> None:
    async def play(room: MadeUpRoom, writer: ConfirmedLetterWriter) -> None:
        writing = asyncio.create_task(writer.write(letters(5)))
        for _ in range(3):
            await asyncio.sleep(0.9)
            room.answer()
        assert await writing == {RecordPlace(0, at): None for at in range(5)}
        assert (room.written, room.most) == ([b"0", b"1", b"2", b"3", b"4"], 2)
        assert await writer.write([]) == {}

    scene(play)


def test_a_right_that_is_missing_ends_all_records_of_its_topic_and_no_others() -> None:
    async def play(room: MadeUpRoom, writer: ConfirmedLetterWriter) -> None:
        room.is_sent = True
        other = LetterToSend(RecordPlace(1, 0), "bills", None, b"other", ())
        writing = asyncio.create_task(writer.write([letters(1)[0], other, *letters(4)[1:]]))
        await asyncio.sleep(0)
        room.held("orders", DENIED)
        await asyncio.sleep(0)
        room.answer()
        assert await writing == {**{RecordPlace(0, at): DENIED for at in range(4)}, RecordPlace(1, 0): None}
        assert room.written == [b"0", b"other"]

    scene(play)


def test_what_is_not_confirmed_in_time_says_why_and_whether_it_may_be_written() -> None:
    async def play(room: MadeUpRoom, writer: ConfirmedLetterWriter) -> None:
        writing = asyncio.create_task(writer.write(letters(3)))
        await asyncio.sleep(0)
        room.held("orders", MISSING)
        assert await writing == {RecordPlace(0, at): MISSING for at in range(3)}
        room.held("orders", None)
        room.is_sent = True
        first, second = (await writer.write(letters(2))).values()
        assert isinstance(first, OperationTimeoutError)
        assert str(first) == str(second)
        assert str(first) == (
            "The topic orders has not confirmed the record within 1000 ms. "
            "It may be written, and would be a duplicate if you send it again."
        )

    scene(play)


def test_an_outcome_that_comes_too_late_changes_nothing() -> None:
    async def play(room: MadeUpRoom, writer: ConfirmedLetterWriter) -> None:
        room.is_sent = True
        late = await writer.write(letters(1))
        tokens = room.unconfirmed
        room.unconfirmed = []
        writing = asyncio.create_task(writer.write(letters(3)))
        await asyncio.sleep(0)
        room.took([WriteOutcome(tokens)])
        room.answer(DENIED)
        await asyncio.sleep(0)
        room.answer(DENIED)
        assert await writing == {RecordPlace(0, at): DENIED for at in range(3)}
        assert isinstance(late[RecordPlace(0, 0)], OperationTimeoutError)

    scene(play)
