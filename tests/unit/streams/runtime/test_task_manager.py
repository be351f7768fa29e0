"""Tasks whose topics match patterns read what the leader of their group has assigned."""

import re
from datetime import timedelta

import pytest

from kafka_groups.streams import MemberTasks, StreamsBuilder, StreamsError, TasksRevoked, Topology, serdes, stores
from kafka_groups.streams.runtime.start_offsets import OffsetResets
from kafka_groups.types import TaskId, TopicPartition
from tests.support.fake_kafka import FakeKafka
from tests.unit.streams.runtime.counting import Process

COUNTS = stores.key_value("counts", serdes.string, serdes.int64)
FIRST, SECOND, NAMED = (TopicPartition(topic, 0) for topic in ("p-1", "p-2", "in"))
TASK = TaskId("0", 0)


def counting(*, joins: bool = False) -> Topology:
    """Counts the records of all matching topics and of a named one."""
    builder = StreamsBuilder()
    matched = builder.stream(re.compile("p-.*"), key=serdes.string, value=serdes.string)
    if joins:
        rows = builder.table("in", key=serdes.string, value=serdes.string)
        matched.join(rows, lambda left, right: left + right).to("out", value=serdes.string)
        return builder.build()
    named = builder.stream("in", key=serdes.string, value=serdes.string)
    matched.merge(named).group_by_key().count(store=COUNTS).to_stream().to("out")
    return builder.build()


def kafka_with(**counts: int) -> FakeKafka:
    topics = {topic.replace("_", "-"): count for topic, count in counts.items()}
    return FakeKafka({"in": 1, "out": 1, "app-counts-changelog": 1, **topics})


async def started(kafka: FakeKafka, *partitions: TopicPartition, joins: bool = False) -> Process:
    process = Process(kafka, topology=counting(joins=joins))
    process.member.assign_inputs({str(TASK): partitions})
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    return process


async def test_a_task_reads_the_matching_topics_that_were_assigned_and_no_others() -> None:
    kafka = kafka_with(p_1=1, p_2=1)
    process = await started(kafka, FIRST, NAMED)
    assert process.worker.tasks[TASK].inputs == (NAMED, FIRST)
    for topic in ("p-1", "p-2", "in"):
        kafka.produce(topic, "a", topic)
    await process.turn_until(lambda: process.has_committed(1, FIRST) and process.has_committed(1, NAMED))
    assert SECOND not in kafka.committed
    process.member.revoke(str(TASK))
    process.member.assign_inputs({str(TASK): [FIRST, SECOND, NAMED]})
    await process.turn_until(lambda: process.has_committed(1, SECOND))
    [entry] = [each for each in kafka.logs[TopicPartition("app-counts-changelog", 0)] if each.key == b"a"][-1:]
    assert int.from_bytes(entry.value or b"", "big") == 3


async def test_a_task_begins_when_the_brokers_know_the_matching_topics_that_were_assigned() -> None:
    kafka = kafka_with()
    process = Process(kafka, topology=counting())
    process.member.assign_inputs({str(TASK): [FIRST]})
    await process.worker.start()
    end_ms = process.clock.now_ms() + 20_000
    await process.turn_until(lambda: process.clock.now_ms() >= end_ms)
    assert not process.worker.tasks
    kafka.counts["p-1"] = 1
    await process.turn_until(lambda: process.worker.is_running)
    assert process.worker.tasks[TASK].inputs == (FIRST,)


@pytest.mark.parametrize("has_others", [False, True])
async def test_a_task_whose_topic_was_deleted_before_it_began_is_revoked_in_time(*, has_others: bool) -> None:
    """The worker does not wait for the topic, which never comes, before it hears that the task is not its any more."""
    kafka = kafka_with(p_1=2)
    process = Process(kafka, topology=counting())
    other, place = TaskId("0", 1), TopicPartition("p-1", 1)
    process.member.assign_inputs({str(TASK): [FIRST, SECOND], **({str(other): [place]} if has_others else {})})
    await process.worker.start()
    await process.turn_until(lambda: process.clock.now_ms() > 0)
    assert not process.worker.tasks
    event = process.member.revoke(str(TASK))
    process.member.assign_inputs({str(TASK): [FIRST]})
    await process.turn_until(lambda: process.worker.is_running)
    assert process.member.confirmed == [event]
    assert process.worker.tasks[TASK].inputs == (FIRST,)
    assert process.worker.tasks.keys() == ({TASK, other} if has_others else {TASK})


async def test_the_stores_of_a_copy_that_was_to_become_active_are_closed_if_its_topic_was_deleted() -> None:
    kafka = kafka_with()
    process = Process(kafka, topology=counting())
    process.member.assign(standby=[str(TASK)])
    await process.worker.start()
    await process.turn_until(lambda: bool(process.worker.tasks))
    engine = process.worker.tasks[TASK].engine
    process.member.events.append(TasksRevoked(MemberTasks(standby=[TASK]), then=MemberTasks(active=[TASK])))
    process.member.assign_inputs({str(TASK): [FIRST]})
    await process.turn_until(lambda: len(process.member.confirmed) == 1)
    before = engine.is_open
    process.member.revoke(str(TASK))
    await process.turn_until(lambda: len(process.member.confirmed) == 2)
    assert (before, engine.is_open) == (True, False)


async def test_a_copy_of_a_task_reads_no_matching_topic() -> None:
    kafka = kafka_with(p_1=1)
    process = Process(kafka, topology=counting())
    process.member.assign(standby=[str(TASK)])
    await process.worker.start()
    await process.turn_until(lambda: bool(process.worker.tasks))
    assert process.worker.tasks[TASK].inputs == (NAMED,)


async def test_matching_topics_that_are_joined_have_equal_numbers_of_partitions() -> None:
    kafka = kafka_with(p_1=2)
    with pytest.raises(StreamsError, match="in has 1, p-1 has 2"):
        await started(kafka, FIRST, NAMED, joins=True)


def test_the_rule_of_a_pattern_for_offsets_is_that_of_its_topics() -> None:
    builder = StreamsBuilder()
    for pattern, reset in (("p-.*", "latest"), ("q-.*", timedelta(hours=1)), ("r-.*", None)):
        builder.stream(
            re.compile(pattern),
            key=serdes.string,
            value=serdes.string,
            offset_reset=reset,  # type: ignore[arg-type]
        ).to("out")
    builder.stream("in", key=serdes.string, value=serdes.string, offset_reset="none").to("out")
    resets = OffsetResets(builder.build().graph, "app", "earliest")
    assert [resets.rule(topic) for topic in ("p-1", "q-1", "r-1", "in")] == [
        "latest", timedelta(hours=1), "earliest", "none",
    ]  # fmt: skip
