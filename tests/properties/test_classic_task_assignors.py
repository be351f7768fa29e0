"""Whatever a task assignor does in a classic group: no task has two owners, and nothing broken reaches a member."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.admin.rules.streams_leader.group_round import LeaderSettings, LeadingError, LedRound
from kafka_groups.admin.rules.streams_leader.leading import AskedRound, ask_for_round, led_round
from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignmentError,
    GroupAssignment,
    GroupSubscription,
    KafkaStreamsAssignment,
    ProcessId,
    Registered,
    TaskAssignment,
    TaskAssignmentError,
    TaskAssignor,
)
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.leader_cases import LeaderCase, LeaderLimits, random_group
from tests.support.assignors.led_rounds import LedCase, carried_out, decoded

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 100_000)
NEWEST = LeaderLimits(versions=(10, 11))
OLD_ONES = LeaderLimits(versions=(6, 7, 11))


class Arbitrary(TaskAssignor):
    """Assigns at random, with mistakes now and then."""

    def __init__(self, seed: str) -> None:
        self._rng = random.Random(seed)
        self.told: AssignmentError | None = None
        self.assignment = GroupAssignment()
        self.intended: set[TaskId] = set()

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        if self._rng.random() < 0.15:
            raise self._rng.choice((TaskAssignmentError("not now"), ValueError("oh"), RecursionError()))
        found = {each: self._empty(each) for each in application_state.kafka_streams_states(compute_task_lags=True)}
        for task, info in application_state.all_tasks.items():
            owner, *others = self._rng.sample(list(found), len(found))
            if self._rng.random() < 0.9:
                found[owner].assign_task(AssignedTask.active(task))
            for other in others[: self._rng.randint(0, 2) if info.is_stateful else 0]:
                found[other].assign_task(AssignedTask.standby(task))
        if self._rng.random() < 0.2:
            self._err(found, application_state)
        self.intended = {task.id for each in found.values() for task in each.tasks.values() if task.is_active}
        return TaskAssignment(self._asking(each, application_state) for each in found.values())

    def _empty(self, process: ProcessId) -> KafkaStreamsAssignment:
        return KafkaStreamsAssignment.of(process)

    def _asking(self, each: KafkaStreamsAssignment, state: ApplicationState) -> KafkaStreamsAssignment:
        if self._rng.random() < 0.7:
            return each
        return each.with_followup_rebalance(state.now + timedelta(seconds=self._rng.randint(-100, 1000)))

    def _err(self, found: dict[ProcessId, KafkaStreamsAssignment], state: ApplicationState) -> None:
        task, process = self._rng.choice(list(state.all_tasks)), self._rng.choice(list(found))
        match self._rng.randrange(4):
            case 0:
                del found[process]
            case 1:
                found[ProcessId(UUID(int=7))] = self._empty(ProcessId(UUID(int=7)))
            case 2:
                found[process].assign_task(AssignedTask.active(TaskId("98", 3)))
            case _:
                for each in found.values():
                    each.assign_task(AssignedTask.active(task))

    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        self.told, self.assignment = error, assignment
        if self._rng.random() < 0.2:
            raise OSError("the metrics are away")


def asked_of(case: LeaderCase, assignor: TaskAssignor, postponed: int = 0) -> AskedRound:
    of_case = LeaderSettings(application_id="app", assignment=case.configs, assignor=Registered(assignor, name="own"))
    given_round = evolve(case.round, settings=of_case, postponed=postponed)
    return asyncio.run(ask_for_round(case.topics, case.topics, given_round))


def newcomers(seed: int, limits: LeaderLimits) -> LeaderCase:
    """A group in which nobody has anything, or a claim that contradicts another one."""
    case = random_group(f"arbitrary-{seed}", limits)
    return evolve(case, members=tuple(evolve(each, owned=frozenset(), sums=()) for each in case.members))


def owned_by(case: LeaderCase) -> dict[TopicPartition, str]:
    return {partition: each.member_id for each in case.members for partition in each.owned}


def check_members(case: LeaderCase, done: LedRound, asked: AskedRound, assignor: Arbitrary) -> None:
    """Check what members get: no task twice, and none that another member owns as its JoinGroup shows."""
    owners = owned_by(case)
    given_out: Counter[TaskId] = Counter()
    for member_id, data in done.assignments.items():
        partitions, info = decoded(data)
        assert all(owners.get(each, member_id) == member_id for each in partitions)
        given_out.update(set(info.active_tasks))
        assert set(info.active_tasks) <= asked.tasks.keys()
        assert not set(info.active_tasks) & {task for task, _ in info.standby_tasks}
        check_callback(assignor, done, member_id, data)
    assert set(given_out.values()) <= {1}


def check_callback(assignor: Arbitrary, done: LedRound, member_id: str, data: bytes) -> None:
    """Check that the callback has heard what the member gets."""
    if done.is_postponed:
        assert assignor.told is None
        return
    partitions, info = decoded(data)
    told = assignor.assignment.members[member_id]
    assert assignor.told is AssignmentError.NONE
    assert (told.active_tasks, told.partitions) == (frozenset(info.active_tasks), partitions)
    assert told.standby_tasks == {task for task, _ in info.standby_tasks}
    assert told.user_data is not None
    assert told.user_data in data


def check_kept(case: LeaderCase, done: LedRound) -> None:
    """Check that members that the assignor cannot assign to keep exactly what they own."""
    for each in case.members:
        partitions, _ = decoded(done.assignments[each.member_id])
        assert partitions == each.owned


def led_or_none(asked: AskedRound, assignor: Arbitrary) -> LedRound | None:
    """Lead a round. Without a result that can be used, nothing is sent, and the callback has heard a wrong one."""
    try:
        done = led_round(asked, 1_800_000_000_000)
    except LeadingError as error:
        check_told(assignor, error)
        return None
    return done


def check_told(assignor: Arbitrary, error: LeadingError) -> None:
    has_raised = error.__cause__ is not None
    assert (assignor.told is None) if has_raised else (assignor.told not in (None, AssignmentError.NONE))


@settings(max_examples=120, deadline=None)
@given(seed=SEEDS)
def test_no_task_has_two_owners_and_it_moves_only_when_it_is_free(seed: int) -> None:
    check_rounds(seed)


def check_rounds(seed: int) -> None:
    """Check some rounds in a row of a random group, with an assignor that may do anything."""
    case = newcomers(seed, NEWEST)
    postponed = 0
    for number in range(6):
        assignor = Arbitrary(f"{seed}-{number}")
        asked = asked_of(case, assignor, postponed)
        done = led_or_none(asked, assignor)
        if done is None:
            continue
        postponed = postponed + 1 if done.is_postponed else 0
        check_members(case, done, asked, assignor)
        if done.is_postponed:
            check_kept(case, done)
        else:
            assert set(done.unassigned) == asked.tasks.keys() - assignor.intended
        case = carried_out(LedCase(case=case, asked=asked, assignments=done.assignments))


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_the_same_input_gives_the_same_bytes(seed: int) -> None:
    case = random_group(seed, OLD_ONES)
    results = [outcome(case, seed) for _ in range(2)]
    assert results[0] == results[1]


def outcome(case: LeaderCase, seed: int) -> Mapping[str, bytes] | str:
    try:
        done = led_round(asked_of(case, Arbitrary(str(seed))), case.now_ms)
    except LeadingError as error:
        return str(error)
    return {**done.assignments, "own": str(done.follow_up_ms).encode()}
