"""Assignors of applications in streams groups (KIP-924): what they see, what follows, when they run again."""

import logging
from datetime import timedelta
from typing import Any

import pytest
from attrs import define, evolve, field

from kafka_groups.assignment import (
    ACTIVE_LAG,
    ApplicationState,
    AssignedTask,
    KafkaStreamsAssignment,
    ProcessId,
    Registered,
    TaskAssignment,
    TaskAssignmentError,
    TaskAssignors,
)
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig
from kafka_groups.errors import UnknownServerError
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatResponse,
    StreamsStatus,
)
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, TaskOffset
from kafka_groups.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from kafka_groups.protocol.messages.topology_description import (
    PROCESSOR_NODE,
    DescribedTopology,
    TopologyDescriptionNode,
    TopologyDescriptionSubtopology,
)
from kafka_groups.types import TaskId, TopicPartition
from tests.support.broker.streams_groups import GROUP, Streams, active, standby, task_ids
from tests.support.members.streams_topologies import internal, sent, subtopology

COUNTS = sent(subtopology("0", sources=("in",), changelogs=(internal("app-counts-changelog"),)))
AT_ONCE = StreamsGroupConfig(initial_rebalance_delay_ms=0, assignment_interval_ms=0, assignor_name="mine")


@define
class Scripted:
    """An assignor that gives all tasks to one process, as function; or raises an error, or asks for a follow-up."""

    to: str = "a"
    copies: dict[str, int] = field(factory=dict)
    error: Exception | None = None
    follow_up_s: float | None = None
    seen: list[ApplicationState] = field(factory=list)

    def __call__(self, state: ApplicationState) -> TaskAssignment:
        self.seen.append(state)
        if self.error is not None:
            raise self.error
        processes = state.kafka_streams_states(compute_task_lags=True)
        given = [self._given(process, state) for process in processes]
        if self.follow_up_s is not None:
            given[0] = given[0].with_followup_rebalance(state.now + timedelta(seconds=self.follow_up_s))
        return TaskAssignment(given)

    def _given(self, process: ProcessId, state: ApplicationState) -> KafkaStreamsAssignment:
        tasks = list(state.all_tasks)
        if str(process) == self.to:
            return KafkaStreamsAssignment.of(process, map(AssignedTask.active, tasks))
        return KafkaStreamsAssignment.of(process, map(AssignedTask.standby, tasks[: self.copies.get(str(process), 0)]))


def streams_with(assignor: object, config: StreamsGroupConfig = AT_ONCE, partitions: int = 2, **rules: Any) -> Streams:
    streams = Streams(config, assignors=TaskAssignors.of(["sticky", Registered(assignor, name="mine")]), **rules)
    streams.topics.create("in", partitions)
    streams.topics.create("app-counts-changelog", partitions)
    return streams


def beat(streams: Streams, member_id: str, *owned: int, **fields: Any) -> StreamsGroupHeartbeatResponse:
    """A heartbeat with the epoch that the member has, which says what it owns if tasks are given."""
    epoch = streams.group.current[member_id].member_epoch
    return streams.beat(member_id, epoch, [("0", task) for task in owned] if owned else None, **fields)


def offsets(**by_task: int) -> tuple[TaskOffset, ...]:
    return tuple(
        TaskOffset(subtopology_id="0", partition=int(task[1:]), offset=offset) for task, offset in by_task.items()
    )


def test_a_group_goes_on_while_the_assignor_runs() -> None:
    streams = streams_with(Scripted())
    joined = streams.join("a", COUNTS)
    assert active(joined) == set()
    assert [each.status_code for each in joined.status or ()] == [StreamsStatus.ASSIGNMENT_DELAYED]
    assert active(beat(streams, "a")) is None
    assert len(streams.to_compute) >= 1
    streams.compute()
    got = beat(streams, "a")
    assert active(got) == task_ids("0", 0, 1)
    assert got.status == ()


def test_what_an_assignor_sees() -> None:
    assignor = Scripted()
    streams = streams_with(
        assignor,
        evolve(AT_ONCE, num_standby_replicas=1, rack_aware_assignment_tags=("zone",)),
    )
    streams.topics.racks[TopicPartition("in", 1)] = frozenset({"r1"})
    streams.join("a", COUNTS, rack_id="r1", client_tags=(KeyValue(key="zone", value="z"),))
    streams.compute()
    beat(streams, "a")
    beat(streams, "a", 0, 1, task_end_offsets=offsets(t0=100, t1=50))
    streams.join("b", COUNTS, task_offsets=offsets(t0=40))
    streams.join("b2", COUNTS, process_id="b")
    streams.compute()
    beat(streams, "a")
    streams.compute()
    state = assignor.seen[-1]
    assert (state.assignment_configs.num_standby_replicas, state.assignment_configs.rack_aware_assignment_tags) == (
        1,
        ("zone",),
    )
    info = state.all_tasks[TaskId("0", 1)]
    assert info.is_stateful
    assert info.state_store_names == {"counts"}
    racks = {each.topic_partition.topic: each.rack_ids for each in info.topic_partitions}
    assert racks == {"in": {"r1"}, "app-counts-changelog": None}
    processes = state.kafka_streams_states(compute_task_lags=True)
    a, b = processes[ProcessId("a")], processes[ProcessId("b")]
    assert (a.rack_id, a.client_tags, a.previous_active_tasks) == ("r1", {"zone": "z"}, task_ids("0", 0, 1))
    assert (b.consumer_client_ids, b.previous_standby_tasks) == (("b", "b2"), task_ids("0", 0))
    assert dict(a.stateful_tasks_to_lag_sums()) == {TaskId("0", 0): ACTIVE_LAG, TaskId("0", 1): ACTIVE_LAG}
    assert dict(b.stateful_tasks_to_lag_sums()) == {TaskId("0", 0): 60, TaskId("0", 1): 50}


def test_stores_have_the_names_of_the_description_if_there_is_one() -> None:
    assignor = Scripted()
    streams = streams_with(assignor, partitions=1, keeps_descriptions=True)
    streams.join("a", COUNTS)
    streams.compute()
    node = TopologyDescriptionNode(name="p", node_type=PROCESSOR_NODE, stores=("sums", "names"))
    streams.store(
        streams.groups.update_description(
            StreamsGroupTopologyDescriptionUpdateRequest(
                group_id=GROUP,
                member_id="a",
                topology_epoch=0,
                topology_description=DescribedTopology(
                    subtopologies=(TopologyDescriptionSubtopology(subtopology_id="0", nodes=(node,)),)
                ),
            )
        )
    )
    streams.join("b", COUNTS)
    streams.compute()
    names = [state.all_tasks[TaskId("0", 0)].state_store_names for state in assignor.seen]
    assert names[0] == {"counts"}
    assert names[-1] == {"sums", "names"}


def test_copies_go_to_members_too() -> None:
    streams = streams_with(Scripted(copies={"b": 1}))
    streams.join("a", COUNTS)
    streams.join("b", COUNTS)
    streams.compute()
    beat(streams, "a")
    streams.compute()
    assert standby(beat(streams, "b")) == task_ids("0", 0)


def test_a_result_for_an_older_epoch_is_dropped() -> None:
    assignor = Scripted()
    streams = streams_with(assignor)
    streams.join("a", COUNTS)
    streams.join("b", COUNTS)  # the epoch increases while the assignor runs
    before = len(streams.records)
    streams.compute()
    assert len(streams.records) == before
    beat(streams, "a")
    streams.compute()
    assert not streams.group.needs_target
    assert {str(each) for each in assignor.seen[-1].kafka_streams_states(compute_task_lags=False)} == {"a", "b"}


def test_the_default_assignor_of_kafka_is_used_as_before() -> None:
    streams = streams_with(Scripted(), evolve(AT_ONCE, assignor_name="sticky"))
    assert active(streams.join("a", COUNTS)) == task_ids("0", 0, 1)
    assert streams.to_compute == []


def test_a_high_availability_group_works() -> None:
    streams = Streams(AT_ONCE, assignors=TaskAssignors.of(["highly_available"]))
    streams.topics.create("in", 2)
    streams.topics.create("app-counts-changelog", 2)
    streams.join("a", COUNTS)
    streams.compute()
    assert active(beat(streams, "a")) == task_ids("0", 0, 1)
    assert streams.groups.describe(GROUP).assignor_name == "highly_available"


# ------------------------------------------------------------------------------------------------ errors


def failing(error: Exception) -> tuple[Streams, Scripted]:
    """A group with one member that has both tasks, whose assignor fails for another."""
    assignor = Scripted()
    streams = streams_with(assignor)
    streams.join("a", COUNTS)
    streams.compute()
    assert active(beat(streams, "a")) == task_ids("0", 0, 1)
    assignor.error = error
    streams.join("b", COUNTS)
    streams.compute()
    return streams, assignor


def test_after_an_assignment_error_members_keep_their_tasks_and_the_assignor_runs_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        streams, assignor = failing(TaskAssignmentError("no idea"))
    assert "the task assignor mine failed for epoch 3, and runs again in 100 ms: no idea" in caplog.text
    assert beat(streams, "a").member_epoch == 2
    assert streams.to_compute == []
    waits = []
    for _ in range(12):
        waited = 0
        while not streams.to_compute:
            streams.after(50)
            waited += 50
            beat(streams, "a")
        streams.compute()
        waits.append(waited)
    assert waits[:4] == [100, 200, 400, 800]
    assert waits[-1] == 30_000
    assignor.error, assignor.to = None, "b"
    streams.after(30_000)
    beat(streams, "a")
    streams.compute()
    assert active(beat(streams, "a")) == set()


class WithoutTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("error", [LookupError("gone"), KeyError("x"), WithoutTextError()])
def test_after_another_error_heartbeats_fail_as_with_kafka(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        streams, assignor = failing(error)
    assert caplog.records[-1].exc_info is not None
    for member in ("a", "b"):
        with pytest.raises(UnknownServerError, match="Failed to compute a new target assignment for epoch 3: "):
            beat(streams, member)
    assignor.error = None
    streams.after(100)
    beat(streams, "a")
    streams.compute()
    assert not streams.group.needs_target


def test_a_result_with_an_error_fails_heartbeats() -> None:
    def forgetful(_state: ApplicationState) -> TaskAssignment:
        return TaskAssignment([])

    streams = streams_with(forgetful)
    streams.join("a", COUNTS)
    streams.compute()
    with pytest.raises(UnknownServerError, match=r"the error MISSING_PROCESS_ID: process \S+ has no assignment"):
        beat(streams, "a")
    assert streams.group.target == {}


def test_another_change_of_the_group_ends_the_failure() -> None:
    streams, assignor = failing(LookupError("gone"))
    assignor.error = None
    streams.join("c", COUNTS)
    streams.compute()
    assert not streams.group.needs_target


def test_too_many_tags_are_an_error_that_says_so() -> None:
    config = evolve(AT_ONCE, rack_aware_assignment_tags=tuple("abcdef"))
    with pytest.raises(UnknownServerError, match="mine cannot be used: rack_aware_assignment_tags must be at most 5"):
        streams_with(Scripted(), config).join("a", COUNTS)


# --------------------------------------------------------------------------------------------- follow-ups


def test_a_group_is_assigned_again_when_the_deadline_has_passed() -> None:
    assignor = Scripted(follow_up_s=60)
    streams = streams_with(assignor)
    streams.join("a", COUNTS)
    streams.compute()
    beat(streams, "a")
    streams.after(20_000)
    beat(streams, "a")
    streams.after(39_000)
    beat(streams, "a")
    assert streams.group.epoch == 2
    assignor.follow_up_s = None
    streams.after(1_000)
    assert streams.group.epoch == 3
    beat(streams, "a")
    streams.compute()
    assert not streams.group.needs_target
    for _ in range(10):
        streams.after(20_000)
        beat(streams, "a")
    assert streams.group.epoch == 3, "the last result has no deadline"


def test_a_deadline_that_has_passed_already_waits_for_a_second() -> None:
    streams = streams_with(Scripted(follow_up_s=-100))
    streams.join("a", COUNTS)
    streams.compute()
    streams.after(999)
    assert streams.group.epoch == 2
    streams.after(1)
    assert streams.group.epoch == 3


def test_a_copy_that_has_caught_up_ends_the_wait() -> None:
    streams = streams_with(Scripted(copies={"b": 1}, follow_up_s=3_600))
    streams.join("a", COUNTS)
    streams.join("b", COUNTS)
    streams.compute()
    beat(streams, "a")
    streams.compute()
    epoch = streams.group.epoch
    beat(streams, "a", task_end_offsets=offsets(t0=1_000_000))
    assert standby(beat(streams, "b")) == task_ids("0", 0)
    beat(streams, "b", task_offsets=offsets(t0=500_000))
    assert streams.group.epoch == epoch, "it has not caught up"
    beat(streams, "b", task_offsets=offsets(t0=995_000))
    assert streams.group.epoch == epoch + 1
    streams.compute()
    beat(streams, "b", task_offsets=offsets(t0=996_000))
    assert streams.group.epoch == epoch + 1, "it had caught up before"


def test_reports_count_only_while_a_deadline_is_pending() -> None:
    streams = streams_with(Scripted(copies={"b": 1}))
    streams.join("a", COUNTS)
    streams.join("b", COUNTS)
    streams.compute()
    beat(streams, "a")
    streams.compute()
    epoch = streams.group.epoch
    beat(streams, "a", task_end_offsets=offsets(t0=100))
    beat(streams, "b", task_offsets=offsets(t0=100))
    assert streams.group.epoch == epoch


def test_after_a_move_of_the_coordinator_a_group_is_assigned_again_after_the_probing_interval() -> None:
    streams = streams_with(Scripted())
    streams.join("a", COUNTS)
    streams.compute()
    beat(streams, "a")
    streams.move()
    for _ in range(30):
        streams.after(20_000)
        beat(streams, "a")
    assert streams.group.epoch == 3


def test_a_move_forgets_what_was_being_computed() -> None:
    streams = streams_with(Scripted())
    streams.join("a", COUNTS)
    streams.move()
    streams.to_compute.clear()
    beat(streams, "a")
    streams.compute()
    assert active(beat(streams, "a")) == task_ids("0", 0, 1)
