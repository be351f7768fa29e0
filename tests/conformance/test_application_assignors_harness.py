"""The program that asks Kafka's own task assignors of classic groups answers, and says what Kafka says."""

import random
from collections.abc import Iterator
from uuid import UUID

import pytest

from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.task_assignor import AssignmentError
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.types import TaskId
from tests.support.assignors.application_cases import ApplicationCase, changed, random_application, random_assignment
from tests.support.kafka.kafka_application_assignor import KafkaApplicationAssignors, KafkaAssignment, ProcessTasks
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip

SEEDS = range(20)

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaApplicationAssignors]:
    with KafkaApplicationAssignors(tmp_path_factory.mktemp("java"), streams_classpath_or_skip()) as kafka:
        yield kafka


def _small(seed: int) -> ApplicationCase:
    return random_application(seed, most_processes=6, most_tasks=25)


def _given(case: ApplicationCase, seed: int) -> dict[ProcessId, ProcessTasks]:
    plan = random_assignment(case, random.Random(seed))
    return {id_: (frozenset(active), frozenset(standby)) for id_, (active, standby) in plan.items()}


def _active_only(given: dict[ProcessId, ProcessTasks]) -> dict[ProcessId, ProcessTasks]:
    return {id_: (active, frozenset()) for id_, (active, _) in given.items()}


def _active(assignment: KafkaAssignment) -> list[TaskId]:
    return in_task_order(task for active, _ in assignment.tasks.values() for task in active)


@pytest.mark.parametrize("seed", SEEDS)
def test_assignors_assign_every_task_once(kafka: KafkaApplicationAssignors, seed: int) -> None:
    case = _small(seed)
    state = case.as_state()
    for assignment in (
        kafka.high_availability(state),
        kafka.legacy_sticky(state),
        kafka.legacy_sticky(state, must_preserve_active=True),
        kafka.fallback_prior(state),
        kafka.public_sticky(state),
        kafka.public_sticky(state, must_preserve_active=True),
    ):
        assert _active(assignment) == list(case.tasks)
        assert assignment.tasks.keys() == {each.id for each in case.processes}
        assert kafka.validate(state, assignment.tasks) is AssignmentError.NONE


@pytest.mark.parametrize("seed", SEEDS)
def test_utilities_keep_active_tasks(kafka: KafkaApplicationAssignors, seed: int) -> None:
    case = _small(seed)
    state, given = case.as_state(), _given(case, seed)
    before = in_task_order(task for active, _ in given.values() for task in active)
    for assignment in (
        kafka.standby_by_load(state, _active_only(given)),
        kafka.standby_by_tags(state, _active_only(given)),
        kafka.internal_standby(state, _active_only(given)),
        kafka.optimize_rack_aware_active(state, given, traffic_cost=10, non_overlap_cost=1),
        kafka.optimize_rack_aware_standby(state, given),
    ):
        assert _active(assignment) == before


@pytest.mark.parametrize("seed", SEEDS)
def test_identity_is_the_previous_assignment(kafka: KafkaApplicationAssignors, seed: int) -> None:
    state = _small(seed).as_state()
    previous = {
        id_: (frozenset(each.previous_active_tasks), frozenset(each.previous_standby_tasks))
        for id_, each in state.kafka_streams_states(compute_task_lags=False).items()
    }
    assert kafka.identity(state).tasks == previous


@pytest.mark.parametrize("seed", SEEDS)
def test_members_get_the_tasks_of_their_process(kafka: KafkaApplicationAssignors, seed: int) -> None:
    case = _small(seed)
    given = _given(case, seed)
    members = kafka.threads(case.as_state(), given)
    for process in case.processes:
        mine = [members[member.id] for member in process.members]
        active, standby = given[process.id]
        assert in_task_order(task for each in mine for task in each.active) == in_task_order(active)
        assert in_task_order(task for each in mine for task in each.standby) == in_task_order(standby)
        counts = [len(each.active) + len(each.standby) for each in mine]
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("seed", SEEDS)
def test_internal_optimisation_never_costs_more(kafka: KafkaApplicationAssignors, seed: int) -> None:
    case = _small(seed)
    state, given = case.as_state(), _given(case, seed)
    tasks = [task for active, _ in given.values() for task in active]
    optimized = kafka.internal_rack_aware_active(state, given, tasks, 10, 1)
    assert optimized.cost <= optimized.cost_before
    assert optimized.is_enabled or optimized.tasks == given


@pytest.mark.parametrize("seed", SEEDS)
def test_states_are_those_that_the_leader_builds(kafka: KafkaApplicationAssignors, seed: int) -> None:
    state = _small(seed).as_state()
    answer = kafka.states(state)["states"]
    for id_, mine in state.kafka_streams_states(compute_task_lags=True).items():
        kafkas = answer[str(id_)]
        assert kafkas["threads"] == mine.num_processing_threads
        assert kafkas["active"] == list(map(str, mine.previous_active_tasks))
        assert kafkas["standby"] == list(map(str, mine.previous_standby_tasks))
        assert kafkas["lags"] == {str(task): lag for task, lag in mine.stateful_tasks_to_lag_sums().items()}
        by_lag = {member: list(map(str, mine.prev_tasks_by_lag(member))) for member in mine.consumer_client_ids}
        assert kafkas["byLag"] == by_lag


@pytest.mark.parametrize("seed", SEEDS)
def test_high_availability_answers_the_same_again(kafka: KafkaApplicationAssignors, seed: int) -> None:
    first, again = (kafka.high_availability(_small(seed).as_state()) for _ in range(2))
    assert (first.tasks, first.follows_up) == (again.tasks, again.follows_up)


def test_invalid_assignments_are_told_apart(kafka: KafkaApplicationAssignors) -> None:
    case = _small(1)
    state, given = case.as_state(), _given(case, 1)
    stranger, id_ = ProcessId(UUID(int=2**127 + 12345)), case.processes[0].id
    missing = {other: tasks for other, tasks in given.items() if other != id_}
    unknown = {**given, id_: (frozenset({TaskId("99", 0)}), frozenset())}
    assert kafka.validate(state, missing) is AssignmentError.MISSING_PROCESS_ID
    assert kafka.validate(state, unknown) is AssignmentError.UNKNOWN_TASK_ID
    assert kafka.validate(state, {**given, stranger: (frozenset(), frozenset())}) is AssignmentError.UNKNOWN_PROCESS_ID


def test_following_cases_are_assigned_too(kafka: KafkaApplicationAssignors) -> None:
    case, rng = _small(3), random.Random(3)
    for _ in range(10):
        assignment = kafka.high_availability(case.as_state())
        assert _active(assignment) == list(case.tasks)
        case = changed(case, rng, assignment.tasks)


def test_seeds_repeat() -> None:
    for seed in SEEDS:
        assert random_application(seed) == random_application(seed)
