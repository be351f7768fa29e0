"""Our assignors of applications and those of Kafka Streams give the same result for the same application."""

import random
from collections.abc import Iterable, Iterator, Mapping, Set

import attrs
import pytest

from kafka_groups.assignment.application.algorithms.balance import deal_out
from kafka_groups.assignment.application.algorithms.plans import Plans, empty_plans
from kafka_groups.assignment.application.algorithms.standby_tasks import add_standby_tasks
from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment
from kafka_groups.assignment.application.building_blocks import default_standby_task_assignment
from kafka_groups.assignment.application.built_in import HighAvailabilityTaskAssignor
from kafka_groups.assignment.application.configs import RackAwareStrategy
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import UNKNOWN_LAG, ApplicationState, KafkaStreamsState
from kafka_groups.assignment.application.threads import MemberShare, spread_over_threads
from kafka_groups.types import TaskId
from tests.support.assignors.application_cases import random_application, random_assignment
from tests.support.kafka.kafka_application_assignor import KafkaApplicationAssignors, MemberTasks
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.xdist_group("application_assignors")]

FEW_SEEDS, MANY_SEEDS = 200, 2_000

Tasks = Mapping[ProcessId, tuple[Set[TaskId], Set[TaskId]]]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaApplicationAssignors]:
    directory = tmp_path_factory.mktemp("application-assignors")
    with KafkaApplicationAssignors(directory, streams_classpath_or_skip(), sorts=True) as running:
        yield running


@pytest.fixture(scope="module")
def seeds(request: pytest.FixtureRequest) -> range:
    return range(MANY_SEEDS if request.config.getoption("--long") else FEW_SEEDS)


def without_racks(seed: object) -> ApplicationState:
    case = random_application(f"{seed}")
    configs = attrs.evolve(case.configs, rack_aware_assignment_strategy=RackAwareStrategy.NONE)
    return attrs.evolve(case, configs=configs).as_state()


def with_some_unknown_lags(state: ApplicationState, rng: random.Random) -> ApplicationState:
    """Return an application some of whose members are of versions that do not tell how far their copies are."""
    states = state.kafka_streams_states(compute_task_lags=True)
    old = {process_id: _of_old_version(each) if rng.random() < 0.5 else each for process_id, each in states.items()}
    return ApplicationState(state.all_tasks, state.assignment_configs, state.now, lambda _lags: old)


def _of_old_version(state: KafkaStreamsState) -> KafkaStreamsState:
    lags = state.stateful_tasks_to_lag_sums()
    copies = dict.fromkeys(state.previous_standby_tasks & lags.keys(), UNKNOWN_LAG)
    return attrs.evolve(state, lags={**lags, **copies})


def as_sets(tasks: Tasks) -> dict[ProcessId, tuple[frozenset[TaskId], frozenset[TaskId]]]:
    return {process_id: (frozenset(active), frozenset(standby)) for process_id, (active, standby) in tasks.items()}


def test_high_availability(kafka: KafkaApplicationAssignors, seeds: range) -> None:
    for seed in seeds:
        state = without_racks(seed)
        ours, theirs = HighAvailabilityTaskAssignor().assign(state).assignment, kafka.high_availability(state)
        assert as_sets(tasks_of_assignments(ours)) == as_sets(theirs.tasks), seed
        assert any(each.followup_rebalance_deadline for each in ours) is theirs.follows_up, seed


def test_high_availability_with_some_unknown_lags(kafka: KafkaApplicationAssignors, seeds: range) -> None:
    for seed in seeds:
        state = with_some_unknown_lags(without_racks(f"unknown-{seed}"), random.Random(seed))
        ours, theirs = HighAvailabilityTaskAssignor().assign(state).assignment, kafka.high_availability(state)
        assert as_sets(tasks_of_assignments(ours)) == as_sets(theirs.tasks), seed
        assert any(each.followup_rebalance_deadline for each in ours) is theirs.follows_up, seed


def test_standby_tasks_by_tags(kafka: KafkaApplicationAssignors, seeds: range) -> None:
    for seed in seeds:
        state = without_racks(f"standby-{seed}")
        configs = state.assignment_configs
        if not (configs.num_standby_replicas and configs.rack_aware_assignment_tags):
            continue
        plans = empty_plans(state.kafka_streams_states(compute_task_lags=False))
        stateful = [task for task, info in state.all_tasks.items() if info.is_stateful]
        deal_out(stateful, plans)
        theirs = kafka.internal_standby(state, [plan.as_assignment() for plan in plans.values()])
        add_standby_tasks(stateful, plans, configs.num_standby_replicas, configs.rack_aware_assignment_tags)
        assert as_sets(tasks_of(plans)) == as_sets(theirs.tasks), seed


@pytest.mark.parametrize("has_tags", [False, True])
def test_default_standby_tasks(kafka: KafkaApplicationAssignors, seeds: range, has_tags: bool) -> None:
    """Of any assignment, also one that leaves tasks out. If there shall be no copies, Kafka makes one by tags."""
    for seed in seeds:
        case = random_application(f"standby-{seed}")
        if not case.configs.num_standby_replicas:
            continue
        tags = case.configs.rack_aware_assignment_tags if has_tags else ()
        configs = attrs.evolve(case.configs, rack_aware_assignment_tags=tags)
        state = attrs.evolve(case, configs=configs).as_state()
        plans = random_assignment(case, random.Random(seed))
        given = {process_id: assignment(process_id, (active, set())) for process_id, (active, _) in plans.items()}
        theirs = kafka.standby_by_tags(state, given.values())
        default_standby_task_assignment(state, given)
        assert as_sets(tasks_of_assignments(given.values())) == as_sets(theirs.tasks), seed


def test_tasks_of_a_process_are_spread_over_its_threads(kafka: KafkaApplicationAssignors, seeds: range) -> None:
    for seed in seeds:
        case = random_application(seed)
        state = case.as_state()
        given = [assignment(*each) for each in random_assignment(case, random.Random(seed)).items()]
        states = state.kafka_streams_states(compute_task_lags=True)
        ours: dict[str, MemberShare] = {}
        for each in given:
            ours |= spread_over_threads(states[each.process_id], each, state.all_tasks)
        theirs = kafka.threads(state, given)
        assert {member: lists_of(share) for member, share in ours.items()} == {
            member: lists_of(share) for member, share in theirs.items()
        }, seed


def assignment(process_id: ProcessId, tasks: tuple[Set[TaskId], Set[TaskId]]) -> KafkaStreamsAssignment:
    active, standby = tasks
    return KafkaStreamsAssignment.of(
        process_id, [*map(AssignedTask.active, active), *map(AssignedTask.standby, standby - active)]
    )


def lists_of(share: MemberShare | MemberTasks) -> list[list[TaskId]]:
    return [sorted(share.stateful), sorted(share.stateless), sorted(share.standby)]


def tasks_of_assignments(assignments: Iterable[KafkaStreamsAssignment]) -> Tasks:
    return {
        each.process_id: (
            {task.id for task in each.tasks.values() if task.is_active},
            {task.id for task in each.tasks.values() if not task.is_active},
        )
        for each in assignments
    }


def tasks_of(plans: Plans) -> Tasks:
    return {process_id: (plan.active, plan.standby) for process_id, plan in plans.items()}
