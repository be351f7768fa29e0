"""Source partitions that are paused, and those whose log is another one, over brokers in memory."""

from collections.abc import Mapping
from uuid import UUID

import pytest

from kafka_groups.records.interface import LogChange
from kafka_groups.streams import StreamsBuilder, serdes
from kafka_groups.streams.processors.extractors import skip_invalid
from kafka_groups.streams.runtime.worker_membership import NO_IDS
from kafka_groups.types import OffsetAndMetadata, TaskId, TopicPartition
from tests.support.fake_kafka import LogEntry
from tests.unit.streams.runtime.counting import INPUT, OUTPUT, Process, brokers


async def test_a_partition_is_read_again_when_all_that_waited_was_skipped() -> None:
    builder = StreamsBuilder()
    builder.stream("words", key=serdes.string, value=serdes.string, timestamp=skip_invalid).to("totals")
    kafka = brokers()
    for _ in range(30):
        kafka.produce("words", "late", "", timestamp_ms=-1)
    process = Process(kafka, topology=builder.build(), buffered_records=5, max_poll_records=30)
    paused: list[TopicPartition] = []
    pause = process.plane.pause

    async def noted(partitions: list[TopicPartition]) -> None:
        paused.extend(partitions)
        await pause(partitions)

    process.plane.pause = noted  # type: ignore[method-assign, assignment]
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(30))
    assert paused == [INPUT]
    kafka.produce("words", "good", "", timestamp_ms=1)
    await process.turn_until(lambda: process.has_committed(31))
    assert len(kafka.values("totals")) == 1


class Committed:
    """A process that counts words, and the offsets of its input that it has committed."""

    def __init__(self, *words: str) -> None:
        self.kafka = brokers()
        self.produce(*words)
        self.process = Process(self.kafka)
        self.offsets: list[int] = []
        self._commit = self.process.member.commit
        self.process.member.commit = self._noted  # type: ignore[method-assign]
        self.process.member.assign("0_0")

    def produce(self, *words: str) -> None:
        for word in words:
            self.kafka.produce("words", word, "")

    async def _noted(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[TopicPartition, UUID] = NO_IDS
    ) -> None:
        self.offsets += [each.offset for place, each in offsets.items() if place == INPUT]
        await self._commit(offsets, topic_ids)

    async def run_until(self, *words: str) -> None:
        """Turn until the counts of these words, and no others, are written and a commit has followed."""
        await self.process.turn_until(lambda: sorted(map(_word, self.kafka.values(OUTPUT))) == sorted(words))
        await self.process.turn_until(lambda: not any(task.is_dirty for task in self.process.worker.tasks.values()))

    def replace(self, change: LogChange, *words: str) -> None:
        """Replace the log by another one."""
        self.kafka.logs[INPUT].clear()
        self.produce(*words)
        self.kafka.changes[INPUT] = change


def _word(entry: LogEntry) -> str:
    return (entry.key or b"").decode()


async def test_a_topic_that_was_made_again_is_read_from_its_start(caplog: pytest.LogCaptureFixture) -> None:
    scene = Committed("a", "b", "c")
    await scene.process.worker.start()
    await scene.run_until("a", "b", "c")
    scene.replace(LogChange(3), "d", "e")
    await scene.run_until("a", "b", "c", "d", "e")
    assert scene.offsets == [3, 0, 2]
    assert (
        "The topic of words-0 was deleted and made again. Task 0_0 had read the old one up to offset 3, and continues "
        "at offset 0 of the new one, by the rule of its source (offset_reset)." in caplog.messages
    )


async def test_what_waits_of_the_topic_before_is_processed_and_its_offsets_are_never_committed() -> None:
    scene = Committed("a", "b")
    await scene.process.worker.start()
    await scene.run_until("a", "b")
    scene.process.worker.is_paused = True
    scene.produce("c", "d", "e")
    for _ in range(3):
        await scene.process.worker.turn()
    scene.replace(LogChange(5), "f")
    for _ in range(3):
        scene.process.clock.advance(1_000)
        await scene.process.worker.turn()
    assert scene.process.plane.sources.positions == {}
    assert scene.offsets == [2]
    assert INPUT not in scene.process.worker.tasks[TaskId("0", 0)].committed
    scene.process.worker.is_paused = False
    await scene.run_until("a", "b", "c", "d", "e", "f")
    assert scene.offsets == [2, 0, 1]


async def test_a_truncated_log_is_read_on_from_where_it_is_another_one(caplog: pytest.LogCaptureFixture) -> None:
    scene = Committed("a", "b", "c")
    await scene.process.worker.start()
    await scene.run_until("a", "b", "c")
    scene.replace(LogChange(3, diverges_at=1), "a", "x", "y", "z")
    await scene.run_until("a", "b", "c", "x", "y", "z")
    assert scene.offsets == [3, 1, 4]
    assert (
        "words-0 has lost records that were read: its log was truncated. Task 0_0 had read it up to offset 3, and "
        "continues at offset 1, where the log is another one." in caplog.messages
    )


async def test_what_was_read_of_a_truncated_log_is_committed_with_the_offset_where_it_diverges() -> None:
    scene = Committed("a", "b", "c")
    await scene.process.worker.start()
    await scene.run_until("a", "b", "c")
    scene.process.worker.is_paused = True
    scene.produce("d", "e")
    await scene.process.worker.turn()
    scene.replace(LogChange(5, diverges_at=4), "a", "b", "c", "d", "x")
    await scene.process.worker.turn()
    scene.process.worker.is_paused = False
    await scene.run_until("a", "b", "c", "d", "e", "x")
    # Without the first 4, another worker would begin at 3 after the commit that has the results of "d" and "e".
    assert scene.offsets == [3, 4, 4, 5]


async def test_a_task_that_ends_forgets_that_its_log_is_another_one(caplog: pytest.LogCaptureFixture) -> None:
    scene = Committed("a")
    await scene.process.worker.start()
    await scene.run_until("a")
    scene.process.worker.is_paused = True
    scene.produce("b")
    await scene.process.worker.turn()
    scene.replace(LogChange(2), "c")
    await scene.process.worker.turn()
    scene.process.worker.is_paused = False
    scene.process.member.lose("0_0")
    scene.process.member.assign("0_0")
    del scene.kafka.committed[INPUT]
    await scene.run_until("a", "c")
    scene.kafka.begins[INPUT] = 2
    scene.produce("lost", "d")
    await scene.run_until("a", "c", "d")
    assert "does not have the next offset any more" in caplog.text
    assert "was deleted and made again" not in caplog.text
