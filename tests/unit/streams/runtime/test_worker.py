"""Workers over brokers in memory: processes are killed, and tasks are revoked and lost, between any two calls."""

from collections import Counter
from datetime import timedelta
from typing import NoReturn

import pytest

from kafka_groups.errors import DeliveryFailedError, TasksLostError, UnknownMemberIdError
from kafka_groups.streams import (
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    StreamsError,
    Suppressed,
    serdes,
)
from kafka_groups.streams.processors.extractors import skip_invalid
from kafka_groups.streams.runtime.assigned import TaskPhase, TaskRole
from kafka_groups.types import TaskId, TopicPartition
from tests.support.fake_kafka import FakeKafka, Faults, Killed
from tests.unit.streams.runtime.counting import CHANGELOG, INPUT, OUTPUT, Process, brokers, enriched, restored

WORDS = ("to", "be", "or", "not", "to", "be")
TASK = TaskId("0", 0)
LOGGED = TopicPartition(CHANGELOG, 0)


def with_words(words: tuple[str, ...] = WORDS) -> FakeKafka:
    kafka = brokers()
    for at, word in enumerate(words):
        kafka.produce("words", word, "", timestamp_ms=at)
    return kafka


async def counted(kafka: FakeKafka, faults: Faults | None = None) -> Process:
    """Let one process with the task count to the end."""
    process = Process(kafka, faults)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running and process.has_committed(len(kafka.logs[INPUT])))
    return process


async def test_words_are_counted_and_committed_after_the_changelog_has_them() -> None:
    kafka = with_words()
    process = await counted(kafka)
    assert process.worker.is_running
    assert restored(kafka) == Counter(WORDS)
    assert [entry.key for entry in kafka.values(OUTPUT)] == [b"or", b"not", b"to", b"be"]


async def test_a_worker_for_which_the_group_has_no_task_is_running() -> None:
    process = Process(with_words())
    await process.worker.start()
    await process.worker.turn()
    assert not process.worker.is_running
    process.member.is_spare = True
    await process.worker.turn()
    found = process.worker.is_running, process.worker.partition_counts.get("words")
    assert found == (True, 1)  # with the numbers of partitions it tells who has a key


async def test_a_worker_that_has_lost_its_tasks_is_not_running() -> None:
    process = await counted(with_words())
    process.member.lose("0_0")
    await process.turn_until(lambda: not process.worker.tasks)
    assert not process.worker.is_running


async def test_a_worker_that_has_lost_a_part_of_its_tasks_runs_the_others() -> None:
    kafka = FakeKafka({**with_words().counts, "words": 2})
    process = Process(kafka)
    process.member.assign("0_0")
    process.member.assign("0_1")
    process.member.lose("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    assert {str(task_id) for task_id in process.worker.tasks} == {"0_1"}
    process.member.assign("0_0")
    await process.turn_until(lambda: process.worker.is_running and len(process.worker.tasks) == 2)
    process.member.lose("0_1")
    await process.turn_until(lambda: len(process.worker.tasks) == 1)
    assert process.worker.is_running


async def test_a_task_waits_for_topics_that_the_brokers_do_not_know_yet() -> None:
    kafka = with_words()
    process = Process(kafka)
    count = kafka.counts.pop("words")
    process.member.assign("0_0")
    await process.worker.start()
    await process.worker.turn()
    assert not process.worker.tasks
    assert not process.worker.is_running
    kafka.counts["words"] = count
    await process.turn_until(lambda: process.worker.is_running and process.has_committed(len(WORDS)))


async def test_a_commit_that_is_asked_for_with_nothing_to_commit_is_not_asked_for_again() -> None:
    process = await counted(with_words())
    task = process.worker.tasks[TASK].task
    task.request_commit()
    await process.worker.turn()
    assert not task.is_commit_requested


async def test_a_process_that_is_started_again_continues_the_counts() -> None:
    kafka = with_words()
    first = await counted(kafka)
    await first.worker.close()
    assert first.member.has_left
    assert first.plane.is_closed
    kafka.produce("words", "be", "")
    await counted(kafka)
    assert restored(kafka) == Counter((*WORDS, "be"))


async def test_whenever_a_process_is_killed_every_word_is_counted_at_least_once() -> None:
    kills = 0
    for at in range(1, 1_000):
        kafka, faults = with_words(), Faults(at)
        try:
            await counted(kafka, faults)
        except Killed:
            kills += 1
        await counted(kafka)
        assert restored(kafka) >= Counter(WORDS), f"killed at call {at}"
        assert process_state_equals_changelog(await counted(kafka), kafka)
        if faults.calls < at:
            break
    assert kills > 15


def process_state_equals_changelog(process: Process, kafka: FakeKafka) -> bool:
    table = process.worker.tasks[TASK].engine.table("counts")
    kept = {key.decode(): int.from_bytes(value[8:], "big") for key, value in table.scan(b"", None)}
    return Counter(kept) == restored(kafka)


async def test_a_revoked_task_is_committed_and_closed_before_it_is_confirmed() -> None:
    kafka = with_words()
    process = Process(kafka, commit_interval_ms=10**9)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.plane.sources.positions.get(INPUT) == len(WORDS))
    event = process.member.revoke("0_0")
    await process.turn_until(lambda: process.member.confirmed)
    assert process.member.confirmed == [event]
    assert process.has_committed(len(WORDS))
    assert not process.worker.tasks
    assert not process.plane.sources.positions


async def test_a_lost_task_is_closed_without_a_commit() -> None:
    kafka = with_words()
    process = Process(kafka, commit_interval_ms=10**9)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.plane.sources.positions.get(INPUT) == len(WORDS))
    committed = dict(kafka.committed)
    event = process.member.lose("0_0")
    await process.turn_until(lambda: process.member.confirmed)
    assert process.member.confirmed == [event]
    assert kafka.committed == committed
    await counted(kafka)
    assert restored(kafka) == Counter(WORDS)


async def test_a_member_that_has_lost_its_tasks_commits_no_state() -> None:
    kafka = with_words()
    process = Process(kafka)
    process.member.is_lost = True
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: kafka.values(CHANGELOG))
    assert not list(process.worker.tasks[TASK].engine.table("counts").scan(b"", None))
    assert not kafka.committed


async def test_a_member_that_the_group_has_removed_writes_no_change_again_until_it_hears_more() -> None:
    kafka = with_words()
    process = Process(kafka)
    commit, committed = process.member.commit, process.member.committed

    async def removed(*_arguments: object) -> NoReturn:
        raise TasksLostError("The coordinator has removed the member.") from UnknownMemberIdError()

    process.member.commit = removed  # type: ignore[method-assign, assignment]
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: kafka.values(CHANGELOG))
    process.member.committed = removed  # type: ignore[method-assign, assignment]
    written = len(kafka.values(CHANGELOG))
    for _ in range(5):
        process.clock.advance(1_000)
        await process.worker.turn()
    assert len(kafka.values(CHANGELOG)) == written
    assert not kafka.committed
    process.member.commit, process.member.committed = commit, committed  # type: ignore[method-assign]
    await process.turn_until(lambda: process.has_committed(len(WORDS)))  # it has the task again


async def test_an_error_of_the_flush_commits_no_offsets_and_ends_the_worker() -> None:
    kafka = with_words()
    process = Process(kafka)

    async def refused(timeout_ms: int) -> None:
        raise DeliveryFailedError("too large", failed=1, unanswered=0)

    process.plane.flush = refused  # type: ignore[method-assign]
    process.member.assign("0_0")
    await process.worker.start()
    with pytest.raises(DeliveryFailedError):
        await process.turn_until(lambda: kafka.committed)
    assert not kafka.committed


async def test_the_commit_waits_while_brokers_do_not_answer() -> None:
    kafka = with_words()
    process = Process(kafka)
    flush, refusals = process.plane.flush, [1, 2, 3]

    async def slow(timeout_ms: int) -> None:
        if refusals:
            refusals.pop()
            raise DeliveryFailedError("no answer", failed=0, unanswered=4)
        await flush(timeout_ms)

    process.plane.flush = slow  # type: ignore[method-assign]
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(len(WORDS)))
    assert not refusals


async def test_a_standby_follows_the_changelog_and_runs_at_once_when_it_is_promoted() -> None:
    kafka = with_words()
    await (await counted(kafka)).worker.close()
    standby = Process(kafka)
    standby.member.assign(standby=["0_0"])
    await standby.worker.start()
    await standby.turn_until(standby.worker.positions)
    task = standby.worker.tasks[TASK]
    await standby.turn_until(lambda: task.applied[LOGGED] == len(kafka.logs[LOGGED]))
    assert task.role is TaskRole.STANDBY
    assert not standby.plane.sources.positions
    standby.member.promote("0_0")
    await standby.turn_until(lambda: standby.worker.is_running and standby.worker.tasks[TASK].role is TaskRole.ACTIVE)
    assert standby.worker.tasks[TASK] is task, "its stores stay open"
    kafka.produce("words", "be", "")
    await standby.turn_until(lambda: standby.has_committed(len(WORDS) + 1))
    assert restored(kafka) == Counter((*WORDS, "be"))


async def test_an_active_task_that_becomes_a_standby_keeps_its_stores_and_follows_the_next_owner() -> None:
    kafka = with_words()
    process = await counted(kafka)
    task = process.worker.tasks[TASK]
    end = len(kafka.logs[LOGGED])
    process.member.change_role("0_0", "active", "standby")
    await process.turn_until(lambda: process.worker.tasks[TASK].phase is TaskPhase.RESTORING)
    standby = process.worker.tasks[TASK]
    assert standby.role is TaskRole.STANDBY
    assert standby.engine is task.engine
    assert standby.applied[LOGGED] == process.plane.changelogs.positions[LOGGED] == end, "nothing is read again"
    kafka.produce("words", "be", "")
    await counted(kafka)
    await process.turn_until(lambda: standby.applied[LOGGED] == len(kafka.logs[LOGGED]))
    process.member.promote("0_0")
    await process.turn_until(lambda: process.worker.is_running and process.worker.tasks[TASK].role is TaskRole.ACTIVE)
    kafka.produce("words", "be", "")
    await process.turn_until(lambda: process.has_committed(len(WORDS) + 2))
    assert restored(kafka) == Counter((*WORDS, "be", "be"))


async def test_a_commit_keeps_the_position_of_what_it_has_written_and_no_other() -> None:
    kafka = with_words()
    process = await counted(kafka)
    task = process.worker.tasks[TASK]
    assert task.applied == {LOGGED: len(kafka.logs[LOGGED])}
    assert not task.engine.positions, "a store in memory has no position that outlasts its task"
    assert LOGGED not in process.plane.written, (
        "the next commit may write nothing to a changelog that was emptied since"
    )


async def test_a_paused_worker_keeps_its_tasks_and_processes_nothing_until_it_resumes() -> None:
    kafka = with_words()
    process = await counted(kafka)
    process.worker.is_paused = True
    kafka.produce("words", "be", "")
    await process.turn_until(lambda: process.plane.sources.positions[INPUT] == len(WORDS) + 1)
    await process.worker.turn()
    assert process.worker.is_running
    assert process.has_committed(len(WORDS))
    assert restored(kafka) == Counter(WORDS)
    process.worker.is_paused = False
    await process.turn_until(lambda: process.has_committed(len(WORDS) + 1))
    assert restored(kafka) == Counter((*WORDS, "be"))


async def test_a_paused_worker_gives_tasks_up_with_what_it_had_processed() -> None:
    kafka = with_words()
    process = await counted(kafka)
    process.worker.is_paused = True
    kafka.produce("words", "be", "")
    await process.turn_until(lambda: process.plane.sources.positions[INPUT] == len(WORDS) + 1)
    process.member.revoke("0_0")
    await process.turn_until(lambda: process.member.confirmed)
    assert process.has_committed(len(WORDS))
    await counted(kafka)
    assert restored(kafka) == Counter((*WORDS, "be"))


async def test_a_paused_standby_stays_behind_and_follows_again() -> None:
    kafka = with_words()
    first = await counted(kafka)
    standby = Process(kafka)
    standby.member.assign(standby=["0_0"])
    await standby.worker.start()
    end = len(kafka.logs[LOGGED])
    await standby.turn_until(lambda: standby.worker.positions() and standby.worker.tasks[TASK].applied[LOGGED] == end)
    standby.worker.is_paused = True
    await standby.worker.turn()
    kafka.produce("words", "be", "")
    await first.turn_until(lambda: first.has_committed(len(WORDS) + 1))
    for _ in range(3):
        await standby.worker.turn()
    assert standby.worker.tasks[TASK].applied[LOGGED] == end
    standby.worker.is_paused = False
    await standby.turn_until(lambda: standby.worker.tasks[TASK].applied[LOGGED] == len(kafka.logs[LOGGED]))
    assert process_state_equals_changelog(standby, kafka)


async def test_a_worker_that_starts_paused_restores_when_it_resumes() -> None:
    kafka = with_words()
    await (await counted(kafka)).worker.close()
    process = Process(kafka)
    process.worker.is_paused = True
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.tasks)
    for _ in range(3):
        await process.worker.turn()
    assert process.worker.tasks[TASK].applied == {LOGGED: 0}
    assert not process.worker.is_running
    process.worker.is_paused = False
    await process.turn_until(lambda: process.worker.is_running)
    assert process_state_equals_changelog(process, kafka)


class Ticking(Processor[str, str, str, str]):
    """Notes the times of its punctuation."""

    def __init__(self, ticks: list[int]) -> None:
        self._ticks = ticks

    def init(self, context: ProcessorContext[str, str]) -> None:
        context.schedule(timedelta(seconds=1), PunctuationType.WALL_CLOCK_TIME, self._ticks.append)

    def process(self, record: Record[str, str]) -> None: ...


async def test_a_paused_worker_does_not_punctuate() -> None:
    ticks: list[int] = []
    builder = StreamsBuilder()
    builder.stream("words", key=serdes.string, value=serdes.string).process(factory=lambda: Ticking(ticks))
    process = Process(brokers(), topology=builder.build())
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: ticks)
    process.worker.is_paused, seen = True, len(ticks)
    for _ in range(3):
        process.clock.advance(1_000)
        await process.worker.turn()
    assert len(ticks) == seen
    process.worker.is_paused = False
    await process.turn_until(lambda: len(ticks) > seen)


async def test_a_paused_worker_follows_global_tables() -> None:
    kafka = FakeKafka({"names": 2, "orders": 1, "named": 1})
    process = Process(kafka, topology=enriched())
    process.member.assign("1_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    process.worker.is_paused = True
    kafka.produce("names", "b", "ben", partition=1)
    await process.turn_until(lambda: process.plane.changelogs.positions[TopicPartition("names", 1)] == 1)
    assert process.worker.tasks[TaskId("1", 0)].is_running


async def test_a_standby_whose_changelog_was_truncated_is_wiped_and_restored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kafka = with_words()
    await (await counted(kafka)).worker.close()
    standby = Process(kafka)
    standby.member.assign(standby=["0_0"])
    await standby.worker.start()
    end = len(kafka.logs[LOGGED])
    await standby.turn_until(lambda: standby.worker.positions() and standby.worker.tasks[TASK].applied[LOGGED] == end)
    kafka.logs[LOGGED].extend(kafka.logs[LOGGED])
    kafka.begins[LOGGED] = end + 1
    await standby.turn_until(lambda: standby.worker.tasks[TASK].applied.get(LOGGED) == 2 * end)
    assert "changelogs of task 0_0" in caplog.text
    assert len(list(standby.worker.tasks[TASK].engine.table("counts").scan(b"", None))) == end - 1


async def test_offsets_that_are_out_of_range_begin_again_by_the_rule_of_the_source() -> None:
    kafka = with_words()
    await (await counted(kafka)).worker.close()
    kafka.produce("words", "lost", "")
    kafka.produce("words", "kept", "")
    kafka.begins[INPUT] = len(WORDS) + 1
    await counted(kafka)
    assert restored(kafka) == Counter((*WORDS, "kept"))


async def test_repartitioned_records_go_through_both_tasks() -> None:
    kafka = FakeKafka({"lines": 1, "app-by-word-repartition": 1, "app-words-changelog": 1, OUTPUT: 1})
    builder = StreamsBuilder()
    lines = builder.stream("lines", key=serdes.string, value=serdes.string).flat_map_values(str.split)
    words = lines.group_by(lambda _, word: word, key=serdes.string, value=serdes.string, name="by-word")
    words.count(store="words").to_stream().to(OUTPUT)
    kafka.produce("lines", "a", "to be or not to be")
    process = Process(kafka, topology=builder.build())
    process.member.assign("0_0", "1_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(6, TopicPartition("app-by-word-repartition", 0)))
    last = {entry.key: int.from_bytes(entry.value or b"", "big") for entry in kafka.values(OUTPUT)}
    assert last == {b"to": 2, b"be": 2, b"or": 1, b"not": 1}


async def test_global_tables_are_loaded_before_anything_is_processed_and_followed() -> None:
    kafka = FakeKafka({"names": 2, "orders": 1, "named": 1})
    kafka.produce("names", "a", "ann", partition=0)
    kafka.produce("names", "b", "ben", partition=1)
    kafka.produce("orders", "b", "tea")
    process = Process(kafka, topology=enriched())
    process.member.assign("1_0")
    await process.worker.start()
    orders = TopicPartition("orders", 0)
    await process.turn_until(lambda: process.has_committed(1, orders))
    kafka.produce("names", "b", "bea", partition=1)
    await process.turn_until(lambda: process.plane.changelogs.positions[TopicPartition("names", 1)] == 2)
    kafka.produce("orders", "b", "rice")
    await process.turn_until(lambda: process.has_committed(2, orders))
    assert [entry.value for entry in kafka.values("named")] == [b"tea of ben", b"rice of bea"]


async def test_joined_topics_with_different_numbers_of_partitions_end_the_worker() -> None:
    builder = StreamsBuilder()
    rows = builder.table("rows", key=serdes.string, value=serdes.string)
    held = rows.suppress(Suppressed.until_time_limit(timedelta(seconds=1)))
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    read.join(held, "{}+{}".format, value=serdes.string).to("out")
    # The brokers are not told that both belong together, as Kafka Streams does not tell it.
    process = Process(FakeKafka({"in": 2, "rows": 1, "out": 1}), topology=builder.build())
    process.member.assign("0_0")
    await process.worker.start()
    with pytest.raises(StreamsError, match=r"equal keys would not meet: in has 2, rows has 1\."):
        await process.turn_until(lambda: process.worker.is_running)


async def test_a_sink_of_a_topic_that_does_not_exist_names_it() -> None:
    kafka = with_words()
    del kafka.counts[OUTPUT]
    with pytest.raises(StreamsError, match="'totals' does not exist"):
        await counted(kafka)
    assert not kafka.committed


async def test_full_buffers_pause_a_partition_and_it_is_read_again_later() -> None:
    kafka = with_words(WORDS * 40)
    process = Process(kafka, buffered_records=5, max_poll_records=30)
    paused, pause = [], process.plane.pause

    async def noted(partitions: list[TopicPartition]) -> None:
        paused.extend(partitions)
        await pause(partitions)

    process.plane.pause = noted  # type: ignore[method-assign, assignment]
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(len(WORDS) * 40))
    assert paused
    assert not process.plane.sources.paused


async def test_repartitioned_records_are_deleted_when_they_are_committed() -> None:
    repartitioned = TopicPartition("app-by-word-repartition", 0)
    kafka = FakeKafka({"lines": 1, repartitioned.topic: 1, "app-words-changelog": 1})
    builder = StreamsBuilder()
    lines = builder.stream("lines", key=serdes.string, value=serdes.string)
    lines.group_by(lambda _, line: line, key=serdes.string, value=serdes.string, name="by-word").count(store="words")
    kafka.produce("lines", "a", "to")
    process = Process(kafka, topology=builder.build(), repartition_purge_interval_ms=5_000)
    process.member.assign("0_0", "1_0")
    await process.worker.start()
    await process.turn_until(lambda: kafka.begins[repartitioned] == 1)
    assert kafka.begins[TopicPartition("lines", 0)] == 0


async def test_a_worker_logs_the_records_that_its_tasks_drop(caplog: pytest.LogCaptureFixture) -> None:
    builder = StreamsBuilder()
    read = builder.stream("words", key=serdes.string, value=serdes.string, name="read", timestamp=skip_invalid)
    read.to("totals")
    kafka = brokers()
    kafka.produce("words", "late", "", timestamp_ms=-1)
    kafka.produce("words", "good", "", timestamp_ms=1)
    process = Process(kafka, topology=builder.build())
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(2))
    assert "read in task 0_0 dropped a record at words-0 offset 0: its timestamp is negative" in caplog.messages
