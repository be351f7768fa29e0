"""Topics that gain partitions while workers read them, over brokers in memory."""

import pytest

from kafka_groups.errors import ClusterAuthorizationFailedError, DeliveryFailedError, NetworkError
from kafka_groups.streams import MemberTasks, Optimization, StreamsBuilder, TasksRevoked, Topology, serdes, stores
from kafka_groups.streams.runtime.assigned import TaskRole
from kafka_groups.streams.runtime.topic_watch import TopicWatch
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TaskId, TopicPartition
from tests.support.fake_kafka import FakeKafka, FakeMembership, FakePlane
from tests.unit.streams.runtime.counting import Process, enriched
from tests.unit.streams.runtime.test_task_timeout import failing

TASKS = ("0_0", "0_1")
GAINED = TopicPartition("few", 1)
COUNTS = stores.key_value("counts", serdes.string, serdes.int64)
LOGGED = TopicPartition("app-counts-changelog", 1)
GUARANTEES = pytest.mark.parametrize("is_exactly_once", [False, True], ids=["at least once", "exactly once"])


def counting_merged() -> Topology:
    builder = StreamsBuilder()
    many = builder.stream("many", key=serdes.string, value=serdes.string)
    merged = many.merge(builder.stream("few", key=serdes.string, value=serdes.string))
    merged.group_by_key().count(store=COUNTS).to_stream().to("out")
    return builder.build()


def kafka_with_few(partitions: int = 1) -> FakeKafka:
    return FakeKafka({"many": 2, "few": partitions, "out": 1, LOGGED.topic: 2})


async def started(process: Process, *tasks: str, standby: tuple[str, ...] = ()) -> Process:
    process.member.assign(*tasks, standby=standby)
    await process.worker.start()
    await process.turn_until(lambda: len(process.worker.tasks) == len(tasks) + len(standby))
    await process.turn_until(lambda: process.worker.is_running)
    return process


async def wait(process: Process, ms: int = 20_000) -> None:
    end_ms = process.clock.now_ms() + ms
    await process.turn_until(lambda: process.clock.now_ms() >= end_ms)


def logged(kafka: FakeKafka) -> dict[bytes | None, int]:
    return {entry.key: int.from_bytes(entry.value or b"", "big") for entry in kafka.logs[LOGGED]}


@GUARANTEES
async def test_a_partition_that_a_running_task_gains_is_read(is_exactly_once: bool) -> None:
    kafka = kafka_with_few()
    process = await started(Process(kafka, topology=counting_merged(), is_exactly_once=is_exactly_once), *TASKS)
    kafka.produce("many", "a", "1", partition=1)
    await process.turn_until(lambda: process.has_committed(1, TopicPartition("many", 1)))
    untouched, grown = (process.worker.tasks[TaskId.parse(each)] for each in TASKS)
    kafka.counts["few"] = 2
    kafka.produce("few", "a", "2", partition=1)
    await process.turn_until(lambda: process.has_committed(1, GAINED))
    assert logged(kafka) == {b"a": 2}
    assert process.worker.is_running
    assert process.worker.tasks[TaskId("0", 0)] is untouched
    assert process.worker.tasks[TaskId("0", 1)] is not grown
    assert process.worker.tasks[TaskId("0", 1)].sensors is grown.sensors


@GUARANTEES
async def test_what_a_task_has_processed_is_committed_before_it_begins_again(is_exactly_once: bool) -> None:
    kafka = kafka_with_few()
    process = await started(
        Process(kafka, topology=counting_merged(), is_exactly_once=is_exactly_once, commit_interval_ms=10**9), *TASKS
    )
    kafka.produce("many", "a", "1", partition=1)
    await process.turn_until(lambda: process.worker.tasks[TaskId("0", 1)].task.queues["many", 1].position == 1)
    kafka.counts["few"] = 2
    await process.turn_until(lambda: GAINED in process.worker.tasks[TaskId("0", 1)].inputs)
    assert process.has_committed(1, TopicPartition("many", 1))
    assert logged(kafka) == {b"a": 1}


async def test_a_task_waits_for_its_commit_before_it_begins_again() -> None:
    kafka = kafka_with_few()
    process = await started(Process(kafka, topology=counting_merged(), commit_interval_ms=10**9), *TASKS)
    kafka.produce("many", "a", "1", partition=1)
    task = process.worker.tasks[TaskId("0", 1)]
    await process.turn_until(lambda: task.task.queues["many", 1].position == 1)
    failures = failing(process, "flush", DeliveryFailedError("no answer", failed=0, unanswered=1), 3)
    kafka.counts["few"] = 2
    await process.turn_until(lambda: failures() == 3)
    assert process.worker.tasks[TaskId("0", 1)] is task
    await process.turn_until(lambda: GAINED in process.worker.tasks[TaskId("0", 1)].inputs)
    assert logged(kafka) == {b"a": 1}


async def test_a_standby_that_is_promoted_later_reads_what_its_task_has_gained() -> None:
    kafka = kafka_with_few()
    process = await started(Process(kafka, topology=counting_merged()), standby=("0_1",))
    kafka.counts["few"] = 2
    await process.turn_until(lambda: GAINED in process.worker.tasks[TaskId("0", 1)].inputs)
    assert process.worker.tasks[TaskId("0", 1)].role is TaskRole.STANDBY
    kafka.produce("few", "a", "2", partition=1)
    process.member.promote("0_1")
    await process.turn_until(lambda: process.has_committed(1, GAINED))


async def test_a_standby_that_is_promoted_as_its_topic_grows_reads_the_new_partition() -> None:
    kafka = kafka_with_few()
    process = await started(Process(kafka, topology=counting_merged()), standby=("0_1",))
    kafka.counts["few"] = 2
    kafka.produce("few", "a", "2", partition=1)
    process.member.promote("0_1")
    await process.turn_until(lambda: process.has_committed(1, GAINED), 4)


async def test_a_task_keeps_its_partitions_while_a_broker_does_not_know_of_them() -> None:
    kafka = kafka_with_few(2)
    process = await started(Process(kafka, topology=counting_merged()), *TASKS)
    before = dict(process.worker.tasks)
    kafka.counts.update(few=1, many=1)
    await wait(process)
    assert dict(process.worker.tasks) == before
    kafka.counts.update(few=2, many=2)
    await wait(process)
    assert dict(process.worker.tasks) == before


async def test_a_table_whose_source_is_smaller_than_what_it_is_merged_with_runs_and_grows() -> None:
    builder = StreamsBuilder(optimization=Optimization.SOURCE_TOPICS_AS_CHANGELOGS)
    rows = builder.table("few", key=serdes.string, value=serdes.string, store="rows")
    rows.to_stream().merge(builder.stream("many", key=serdes.string, value=serdes.string)).to("out")
    kafka = kafka_with_few()
    process = await started(Process(kafka, topology=builder.build()), *TASKS)
    kafka.counts["few"] = 2
    kafka.produce("few", "a", "2", partition=1)
    await process.turn_until(lambda: process.has_committed(1, GAINED))
    assert [entry.value for entry in kafka.values("out")] == [b"2"]


async def test_a_table_whose_source_is_its_changelog_is_not_read_again_from_its_beginning_when_it_grows() -> None:
    builder = StreamsBuilder(optimization=Optimization.SOURCE_TOPICS_AS_CHANGELOGS)
    rows = builder.table("many", key=serdes.string, value=serdes.string, store="rows")
    rows.to_stream().merge(builder.stream("few", key=serdes.string, value=serdes.string)).to("out")
    kafka = kafka_with_few()
    process = await started(Process(kafka, topology=builder.build()), *TASKS)
    source = TopicPartition("many", 1)
    kafka.produce("many", "a", "1", partition=1)
    await process.turn_until(lambda: process.has_committed(1, source))
    kafka.counts["few"] = 2
    kafka.produce("few", "b", "2", partition=1)
    await process.turn_until(lambda: process.has_committed(1, GAINED))
    task = process.worker.tasks[TaskId("0", 1)]
    assert task.applied[source] == 1
    assert task.engine.table("rows").get(b"a") is not None


async def test_partitions_that_a_global_topic_gains_are_read_while_tasks_go_on() -> None:
    kafka = FakeKafka({"names": 1, "orders": 1, "named": 1})
    process = await started(Process(kafka, topology=enriched()), "1_0")
    kafka.counts["names"] = 2
    kafka.produce("names", "b", "ben", partition=1)
    await process.turn_until(lambda: process.plane.changelogs.positions.get(TopicPartition("names", 1)) == 1)
    assert process.worker.is_running
    kafka.produce("orders", "b", "tea")
    await process.turn_until(lambda: process.has_committed(1, TopicPartition("orders", 0)))
    assert [entry.value for entry in kafka.values("named")] == [b"tea of ben"]


async def test_bounds_of_new_global_partitions_are_asked_for_again(caplog: pytest.LogCaptureFixture) -> None:
    kafka = FakeKafka({"names": 1, "orders": 1, "named": 1})
    process = await started(Process(kafka, topology=enriched()), "1_0")
    failures = failing(process, "stable_bounds", NetworkError("the brokers are away"), 2)
    kafka.counts["names"] = 2
    await process.turn_until(lambda: TopicPartition("names", 1) in process.plane.changelogs.positions)
    assert failures() == 2
    assert "new partitions of global topics are unknown: the brokers are away" in caplog.text


# ------------------------------------------------------------------------------------ when to ask


class Asking:
    """A watch, and the times at which it has asked, in seconds."""

    def __init__(self) -> None:
        kafka = FakeKafka({"few": 1})
        self.clock, self.member, self.plane = ManualClock(), FakeMembership(kafka), FakePlane(kafka)
        self.watch = TopicWatch(self.plane, self.member, self.clock)

    async def asks_in(self, seconds: int) -> list[int]:
        asked = []
        for at in range(seconds):
            if await self.watch.counts() is not None:
                asked.append(at)
            self.clock.advance(1_000)
        return asked


async def test_the_watch_asks_at_once_in_a_new_epoch_and_then_less_often() -> None:
    asking = Asking()
    assert await asking.asks_in(40) == [0, 1, 3, 7, 15, 25, 35]
    asking.member.epoch += 1
    assert await asking.asks_in(4) == [0, 1, 3]


async def test_the_watch_outlasts_every_outage(caplog: pytest.LogCaptureFixture) -> None:
    asking = Asking()

    async def fail() -> None:
        raise NetworkError("the brokers are away")

    asking.plane.partition_counts = fail  # type: ignore[assignment, method-assign]
    assert await asking.asks_in(1_000) == []
    assert "The numbers of partitions are unknown: the brokers are away" in caplog.text
    del asking.plane.partition_counts
    assert await asking.asks_in(10)


async def test_the_watch_ends_the_worker_if_the_brokers_refuse() -> None:
    asking = Asking()

    async def refuse() -> None:
        raise ClusterAuthorizationFailedError("not yours")

    asking.plane.partition_counts = refuse  # type: ignore[assignment, method-assign]
    with pytest.raises(ClusterAuthorizationFailedError, match="not yours"):
        await asking.watch.counts()


# ---------------------------------------------------------------------------------------------- classic groups


def inputs(few: bool = False) -> dict[str, list[TopicPartition]]:
    return {"0_1": [TopicPartition("many", 1), *([GAINED] if few else [])]}


async def test_a_partition_that_the_leader_of_a_classic_group_has_not_assigned_is_not_read() -> None:
    kafka = kafka_with_few()
    process = Process(kafka, topology=counting_merged())
    process.member.assign_inputs(inputs())
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    task = process.worker.tasks[TaskId("0", 1)]
    kafka.counts["few"] = 2
    kafka.produce("few", "a", "2", partition=1)
    await wait(process)
    assert process.worker.tasks[TaskId("0", 1)] is task
    assert task.inputs == (TopicPartition("many", 1),)
    event = process.member.revoke("0_1")
    process.member.assign_inputs(inputs(few=True))
    await process.turn_until(lambda: process.has_committed(1, GAINED))
    assert process.member.confirmed == [event]
    assert logged(kafka) == {b"a": 1}


async def test_a_task_begins_when_the_brokers_know_all_its_partitions() -> None:
    kafka = kafka_with_few()
    process = Process(kafka, topology=counting_merged())
    process.member.assign_inputs(inputs(few=True))
    await process.worker.start()
    await wait(process)
    assert not process.worker.tasks
    kafka.counts["few"] = 2
    await process.turn_until(lambda: process.worker.is_running)
    assert set(process.worker.tasks[TaskId("0", 1)].inputs) == {TopicPartition("many", 1), GAINED}


@pytest.mark.parametrize("few", [False, True])
async def test_a_standby_that_is_promoted_reads_what_was_assigned(*, few: bool) -> None:
    kafka = kafka_with_few(2 if few else 1)
    process = await started(Process(kafka, topology=counting_merged()), standby=("0_1",))
    kafka.counts["few"] = 2
    kafka.produce("few", "a", "2", partition=1)
    process.member.events.append(
        TasksRevoked(MemberTasks(standby=[TaskId("0", 1)]), MemberTasks(active=[TaskId("0", 1)]))
    )
    process.member.assign_inputs(inputs(few=not few))
    await process.turn_until(lambda: process.worker.is_running)
    await wait(process)
    assert (GAINED in process.worker.tasks[TaskId("0", 1)].inputs) is not few
    assert process.has_committed(1, GAINED) is not few
