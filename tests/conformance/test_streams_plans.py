"""Plans for streams groups: on an embedded broker and on a real Kafka they say the same, and change nothing."""

from typing import Any

import pytest

from kafka_groups.admin import CopyBasis, PlannedProcess, StreamsPlan
from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignedTaskType,
    KafkaStreamsAssignment,
    TaskAssignment,
)
from kafka_groups.errors import GroupIdNotFoundError, IllegalStateError
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, TaskOffset
from kafka_groups.protocol.record_builder import NewRecord
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.support.targets import Target, everywhere

TASKS, RECORDS, REPORTED = 3, 7, 2


def to_zone_b(state: ApplicationState) -> TaskAssignment:
    """Give all tasks to the processes of zone b, in turn, and copies to the others."""
    processes = state.kafka_streams_states(compute_task_lags=True)
    assert all(task.is_stateful for task in state.all_tasks.values())
    (chosen,) = (id_ for id_, each in processes.items() if each.client_tags.get("zone") == "b")
    mine = map(AssignedTask.active, state.all_tasks)
    return TaskAssignment(
        KafkaStreamsAssignment.of(id_, mine if id_ == chosen else map(AssignedTask.standby, state.all_tasks))
        for id_ in processes
    )


class CountingGroup:
    """A streams group with one member that has three tasks with changelogs, and has reported offsets of two."""

    def __init__(self, target: Target, topic: Topic) -> None:
        self.target = target
        self.group_id = unique("app")
        self.changelog = f"{self.group_id}-counts-changelog"
        self.member = StreamsMember(target.client(), self.group_id, "member-1")
        configs = {"cleanup.policy": "compact"}
        changelogs = (internal(self.changelog, configs=configs),)
        self.topology = sent(subtopology("0", sources=(topic.name,), changelogs=changelogs))

    async def start(self) -> None:
        """Join, write records to each partition of the changelog, and report offsets."""
        tags = (KeyValue(key="zone", value="a"),)
        await self.target.cluster.coordinator_of(self.group_id)
        beat = await self.member.join_where_topics_are_new(self.topology, client_tags=tags)
        while not beat.active:
            beat = await until(self.member.beat, lambda it: it.active is not None)
        found = await until(
            lambda: self.target.cluster.describe_topic(self.changelog), lambda it: len(it.partitions) == TASKS
        )
        assert found.topic_id is not None
        for partition in range(TASKS):
            records = [NewRecord(b"v", key=b"k")] * RECORDS
            await self.target.cluster.produce(Topic(self.changelog, found.topic_id), records, partition)
        await self.member.beat(
            owned=beat.active, task_offsets=_sums(0, 1, offset=REPORTED), task_end_offsets=_sums(0, 1, offset=RECORDS)
        )

    async def plan(self, assignor: object, **change: Any) -> StreamsPlan:
        async with self.target.admin() as admin:
            return await admin.plan_streams_group(self.group_id, assignor, **change)


def _sums(*partitions: int, offset: int) -> tuple[TaskOffset, ...]:
    return tuple(TaskOffset(subtopology_id="0", partition=number, offset=offset) for number in partitions)


async def counting(target: Target) -> CountingGroup:
    group = CountingGroup(target, await target.cluster.create_topic(TASKS))
    await group.start()
    return group


@everywhere
async def test_a_plan_says_what_moves_and_changes_nothing(target: Target) -> None:
    group = await counting(target)
    async with target.admin() as admin:
        before = (await admin.describe_streams_groups([group.group_id]))[group.group_id]
        assert [each.task_offsets for each in before.members] == [{"0": {0: REPORTED, 1: REPORTED}}]
        made = await group.plan(to_zone_b, joining=[PlannedProcess(threads=2, client_tags={"zone": "b"})])
        assert (await admin.describe_streams_groups([group.group_id]))[group.group_id] == before
    assert (made.state, made.group_assignor, made.error, made.warnings) == ("Stable", "sticky", None, ())
    active = [move for move in made.moves if move.role is AssignedTaskType.ACTIVE]
    assert [(str(move.task), move.records, move.basis) for move in active] == [
        (f"0_{number}", RECORDS, CopyBasis.WHOLE) for number in range(TASKS)
    ]
    copies = [move for move in made.moves if move.role is AssignedTaskType.STANDBY]
    assert [(move.records, move.role_before) for move in copies] == [(0, AssignedTaskType.ACTIVE)] * TASKS
    old, new = sorted(made.processes, key=lambda each: len(each.threads))
    assert old.before is not None
    assert (old.before.active, old.after and old.after.standby) == (TASKS, TASKS)
    assert (new.before, new.after and new.after.active) == (None, TASKS)


@everywhere
async def test_a_plan_of_the_built_in_assignors_and_the_number_of_copies(target: Target) -> None:
    group = await counting(target)
    made = await group.plan("sticky", standby_replicas=1, joining=[PlannedProcess()])
    assert sum(each.after.standby for each in made.processes if each.after) == TASKS
    assert len(made.warnings) == 1
    assert (await group.plan("highly_available")).moves == ()
    await target.cluster.set_group_config(group.group_id, {"streams.num.standby.replicas": "1"})
    made = await group.plan("highly_available", joining=[PlannedProcess()])
    assert sum(each.after.standby for each in made.processes if each.after) == TASKS


@everywhere
async def test_groups_without_tasks_cannot_be_planned(target: Target) -> None:
    group = await counting(target)
    await group.member.leave()
    with pytest.raises(IllegalStateError, match=f"The streams group {group.group_id} is Empty\\. "):
        await group.plan("sticky")
    async with target.admin() as admin:
        with pytest.raises(GroupIdNotFoundError):
            await admin.plan_streams_group(unique("absent"), "sticky")
    waiting = StreamsMember(target.client(), unique("app"), "member-1")
    await target.cluster.coordinator_of(waiting.group_id)
    await waiting.join(sent(subtopology("0", sources=(unique("missing"),))))
    async with target.admin() as admin:
        with pytest.raises(IllegalStateError, match="is NotReady\\. Its topology does not work"):
            await admin.plan_streams_group(waiting.group_id, "sticky")
