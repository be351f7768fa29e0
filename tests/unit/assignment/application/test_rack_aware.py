"""Tasks that move to racks where their partitions are (KIP-925)."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignmentConfigs,
    HighAvailabilityTaskAssignor,
    KafkaStreamsAssignment,
    KafkaStreamsState,
    ProcessId,
    RackAwareOptimizationParams,
    TaskInfo,
    TaskTopicPartition,
    optimize_rack_aware_active_tasks,
    optimize_rack_aware_standby_tasks,
)
from kafka_groups.assignment.application.algorithms.plans import ProcessPlan
from kafka_groups.assignment.application.algorithms.rack_aware.rack_awareness import RackAwareness
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.types import TaskId, TopicPartition

NOW = datetime(2030, 1, 1, tzinfo=UTC)
A, B, C = map(ProcessId, "abc")
RACKS: Mapping[ProcessId, str | None] = {A: "east", B: "west", C: "north"}
STATELESS = [TaskId("0", partition) for partition in range(2)]
STATEFUL = [TaskId("1", partition) for partition in range(2)]
CONFIGS = {
    "rack_aware_assignment_strategy": "min_traffic",
    "rack_aware_traffic_cost": 10,
    "rack_aware_non_overlap_cost": 1,
}

Racks = frozenset[str] | None
Assignments = dict[ProcessId, KafkaStreamsAssignment]


def in_east_or_west(partition: TopicPartition) -> Racks:
    """Partition 0 is in the west, and partition 1 in the east."""
    return frozenset({"east"} if partition.partition else {"west"})


def application(
    racks: Mapping[ProcessId, str | None] = RACKS,
    find_racks: Callable[[TopicPartition], Racks] = in_east_or_west,
    tags: Mapping[ProcessId, Mapping[str, str]] | None = None,
    **configs: Any,
) -> ApplicationState:
    states = {
        id_: KafkaStreamsState(
            process_id=id_,
            consumer_client_ids=[f"{id_}-1"],
            rack_id=rack,
            client_tags=(tags or {}).get(id_, {}),
            lags=dict.fromkeys(STATEFUL, 0),
        )
        for id_, rack in racks.items()
    }
    infos = {task: info(task, find_racks) for task in STATELESS + STATEFUL}
    return ApplicationState(infos, AssignmentConfigs(**{**CONFIGS, **configs}), NOW, lambda _lags: states)


def info(task: TaskId, find_racks: Callable[[TopicPartition], Racks]) -> TaskInfo:
    partitions = [
        TaskTopicPartition(TopicPartition(f"in-{task.subtopology_id}", task.partition), True, False, find_racks)
    ]
    if task in STATEFUL:
        partitions.append(TaskTopicPartition(TopicPartition("changelog", task.partition), False, True, find_racks))
    return TaskInfo(task, task in STATEFUL, topic_partitions=tuple(partitions))


def given(
    active: Mapping[ProcessId, Iterable[TaskId]], standby: Mapping[ProcessId, Iterable[TaskId]] | None = None
) -> Assignments:
    return {
        id_: KafkaStreamsAssignment.of(
            id_,
            [*map(AssignedTask.active, active.get(id_, ())), *map(AssignedTask.standby, (standby or {}).get(id_, ()))],
        )
        for id_ in RACKS
    }


def running(assignments: Assignments) -> dict[ProcessId, list[TaskId]]:
    return {id_: [task.id for task in each.tasks.values() if task.is_active] for id_, each in assignments.items()}


def copies(assignments: Assignments) -> dict[ProcessId, list[TaskId]]:
    return {id_: [task.id for task in each.tasks.values() if not task.is_active] for id_, each in assignments.items()}


def far_away() -> Assignments:
    """Return assignments in which each task is in the rack where its partitions are not."""
    return given({A: [STATELESS[0], STATEFUL[0]], B: [STATELESS[1], STATEFUL[1]]})


def optimized(params: RackAwareOptimizationParams, assignments: Assignments) -> dict[ProcessId, list[TaskId]]:
    optimize_rack_aware_active_tasks(params, assignments)
    return running(assignments)


# ---------------------------------------------------------------------------------------------- active tasks


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
def test_tasks_move_to_where_their_partitions_are(strategy: str) -> None:
    params = RackAwareOptimizationParams.of(application(rack_aware_assignment_strategy=strategy))
    assert optimized(params, far_away()) == {A: [STATELESS[1], STATEFUL[1]], B: [STATELESS[0], STATEFUL[0]], C: []}


def test_each_process_keeps_its_number_of_tasks() -> None:
    params = RackAwareOptimizationParams.of(application())
    assert optimized(params, given({C: STATELESS + STATEFUL})) == {A: [], B: [], C: STATELESS + STATEFUL}


def test_subtopologies_are_balanced_even_if_that_costs_more() -> None:
    state = application(rack_aware_assignment_strategy="balance_subtopology", rack_aware_traffic_cost=0)
    found = optimized(RackAwareOptimizationParams.of(state), given({A: STATELESS, B: STATEFUL}))
    assert [sorted(task.subtopology_id for task in found[id_]) for id_ in (A, B)] == [["0", "1"]] * 2


def test_only_chosen_tasks_move() -> None:
    params = RackAwareOptimizationParams.of(application())
    assert optimized(params.for_stateful_tasks(), far_away())[A] == [STATELESS[0], STATEFUL[1]]
    assert optimized(params.for_stateless_tasks(), far_away())[A] == [STATELESS[1], STATEFUL[0]]
    assert optimized(params.for_tasks([STATELESS[0], STATELESS[1]]), far_away())[A] == [STATELESS[1], STATEFUL[0]]
    assert optimized(params.for_tasks([]), far_away()) == running(far_away())


def test_a_copy_is_dropped_where_its_task_now_runs() -> None:
    assignments = given({A: [STATEFUL[0]], B: [STATEFUL[1]]}, {B: [STATEFUL[0]]})
    assert optimized(RackAwareOptimizationParams.of(application()), assignments)[B] == [STATEFUL[0]]
    assert copies(assignments) == {A: [], B: [], C: []}


def test_tasks_stay_if_moving_costs_more_than_it_saves() -> None:
    state = application(rack_aware_traffic_cost=1, rack_aware_non_overlap_cost=2)
    assert optimized(RackAwareOptimizationParams.of(state), far_away()) == running(far_away())


def test_overrides_need_no_configured_costs() -> None:
    """In Kafka Streams 4.3.1, overrides without configured costs have no effect."""
    params = RackAwareOptimizationParams.of(application(rack_aware_traffic_cost=None, rack_aware_non_overlap_cost=None))
    assert optimized(params, far_away()) == running(far_away())
    assert optimized(params.with_traffic_cost_override(10), far_away()) == running(far_away())
    params = params.with_traffic_cost_override(10).with_non_overlap_cost_override(1)
    assert optimized(params, far_away()) != running(far_away())


def test_overrides_win_over_configured_costs() -> None:
    params = RackAwareOptimizationParams.of(application()).with_traffic_cost_override(0)
    assert optimized(params, far_away()) == running(far_away())


@pytest.mark.parametrize("cost", [-1, 2**31])
def test_costs_have_bounds(cost: int) -> None:
    params = RackAwareOptimizationParams.of(application())
    with pytest.raises(ConfigurationError, match=f"traffic cost must be between 0 and 2147483647, not {cost}"):
        params.with_traffic_cost_override(cost)
    with pytest.raises(ConfigurationError, match=f"non-overlap cost must be between 0 and 2147483647, not {cost}"):
        params.with_non_overlap_cost_override(cost)


def test_nothing_moves_without_a_strategy() -> None:
    state = application(rack_aware_assignment_strategy="none")
    assert optimized(RackAwareOptimizationParams.of(state), far_away()) == running(far_away())


def test_nothing_moves_if_a_process_has_no_rack() -> None:
    state = application({**RACKS, C: None})
    assert optimized(RackAwareOptimizationParams.of(state), far_away()) == running(far_away())


@pytest.mark.parametrize("unknown", [None, frozenset[str]()])
def test_nothing_moves_if_racks_of_a_partition_are_not_known(unknown: Racks) -> None:
    """That holds even if its task is not to move."""
    state = application(find_racks=lambda each: unknown if each.topic == "changelog" else in_east_or_west(each))
    params = RackAwareOptimizationParams.of(state).for_stateless_tasks()
    assert optimized(params, far_away()) == running(far_away())


def test_a_chosen_task_must_run_somewhere() -> None:
    params = RackAwareOptimizationParams.of(application())
    with pytest.raises(IllegalStateError, match=r"Task 1_0 does not run in any process\. Assign it first"):
        optimize_rack_aware_active_tasks(params.for_stateful_tasks(), given({A: STATELESS}))
    with pytest.raises(IllegalStateError, match=r"Unknown task 7_0\."):
        params.for_tasks([TaskId("7", 0)])


def test_processes_must_be_known() -> None:
    stranger = ProcessId("stranger")
    params = RackAwareOptimizationParams.of(application())
    for optimize in (optimize_rack_aware_active_tasks, optimize_rack_aware_standby_tasks):
        with pytest.raises(IllegalStateError, match=r"Unknown process stranger\."):
            optimize(params, {stranger: KafkaStreamsAssignment.of(stranger)})


# --------------------------------------------------------------------------------------------- standby tasks


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
def test_copies_change_places(strategy: str) -> None:
    params = RackAwareOptimizationParams.of(application(rack_aware_assignment_strategy=strategy))
    assignments = given({C: STATEFUL}, {A: [STATEFUL[0]], B: [STATEFUL[1]]})
    optimize_rack_aware_standby_tasks(params, assignments)
    assert copies(assignments) == {A: [STATEFUL[1]], B: [STATEFUL[0]], C: []}
    assert running(assignments)[C] == STATEFUL


def test_copies_stay_away_from_their_tasks() -> None:
    assignments = given({A: [STATEFUL[1]], B: [STATEFUL[0]]}, {A: [STATEFUL[0]], B: [STATEFUL[1]]})
    optimize_rack_aware_standby_tasks(RackAwareOptimizationParams.of(application()), assignments)
    assert copies(assignments) == {A: [STATEFUL[0]], B: [STATEFUL[1]], C: []}


def test_only_chosen_copies_move() -> None:
    """Kafka Streams 4.3.1 would move all with `min_traffic`, and throw an exception for tasks without copies."""
    params = RackAwareOptimizationParams.of(application()).for_tasks([STATEFUL[0], STATELESS[0]])
    assignments = given({C: STATEFUL}, {A: [STATEFUL[0]], B: [STATEFUL[1]]})
    optimize_rack_aware_standby_tasks(params, assignments)
    assert copies(assignments) == {A: [STATEFUL[0]], B: [STATEFUL[1]], C: []}


def test_only_racks_of_changelogs_must_be_known_for_copies() -> None:
    state = application(find_racks=lambda each: in_east_or_west(each) if each.topic == "changelog" else None)
    assignments = given({C: STATEFUL}, {A: [STATEFUL[0]], B: [STATEFUL[1]]})
    optimize_rack_aware_standby_tasks(RackAwareOptimizationParams.of(state), assignments)
    assert copies(assignments)[A] == [STATEFUL[1]]


# ------------------------------------------------------------------------------------------ high availability


def highly_available(state: ApplicationState) -> Assignments:
    return {each.process_id: each for each in HighAvailabilityTaskAssignor().assign(state).assignment}


def test_the_assignor_moves_active_tasks_with_its_own_costs() -> None:
    state = application({A: "east", B: "west"}, rack_aware_traffic_cost=None, rack_aware_non_overlap_cost=None)
    assert running(highly_available(state)) == {A: [STATELESS[1], STATEFUL[1]], B: [STATELESS[0], STATEFUL[0]]}


def test_the_assignor_moves_tasks_without_state_whatever_the_costs() -> None:
    state = application({A: "east", B: "west"}, rack_aware_traffic_cost=0, rack_aware_non_overlap_cost=100)
    assert running(highly_available(state)) == {A: [STATELESS[1], STATEFUL[0]], B: [STATELESS[0], STATEFUL[1]]}


@pytest.mark.parametrize(("zone_of_b", "do_move"), [("zone-2", True), ("zone-3", False)])
def test_copies_do_not_move_if_their_tasks_would_have_fewer_different_tags(zone_of_b: str, do_move: bool) -> None:
    """All client tags count. The process that runs the tasks is in the third zone."""
    tags = {A: {"zone": "zone-1"}, B: {"zone": zone_of_b}, C: {"zone": "zone-3"}}
    state = application(tags=tags, num_standby_replicas=1)
    states = state.kafka_streams_states(compute_task_lags=False)
    active, standby = {C: set(STATEFUL)}, {A: {STATEFUL[0]}, B: {STATEFUL[1]}}
    for keeps_tags in (True, False):
        plans = {id_: ProcessPlan(states[id_], active.get(id_, set()), set(standby.get(id_, ()))) for id_ in RACKS}
        racks = RackAwareness.of(states, state.all_tasks, state.assignment_configs, (10, 1))
        racks.move_standby(plans, keeps_tags=keeps_tags)
        assert plans[A].standby == {STATEFUL[1] if do_move or not keeps_tags else STATEFUL[0]}
