"""Commits and events while the group's coordinator does not answer, though the brokers confirm all records."""

from collections import Counter
from collections.abc import Mapping
from uuid import UUID

import pytest

from kafka_groups.errors import NetworkError, OperationTimeoutError
from kafka_groups.streams import StreamsBuilder, Topology, serdes
from kafka_groups.streams.processors.extractors import skip_invalid
from kafka_groups.streams.runtime.assigned import OwnedTask
from kafka_groups.streams.runtime.blocking_membership import BlockingMembership
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners, StateRestoreListener
from kafka_groups.streams.runtime.worker_membership import NO_IDS
from kafka_groups.types import OffsetAndMetadata, TaskId, TopicPartition
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import CHANGELOG, INPUT, Process, brokers, restored


class SilentGroup:
    """Lets no commit of a process succeed while it lasts, and the time pass instead."""

    def __init__(self, process: Process) -> None:
        self.lasts = True
        self.commits = 0
        self._process = process
        self._answered = process.member.commit
        process.member.commit = self.commit  # type: ignore[method-assign]
        process.plane.rest = self.rest  # type: ignore[method-assign]

    async def rest(self, timeout_ms: int) -> None:
        self._process.clock.advance(timeout_ms)

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[TopicPartition, UUID] = NO_IDS
    ) -> None:
        if not self.lasts:
            await self._answered(offsets, topic_ids)
            return
        self.commits += 1
        self._process.clock.advance(5_000)
        raise NetworkError("the coordinator does not answer")


async def with_a_silent_group() -> tuple[Process, SilentGroup]:
    """A worker that has processed words, whose offsets the group does not take."""
    kafka = brokers()
    for word in ("to", "be"):
        kafka.produce("words", word, "")
    process = Process(kafka)
    group = SilentGroup(process)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: group.commits)
    return process, group


async def test_a_commit_for_tasks_that_are_gone_does_not_hold_up_the_revocation_of_others() -> None:
    """The group does not answer, and the tasks are lost. Nothing is left to commit when the next ones are revoked."""
    process, group = await with_a_silent_group()
    lost = process.member.lose("0_0")
    process.member.assign("0_0")
    revoked = process.member.revoke("0_0")
    await process.turn_until(lambda: len(process.member.confirmed) == 2)
    assert process.member.confirmed == [lost, revoked]
    assert group.lasts


async def test_a_revoked_task_is_closed_when_the_group_has_its_offsets() -> None:
    process, group = await with_a_silent_group()
    event = process.member.revoke("0_0")
    seen = group.commits
    await process.turn_until(lambda: group.commits > seen + 2)
    assert not process.member.confirmed
    group.lasts = False
    await process.turn_until(lambda: process.member.confirmed)
    assert process.member.confirmed == [event]
    assert process.has_committed(2)
    assert restored(process.kafka) == Counter(["to", "be"])


async def test_a_close_repeats_the_last_commit() -> None:
    process, group = await with_a_silent_group()
    answered = group.commit

    async def answers_later(
        offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[TopicPartition, UUID] = NO_IDS
    ) -> None:
        group.lasts = group.commits < 3
        await answered(offsets, topic_ids)

    process.member.commit = answers_later  # type: ignore[method-assign]
    await process.worker.close(60)
    assert process.has_committed(2)


async def test_a_close_gives_the_last_commit_up_in_time_and_says_so() -> None:
    process, _ = await with_a_silent_group()
    begun_ms = process.clock.now_ms()
    with pytest.raises(
        OperationTimeoutError, match="gave up its last commit after 12 s, because the group did not answer"
    ):
        await process.worker.close(12)
    assert process.clock.now_ms() - begun_ms <= 17_000
    assert process.member.has_left
    assert process.plane.is_closed


async def test_a_worker_waits_for_its_group_for_some_seconds_at_a_time() -> None:
    waits: list[float | None] = []

    class Member:
        def _commit_of(self, offsets: object, topic_ids: object, timeout: float | None) -> None:
            waits.append(timeout)

        def committed(self, partitions: object, timeout: float | None = None) -> dict[TopicPartition, None]:
            waits.append(timeout)
            return {}

    membership = BlockingMembership(Member())  # type: ignore[arg-type]
    await membership.commit({})
    await membership.committed([])
    assert waits == [5.0, 5.0]


async def test_lost_tasks_end_though_an_assignment_before_waits_for_topics() -> None:
    process, group = await with_a_silent_group()
    group.lasts = False
    await process.turn_until(lambda: process.has_committed(2))
    process.kafka.counts = {"words": 1}  # the brokers know no other topic any more, not even the changelog
    process.member.assign("0_1")
    await process.worker.turn()
    event = process.member.lose("0_0", "0_1")
    process.clock.advance(1_000)
    await process.turn_until(lambda: process.member.confirmed)
    assert process.member.confirmed == [event]
    assert not process.worker.tasks


def skipping() -> Topology:
    builder = StreamsBuilder()
    words = builder.stream("words", key=serdes.string, value=serdes.string, timestamp=skip_invalid)
    words.to("totals")
    return builder.build()


async def test_the_offsets_of_skipped_records_are_committed_though_a_commit_came_before_they_were_skipped() -> None:
    kafka = FakeKafka({"words": 1, "totals": 1})
    kafka.produce("words", "to", "")
    process = Process(kafka, topology=skipping())
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.has_committed(1))
    process.worker.is_paused = True
    for _ in range(3):
        kafka.produce("words", "late", "", timestamp_ms=-1)
    await process.turn_until(lambda: process.plane.sources.positions[INPUT] == 4)
    for _ in range(3):
        process.clock.advance(1_000)
        await process.worker.turn()
    process.worker.is_paused = False
    await process.turn_until(lambda: process.has_committed(4), most=5)


async def test_all_tasks_are_closed_though_a_listener_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    class Suspended(StateRestoreListener):
        def on_restore_suspended(self, partition: TopicPartition, store: str, total_restored: int) -> None:
            raise ValueError("a bug of the listener")

    kafka = brokers(2)
    for partition in (0, 1):
        for at in range(10):
            kafka.produce(CHANGELOG, str(at), "12345678", partition=partition)
    process = Process(kafka, listeners=RestoreListeners(restore=Suspended()))
    process.member.assign("0_0", "0_1")
    await process.worker.start()
    poll = process.plane.poll_restoring

    async def one(most: int) -> object:
        return await poll(1)

    process.plane.poll_restoring = one  # type: ignore[method-assign, assignment]
    await process.turn_until(lambda: len(process.worker.tasks) == 2)
    closed: list[TaskId] = []
    monkeypatch.setattr(OwnedTask, "close", lambda task: closed.append(task.task_id))
    with pytest.raises(ValueError, match="a bug of the listener"):
        await process.worker.close(is_clean=False)
    assert sorted(closed) == [TaskId("0", 0), TaskId("0", 1)]
    assert process.plane.is_closed
