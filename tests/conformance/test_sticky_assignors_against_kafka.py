"""Our sticky assignors of applications and those of Kafka Streams give the same result for the same application.

The copies that Kafka's public class makes are not the same for the same input. There, what counts is how many tasks
move, how equal the loads are, and whether all copies are there.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Self

import attrs
import pytest
from attrs import frozen

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.built_in import (
    FallbackPriorTaskAssignor,
    LegacyStickyTaskAssignor,
    StickyTaskAssignor,
)
from kafka_groups.assignment.application.configs import RackAwareStrategy
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.types import TaskId
from tests.support.assignors.application_cases import (
    ApplicationCase,
    changed,
    random_application,
    with_several_owners,
)
from tests.support.kafka.kafka_application_assignor import KafkaApplicationAssignors, ProcessTasks, tasks_of
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.xdist_group("application_assignors")]

FEW_SEEDS, MANY_SEEDS = 200, 2_000
LARGE_SEEDS = 20
CHANGES = 20
CHAINS = 40
MOST_CHANCE = 1.03
"""How much better Kafka may be by chance: its copies differ from run to run."""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaApplicationAssignors]:
    directory = tmp_path_factory.mktemp("sticky-assignors")
    with KafkaApplicationAssignors(directory, streams_classpath_or_skip(), sorts=True) as running:
        yield running


@pytest.fixture(scope="module")
def seeds(request: pytest.FixtureRequest) -> range:
    return range(MANY_SEEDS if request.config.getoption("--long") else FEW_SEEDS)


def applications(seeds: range) -> Iterator[tuple[str, ApplicationState]]:
    """Yield small applications, also such as have several owners of tasks, and some large ones without racks."""
    for seed in seeds:
        case = random_application(f"sticky-{seed}")
        yield f"sticky-{seed}", case.as_state()
        if seed % 10 == 0:
            yield f"owners-{seed}", with_several_owners(case, random.Random(seed)).as_state()
    for seed in range(LARGE_SEEDS):
        case = random_application(f"large-sticky-{seed}", most_processes=30, most_tasks=200)
        yield f"large-sticky-{seed}", without_racks(case).as_state()


def without_racks(case: ApplicationCase) -> ApplicationCase:
    configs = attrs.evolve(case.configs, rack_aware_assignment_strategy=RackAwareStrategy.NONE)
    return attrs.evolve(case, configs=configs)


def with_costs(state: ApplicationState) -> ApplicationState:
    """Return an application with the costs that are ours by default. Kafka's public class ignores racks without."""
    configs = state.assignment_configs
    traffic, non_overlap = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
    configs = attrs.evolve(
        configs,
        rack_aware_traffic_cost=1 if traffic is None else traffic,
        rack_aware_non_overlap_cost=10 if non_overlap is None else non_overlap,
    )
    return attrs.evolve(state, assignment_configs=configs)


def active(tasks: Mapping[ProcessId, ProcessTasks]) -> dict[ProcessId, frozenset[TaskId]]:
    return {process_id: each for process_id, (each, _) in tasks.items()}


def follows_up(assignment: TaskAssignment) -> bool:
    return any(each.followup_rebalance_deadline for each in assignment.assignment)


@pytest.mark.parametrize("must_preserve", [False, True])
def test_legacy(kafka: KafkaApplicationAssignors, seeds: range, must_preserve: bool) -> None:
    ours = LegacyStickyTaskAssignor(must_preserve_active_task_assignment=must_preserve)
    for seed, state in applications(seeds):
        result, theirs = ours.assign(state), kafka.legacy_sticky(state, must_preserve_active=must_preserve)
        assert tasks_of(result.assignment) == theirs.tasks, seed
        assert follows_up(result) is theirs.follows_up, seed


def test_fallback_prior(kafka: KafkaApplicationAssignors, seeds: range) -> None:
    for seed, state in applications(seeds):
        result, theirs = FallbackPriorTaskAssignor().assign(state), kafka.fallback_prior(state)
        assert tasks_of(result.assignment) == theirs.tasks, seed
        assert follows_up(result) is theirs.follows_up, seed


@pytest.mark.parametrize("must_preserve", [False, True])
def test_active_tasks_of_the_public_class(kafka: KafkaApplicationAssignors, seeds: range, must_preserve: bool) -> None:
    ours = StickyTaskAssignor(must_preserve_active_task_assignment=must_preserve)
    for seed, state in applications(seeds):
        theirs = kafka.public_sticky(with_costs(state), must_preserve_active=must_preserve)
        result = ours.assign(state)
        assert active(tasks_of(result.assignment)) == active(theirs.tasks), seed
        assert follows_up(result) is theirs.follows_up, seed


@frozen
class Faults:
    """What is bad about assignments.

    Attributes:
        moves: The tasks and copies that went to processes that had neither.
        spread: The highest load less the lowest one.
        missing: The copies that there might be in addition.
    """

    moves: int = 0
    spread: float = 0.0
    missing: int = 0

    def __add__(self, other: "Faults") -> "Faults":
        return Faults(self.moves + other.moves, self.spread + other.spread, self.missing + other.missing)

    @classmethod
    def of(cls, state: ApplicationState, tasks: Mapping[ProcessId, ProcessTasks]) -> Self:
        states = state.kafka_streams_states(compute_task_lags=False)
        moves = sum(
            len((active | standby) - states[id_].previous_active_tasks - states[id_].previous_standby_tasks)
            for id_, (active, standby) in tasks.items()
        )
        loads = [sum(map(len, each)) / states[id_].num_processing_threads for id_, each in tasks.items()]
        copies = min(state.assignment_configs.num_standby_replicas, len(states) - 1)
        wanted = copies * sum(info.is_stateful for info in state.all_tasks.values())
        return cls(moves, max(loads) - min(loads), wanted - sum(len(standby) for _, standby in tasks.values()))


@pytest.mark.parametrize("is_ours_carried_out", [False, True])
def test_copies_of_the_public_class(kafka: KafkaApplicationAssignors, is_ours_carried_out: bool) -> None:
    """In chains of changes, our assignments of the same states are no worse. Carried out, far fewer tasks move."""
    ours = theirs = Faults()
    for seed in range(CHAINS):
        case, rng = without_racks(random_application(f"chain-{seed}")), random.Random(f"chain-{seed}")
        for _ in range(CHANGES):
            state = case.as_state()
            our_tasks = tasks_of(StickyTaskAssignor().assign(state).assignment)
            their_tasks = kafka.public_sticky(state).tasks
            ours, theirs = ours + Faults.of(state, our_tasks), theirs + Faults.of(state, their_tasks)
            case = without_racks(changed(case, rng, our_tasks if is_ours_carried_out else their_tasks))
    assert ours.moves <= theirs.moves * (1 if is_ours_carried_out else MOST_CHANCE)
    assert ours.spread <= theirs.spread * MOST_CHANCE
    assert ours.missing == theirs.missing == 0
