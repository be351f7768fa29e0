"""The commands with topics and brokers that are made up."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest
from click.testing import CliRunner, Result

from kafka_groups.cli.main import main
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share.dead_letters.rules.counting import DeadLetterCount, DeadLetterCounts
from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterRecord, RecordPlace
from kafka_groups.share.dead_letters.rules.selections import DeadLetterSelection
from kafka_groups.share.dead_letters.topic import FoundLetters, RecordsToDelete
from kafka_groups.types import TopicPartition
from tests.unit.share.dead_letters.made_letters import dlq_headers, made_letter

Run = Callable[..., Result]

AT_MS = 1_796_081_509_213
OTHER = dlq_headers(8, partition=1, reason="a\nb")
LETTERS = (
    made_letter(12, [("trace", b"x"), *dlq_headers()], value=b'{"fruit": "plum"}', timestamp_ms=AT_MS),
    made_letter(
        3, dlq_headers(8, partition=1, reason="a\nb"), key=None, value=b"\x00\xff", timestamp_ms=AT_MS + 1, partition=1
    ),
    made_letter(13, [], value=None, timestamp_ms=-1),
)


class MadeUpTopic:
    """A dead-letter topic with the letters above."""

    error: KafkaGroupsError | None = None
    undeletable: Mapping[TopicPartition, KafkaGroupsError] = {}
    deleted: Sequence[RecordsToDelete] = ()

    def __init__(self, *_: object) -> None:
        if self.error is not None:
            raise self.error

    async def __aenter__(self) -> "MadeUpTopic":
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    async def oldest(self, selection: DeadLetterSelection, most: int) -> FoundLetters:
        found = [letter for letter in LETTERS if letter in selection]
        return FoundLetters(found[:most], len(found) > most)

    async def counts(self, selection: DeadLetterSelection) -> Sequence[DeadLetterCount]:
        counts = DeadLetterCounts()
        for letter in LETTERS:
            if letter in selection:
                counts.add(letter)
        return counts.largest_first()

    async def at(self, places: Iterable[RecordPlace]) -> Mapping[RecordPlace, DeadLetterRecord]:
        return {letter.place: letter for letter in LETTERS if letter.place in set(places)}

    async def to_delete(self, before_ms: int | None) -> Sequence[RecordsToDelete]:
        ends = (14, 4) if before_ms is None else (12, 0)
        return [RecordsToDelete(TopicPartition("orders.dead", at), 0, end) for at, end in enumerate(ends)]

    async def delete(self, records: Iterable[RecordsToDelete]) -> Mapping[TopicPartition, KafkaGroupsError]:
        type(self).deleted = list(records)
        return self.undeletable


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> type[MadeUpTopic]:
    """The topic that the commands use."""

    class Topic(MadeUpTopic):
        pass

    monkeypatch.setattr("kafka_groups.share.dead_letters.topic.DeadLetterTopic", Topic)
    return Topic


@pytest.fixture
def run(topic: type[MadeUpTopic]) -> Run:
    """Runs a command in this process."""
    assert topic.deleted == ()

    def command(*arguments: str, typed: str | None = None) -> Result:
        given = ["dead-letters", *arguments, "--bootstrap-servers", "localhost:1"]
        return CliRunner().invoke(main, given, input=typed)

    return command
