"""Every kind of wrong assignor is caught, and the error tells the story."""

from collections.abc import Callable, Mapping
from datetime import timedelta

import pytest

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.built_in import HighAvailabilityTaskAssignor
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.task_assignor import (
    AssignmentError,
    GroupAssignment,
    GroupSubscription,
    TaskAssignmentError,
    TaskAssignor,
)
from kafka_groups.testing.assignors import AssignorRule, AssignorTestError
from kafka_groups.types import TaskId
from tests.support.assignors.story_assignors import assigned, dealt_out, first, story_of, with_more

LOST = ProcessId("lost")

WRONG: Mapping[str, tuple[Callable[[ApplicationState, list[KafkaStreamsAssignment]], object], AssignorRule, str]] = {
    "loses": (
        lambda state, found: found[0].remove_task(AssignedTask.active(first(state))),
        AssignorRule.EVERY_TASK_IS_ACTIVE,
        "Task 0_0 is active in no process.",
    ),
    "doubles": (
        lambda state, found: found[1].assign_task(AssignedTask.active(first(state))),
        AssignorRule.NO_TASK_IS_ACTIVE_TWICE,
        "Task 0_0 is active in 2 processes: a, b.",
    ),
    "copies beside the task": (
        lambda state, found: found.append(
            KafkaStreamsAssignment.of(found[0].process_id, [AssignedTask.standby(first(state))])
        ),
        AssignorRule.NO_COPY_BESIDE_A_TASK,
        "Process a gets task 0_0 2 times. It can run it, or keep a copy of its state.",
    ),
    "names a process twice": (
        lambda state, found: found.append(KafkaStreamsAssignment.of(found[1].process_id)),
        AssignorRule.EVERY_PROCESS_ONCE,
        "Process b has 2 assignments. Return one KafkaStreamsAssignment for it.",
    ),
    "copies what has no state": (
        lambda state, found: found[1].assign_task(AssignedTask.standby(TaskId("1", 0))),
        AssignorRule.NO_COPY_WITHOUT_STATE,
        "Process b gets a copy of task 1_0, which has no state.",
    ),
    "invents a process": (
        lambda state, found: found.append(KafkaStreamsAssignment.of(LOST)),
        AssignorRule.NO_UNKNOWN_PROCESS,
        "Process lost has an assignment, but is not in the group.",
    ),
    "invents a task": (
        lambda state, found: found[0].assign_task(AssignedTask.active(TaskId("9", 9))),
        AssignorRule.NO_UNKNOWN_TASK,
        "Process a gets task 9_9, which does not exist.",
    ),
    "forgets a process": (
        lambda state, found: found.pop(),
        AssignorRule.EVERY_PROCESS_ONCE,
        "Process b has no assignment. Return a KafkaStreamsAssignment for it, with or without tasks.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_assignment_is_found_and_the_story_told(name: str) -> None:
    more, rule, text = WRONG[name]
    test = story_of(with_more(more))
    with pytest.raises(AssignorTestError) as raised:
        test.rebalance()
    [mistake] = [each for each in raised.value.mistakes if each.rule is rule]
    assert str(mistake) == text
    assert f"- {text}\n" in str(raised.value)
    assert raised.value.story == test.story
    assert "failed in step 5, test.rebalance." in str(raised.value)
    assert "   1  test.subtopology('0', tasks=4, records=1000)\n" in str(raised.value)
    assert str(raised.value).endswith("   5  test.rebalance()")


def test_a_mistake_names_the_task_and_the_processes() -> None:
    test = story_of(with_more(WRONG["doubles"][0]))
    with pytest.raises(AssertionError) as raised:
        test.settle()
    [mistake] = getattr(raised.value, "mistakes")  # noqa: B009 - an AssertionError for type checkers
    assert (mistake.task, mistake.processes) == (TaskId("0", 0), ("a", "b"))


def test_all_mistakes_are_named() -> None:
    def assign(state: ApplicationState) -> TaskAssignment:
        return TaskAssignment([])

    with pytest.raises(AssignorTestError) as raised:
        story_of(assign).rebalance()
    rules = [each.rule for each in raised.value.mistakes]
    assert rules.count(AssignorRule.EVERY_PROCESS_ONCE) == 2
    assert rules.count(AssignorRule.EVERY_TASK_IS_ACTIVE) == 5


def test_tasks_may_be_left_out_if_the_test_allows_it() -> None:
    test = story_of(with_more(WRONG["loses"][0]), unassigned=True)
    result = test.rebalance()
    assert result.owner(TaskId("0", 0)) is None
    assert result.owner(TaskId("0", 1)) == "b"


# ---------------------------------------------------------------------------------------------- what it raises


def test_an_assignor_that_raises_fails() -> None:
    def assign(state: ApplicationState) -> TaskAssignment:
        raise KeyError("zone")

    with pytest.raises(AssignorTestError, match=r"assign raised KeyError: 'zone'") as raised:
        story_of(assign).rebalance()
    assert isinstance(raised.value.__cause__, KeyError)
    assert [each.rule for each in raised.value.mistakes] == [AssignorRule.NO_ERROR]


def test_an_assignor_that_returns_something_else_fails() -> None:
    with pytest.raises(AssignorTestError, match="It must return a TaskAssignment"):
        story_of(lambda state: None).rebalance()


def test_a_callback_that_raises_fails() -> None:
    class Broken(HighAvailabilityTaskAssignor):
        def on_assignment_computed(
            self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
        ) -> None:
            raise ValueError(error.name)

    with pytest.raises(AssignorTestError, match=r"on_assignment_computed raised ValueError: NONE"):
        story_of(Broken).rebalance()


class Alternating(TaskAssignor):
    """Gives all tasks to one process, and the next time to the other."""

    def __init__(self) -> None:
        self.calls = 0

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        self.calls += 1
        return TaskAssignment(assigned(application_state, lambda number, task: self.calls))


def test_the_same_state_gives_the_same_assignment() -> None:
    with pytest.raises(AssignorTestError, match="A second call with the same state returned another assignment"):
        story_of(Alternating()).rebalance()


def test_the_same_state_gives_the_same_follow_up() -> None:
    delays = iter([timedelta(seconds=60), timedelta(seconds=61)])

    def assign(state: ApplicationState) -> TaskAssignment:
        head, *others = assigned(state, lambda number, task: number)
        return TaskAssignment([head.with_followup_rebalance(state.now + next(delays)), *others])

    with pytest.raises(AssignorTestError, match="returned another assignment"):
        story_of(assign).rebalance()


def test_an_assignor_that_is_asked_twice_and_raises_fails() -> None:
    class Once(Alternating):
        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            if self.calls:
                raise ValueError("again")
            return super().assign(application_state)

    with pytest.raises(AssignorTestError, match=r"A second call with the same state raised ValueError: again"):
        story_of(Once()).rebalance()


def test_different_assignments_may_be_allowed() -> None:
    assignor = Alternating()
    test = story_of(assignor, unrepeatable=True)
    test.rebalance()
    assert len(test.rebalance().moved_tasks) == 5
    assert assignor.calls == 2


# -------------------------------------------------------------------------------------------- what is not stable


def swapping(state: ApplicationState) -> TaskAssignment:
    """Every task moves to the other process."""
    states = state.kafka_streams_states(compute_task_lags=False)
    [one, _] = sorted(states.values(), key=lambda each: each.consumer_client_ids)
    is_first = set(state.all_tasks) == set(one.previous_active_tasks)
    return TaskAssignment(assigned(state, lambda number, task: int(is_first)))


def copies_swapping(state: ApplicationState) -> TaskAssignment:
    """The first process runs all tasks. A copy of the first task moves between the others with each minute."""
    found = assigned(state, lambda number, task: 0, among=1)
    found[1 + state.now.minute % 2].assign_task(AssignedTask.standby(first(state)))
    return TaskAssignment([found[0].with_followup_rebalance(state.now + timedelta(seconds=60)), *found[1:]])


def always_later(state: ApplicationState) -> TaskAssignment:
    found = assigned(state, lambda number, task: number)
    return TaskAssignment([found[0].with_followup_rebalance(state.now + timedelta(seconds=60)), *found[1:]])


def never_now(state: ApplicationState) -> TaskAssignment:
    raise TaskAssignmentError("the ends are not known")


@pytest.mark.parametrize(
    ("assignor", "text"),
    [
        (swapping, "tasks still move: 0_0 from a to b, 0_1 from a to b, .*, 1_0 from a to b"),
        (copies_swapping, "standby tasks still move"),
        (always_later, "the assignor still asks for another one, at 2030-01-01 00:10:00"),
        (never_now, r"assign still raises TaskAssignmentError: the ends are not known"),
    ],
)
def test_an_assignor_that_does_not_become_stable_fails(assignor: object, text: str) -> None:
    test = story_of(assignor)
    if assignor is copies_swapping:
        test.join("c")
    with pytest.raises(AssignorTestError, match=f"After 10 rebalances, {text}") as raised:
        test.settle(most_rebalances=10)
    assert [each.rule for each in raised.value.mistakes] == [AssignorRule.SETTLES]
    assert test.statistics.rebalances + test.statistics.postponed == 10


def test_an_assignor_that_is_stable_at_the_last_moment_passes() -> None:
    test = story_of(dealt_out)
    test.settle(most_rebalances=2)
    assert test.statistics.rebalances == 2
    with pytest.raises(AssignorTestError, match="After 1 rebalance,"):
        story_of(dealt_out).settle(most_rebalances=1)
