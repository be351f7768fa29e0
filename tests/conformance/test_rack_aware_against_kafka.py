"""Our rack-aware optimisation and that of Kafka Streams move tasks in the same way, for the same costs."""

import random
from collections.abc import Collection, Iterator, Mapping

import attrs
import pytest

from kafka_groups.assignment.application.algorithms.plans import Plans, empty_plans
from kafka_groups.assignment.application.algorithms.rack_aware.moves import move_active_tasks, move_standby_tasks
from kafka_groups.assignment.application.algorithms.rack_aware.racks import RackCosts, is_changelog, is_source
from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment
from kafka_groups.assignment.application.built_in import HighAvailabilityTaskAssignor
from kafka_groups.assignment.application.configs import RackAwareStrategy
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.rack_aware import (
    RackAwareOptimizationParams,
    optimize_rack_aware_active_tasks,
    optimize_rack_aware_standby_tasks,
)
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.errors import IllegalStateError
from kafka_groups.types import TaskId
from tests.support.assignors.application_cases import ApplicationCase, Limits, random_application, random_assignment
from tests.support.kafka.kafka_application_assignor import (
    JavaExceptionError,
    KafkaApplicationAssignors,
    ProcessTasks,
    tasks_of,
)
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip

pytestmark = [
    pytest.mark.real_kafka,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("application_assignors"),
]

FEW_SEEDS, MANY_SEEDS, LARGE_SEEDS = 200, 2_000, 20
SMALL, LARGE = Limits(), Limits(processes=20, tasks=120)
RACKS = ("rack-a", "rack-b", "rack-c", "rack-d")
STRATEGIES = [RackAwareStrategy.MIN_TRAFFIC, RackAwareStrategy.BALANCE_SUBTOPOLOGY]
COSTS = ((1, 10), (10, 1), (1, 0), (1, 1), (3, 2))
Tasks = Mapping[ProcessId, ProcessTasks]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaApplicationAssignors]:
    directory = tmp_path_factory.mktemp("rack-aware")
    with KafkaApplicationAssignors(directory, streams_classpath_or_skip(), sorts=True) as running:
        yield running


@pytest.fixture(scope="module")
def seeds(request: pytest.FixtureRequest) -> range:
    return range(MANY_SEEDS if request.config.getoption("--long") else FEW_SEEDS)


# ------------------------------------------------------------------------------------------------- applications


def in_racks(seed: object, strategy: RackAwareStrategy, limits: Limits = SMALL) -> ApplicationCase:
    """Return an application whose processes and partitions are all in known racks, with costs that make tasks move."""
    case = random_application(f"racks-{seed}", most_processes=limits.processes, most_tasks=limits.tasks)
    rng = random.Random(f"racks-{seed}")
    racks = RACKS[: rng.randint(2, len(RACKS))]
    traffic, non_overlap = rng.choice(COSTS)
    return attrs.evolve(
        case,
        racks={each: frozenset(rng.sample(racks, rng.choice((1, 1, 2)))) for each in sorted(case.racks)},
        processes=tuple(attrs.evolve(each, rack=rng.choice(racks)) for each in case.processes),
        configs=attrs.evolve(
            case.configs,
            rack_aware_assignment_strategy=strategy,
            rack_aware_traffic_cost=traffic,
            rack_aware_non_overlap_cost=non_overlap,
        ),
    )


def with_gaps(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    """Return an application in which the rack of a process, the racks of a partition, or a cost may not be known."""
    what = rng.choice(("nothing", "nothing", "process", "partition", "traffic", "non_overlap"))
    if what == "process":
        first, *others = case.processes
        return attrs.evolve(case, processes=(attrs.evolve(first, rack=None), *others))
    if what == "partition":
        return attrs.evolve(case, racks={**case.racks, rng.choice(sorted(case.racks)): None})
    if what == "nothing":
        return case
    return without_traffic_cost(case) if what == "traffic" else without_non_overlap_cost(case)


def given_to(case: ApplicationCase, rng: random.Random) -> dict[ProcessId, ProcessTasks]:
    plan = random_assignment(case, rng)
    return {id_: (frozenset(active), frozenset(standby - active)) for id_, (active, standby) in plan.items()}


def copied(case: ApplicationCase, rng: random.Random) -> dict[ProcessId, ProcessTasks]:
    """Return an assignment in which most tasks with state have copies."""
    return given_to(with_copies(case), rng) if rng.random() < 0.2 else _copied(case, rng)


def _copied(case: ApplicationCase, rng: random.Random) -> dict[ProcessId, ProcessTasks]:
    tasks: dict[ProcessId, tuple[set[TaskId], set[TaskId]]] = {each.id: (set(), set()) for each in case.processes}
    for task in case.tasks:
        owner, *others = rng.sample(list(tasks), len(tasks))
        tasks[owner][0].add(task)
        for id_ in others[: rng.randint(1, 3)] if task in case.ends else ():
            tasks[id_][1].add(task)
    return {id_: (frozenset(active), frozenset(standby)) for id_, (active, standby) in tasks.items()}


def without_copies(tasks: Tasks) -> dict[ProcessId, ProcessTasks]:
    return {id_: (active, frozenset()) for id_, (active, _) in tasks.items()}


def with_copies(case: ApplicationCase) -> ApplicationCase:
    return attrs.evolve(case, configs=attrs.evolve(case.configs, num_standby_replicas=2))


def without_traffic_cost(case: ApplicationCase) -> ApplicationCase:
    return attrs.evolve(case, configs=attrs.evolve(case.configs, rack_aware_traffic_cost=None))


def without_non_overlap_cost(case: ApplicationCase) -> ApplicationCase:
    return attrs.evolve(case, configs=attrs.evolve(case.configs, rack_aware_non_overlap_cost=None))


def as_assignments(tasks: Tasks) -> dict[ProcessId, KafkaStreamsAssignment]:
    return {
        id_: KafkaStreamsAssignment.of(id_, [*map(AssignedTask.active, active), *map(AssignedTask.standby, standby)])
        for id_, (active, standby) in tasks.items()
    }


def as_plans(state: ApplicationState, tasks: Tasks) -> Plans:
    plans = empty_plans(state.kafka_streams_states(compute_task_lags=False))
    for id_, (active, standby) in tasks.items():
        plans[id_].active |= active
        plans[id_].standby |= standby
    return plans


def tasks_in(plans: Plans) -> Tasks:
    return {id_: (frozenset(plan.active), frozenset(plan.standby)) for id_, plan in plans.items()}


# --------------------------------------------------------------------------------------------- internal classes


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_active_tasks_inside(kafka: KafkaApplicationAssignors, seeds: range, strategy: RackAwareStrategy) -> None:
    moving = 0
    for seed in seeds:
        case = in_racks(f"inside-{seed}", strategy)
        rng = random.Random(seed)
        given = without_copies(given_to(case, rng))
        tasks = sorted(task for active, _ in given.values() for task in active)
        chosen = tasks if rng.random() < 0.8 else rng.sample(tasks, len(tasks) // 2)
        moving += active_tasks_inside(kafka, case.as_state(), given, chosen, rng.choice(COSTS)) != given
    assert moving


def active_tasks_inside(
    kafka: KafkaApplicationAssignors,
    state: ApplicationState,
    given: Tasks,
    chosen: Collection[TaskId],
    costs: tuple[int, int],
) -> Tasks:
    theirs = kafka.internal_rack_aware_active(state, given, chosen, *costs)
    known = RackCosts.of(state.kafka_streams_states(compute_task_lags=False), state.all_tasks, is_source, *costs)
    plans = as_plans(state, given)
    move_active_tasks(chosen, plans, known, state.assignment_configs.rack_aware_assignment_strategy)
    assert theirs.is_enabled
    assert cost_of_active(known, given, tasks_in(plans), chosen) == theirs.cost
    assert tasks_in(plans) == theirs.tasks
    return theirs.tasks


def cost_of_active(costs: RackCosts, before: Tasks, after: Tasks, chosen: Collection[TaskId]) -> int:
    owners = {task: id_ for id_, (active, _) in before.items() for task in active}
    runs_in = {task: id_ for id_, (active, _) in after.items() for task in active}
    return sum(costs.row(task, owners[task], [runs_in[task]])[0] for task in chosen)


def test_standby_tasks_inside(kafka: KafkaApplicationAssignors, seeds: range) -> None:
    moving = 0
    for seed in seeds:
        case = in_racks(f"inside-{seed}", RackAwareStrategy.MIN_TRAFFIC)
        rng = random.Random(seed)
        state, given, costs = with_copies(case).as_state(), copied(case, rng), rng.choice(COSTS)
        theirs = kafka.internal_rack_aware_standby(state, given, *costs)
        known = RackCosts.of(state.kafka_streams_states(compute_task_lags=False), state.all_tasks, is_changelog, *costs)
        plans = as_plans(state, given)
        move_standby_tasks(plans, known, RackAwareStrategy.MIN_TRAFFIC, lambda _task, _source, _destination: True)
        assert theirs.is_enabled
        assert tasks_in(plans) == theirs.tasks, seed
        moving += theirs.tasks != given
    assert moving


# ------------------------------------------------------------------------------------------ TaskAssignmentUtils


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_active_tasks(kafka: KafkaApplicationAssignors, seeds: range, strategy: RackAwareStrategy) -> None:
    moving = 0
    for seed in seeds:
        rng = random.Random(seed)
        case = with_gaps(in_racks(f"public-{seed}", strategy), rng)
        state, given = case.as_state(), given_to(case, rng)
        chosen = rng.choice((None, None, rng.sample(case.tasks, len(case.tasks) // 3)))
        ours = active_tasks(state, given, chosen)
        assert ours == kafkas_active_tasks(kafka, state, given, chosen), seed
        moving += ours not in (None, given)
    assert moving


def active_tasks(state: ApplicationState, given: Tasks, chosen: Collection[TaskId] | None) -> Tasks | None:
    """Return what becomes of the tasks, or None if one that was chosen does not run anywhere."""
    params, assignments = RackAwareOptimizationParams.of(state), as_assignments(given)
    try:
        optimize_rack_aware_active_tasks(params if chosen is None else params.for_tasks(chosen), assignments)
    except IllegalStateError:
        return None
    return tasks_of(assignments.values())


def kafkas_active_tasks(
    kafka: KafkaApplicationAssignors, state: ApplicationState, given: Tasks, chosen: Collection[TaskId] | None
) -> Tasks | None:
    try:
        return kafka.optimize_rack_aware_active(state, given, chosen=chosen).tasks
    except JavaExceptionError as error:
        if "not assigned to any client" in str(error):
            return None
        raise


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_standby_tasks(kafka: KafkaApplicationAssignors, seeds: range, strategy: RackAwareStrategy) -> None:
    moving = 0
    for seed in seeds:
        rng = random.Random(seed)
        case = with_gaps(in_racks(f"public-{seed}", strategy), rng)
        state, given = case.as_state(), copied(case, rng)
        assignments = as_assignments(given)
        optimize_rack_aware_standby_tasks(RackAwareOptimizationParams.of(state), assignments)
        theirs = kafka.optimize_rack_aware_standby(state, given).tasks
        assert tasks_of(assignments.values()) == theirs, seed
        moving += theirs != given
    assert moving


def test_overrides_of_costs(kafka: KafkaApplicationAssignors, seeds: range) -> None:
    """Kafka's class only looks at overrides if both costs are configured; ours gets an application without."""
    for seed in seeds:
        case, rng = in_racks(f"override-{seed}", RackAwareStrategy.MIN_TRAFFIC), random.Random(seed)
        given, (traffic, non_overlap) = given_to(case, rng), rng.choice(COSTS)
        params = RackAwareOptimizationParams.of(without_traffic_cost(without_non_overlap_cost(case)).as_state())
        params = params.with_traffic_cost_override(traffic).with_non_overlap_cost_override(non_overlap)
        assignments = as_assignments(given)
        optimize_rack_aware_active_tasks(params, assignments)
        theirs = kafka.optimize_rack_aware_active(
            case.as_state(), given, traffic_cost=traffic, non_overlap_cost=non_overlap
        )
        assert tasks_of(assignments.values()) == theirs.tasks, seed


# -------------------------------------------------------------------------------------------- high availability


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_high_availability(kafka: KafkaApplicationAssignors, seeds: range, strategy: RackAwareStrategy) -> None:
    cases = ((seed, with_gaps(in_racks(seed, strategy), random.Random(seed))) for seed in seeds)
    differing = [seed for seed, case in cases if high_availability_differs(kafka, case.as_state())]
    assert not differing


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_high_availability_of_large_applications(kafka: KafkaApplicationAssignors, strategy: RackAwareStrategy) -> None:
    cases = ((seed, in_racks(f"large-{seed}", strategy, LARGE)) for seed in range(LARGE_SEEDS))
    differing = [seed for seed, case in cases if high_availability_differs(kafka, case.as_state())]
    assert not differing


def high_availability_differs(kafka: KafkaApplicationAssignors, state: ApplicationState) -> bool:
    ours = HighAvailabilityTaskAssignor().assign(state).assignment
    theirs = kafka.high_availability(state)
    follows_up = any(each.followup_rebalance_deadline for each in ours)
    return tasks_of(ours) != theirs.tasks or follows_up is not theirs.follows_up
