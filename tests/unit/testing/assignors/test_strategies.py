"""The strategies: what they generate is possible, varied, and shrinks."""

import importlib
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis.errors import NoSuchExample

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.building_blocks import identity_assignment
from kafka_groups.assignment.application.built_in import HighAvailabilityTaskAssignor
from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.states import ACTIVE_LAG, ApplicationState
from kafka_groups.assignment.application.task_assignment_validation import validate_task_assignment
from kafka_groups.assignment.application.task_assignor import AssignmentError
from kafka_groups.testing.assignors import (
    AssignorStory,
    AssignorTest,
    application_states,
    assignor_stories,
    check_task_assignment,
)

GENERATING = settings(database=None, max_examples=1_000, phases=[Phase.generate])
SHRINKING = settings(database=None, max_examples=200)
MODULE = "kafka_groups.testing.assignors.strategies"


@given(application_states())
def test_states_are_possible(state: ApplicationState) -> None:
    states = state.kafka_streams_states(compute_task_lags=True)
    active = [task for each in states.values() for task in each.previous_active_tasks]
    assert len(active) == len(set(active))
    stateful = {task for task, info in state.all_tasks.items() if info.is_stateful}
    for each in states.values():
        assert each.num_processing_threads > 0
        assert each.previous_standby_tasks <= stateful
        assert not each.previous_standby_tasks & each.previous_active_tasks
        lags = each.stateful_tasks_to_lag_sums()
        assert lags.keys() == stateful
        assert all(lag >= 0 or (lag == ACTIVE_LAG and task in each.previous_active_tasks) for task, lag in lags.items())
        for member in each.consumer_client_ids:
            assert set(each.prev_tasks_by_lag(member)) <= each.previous_active_tasks | each.previous_standby_tasks
    identity = TaskAssignment(identity_assignment(state).values())
    assert validate_task_assignment(state, identity) is AssignmentError.NONE


@given(application_states(max_processes=6, max_tasks=12))
def test_a_right_assignor_passes_with_all_states(state: ApplicationState) -> None:
    check_task_assignment(state, HighAvailabilityTaskAssignor().assign(state))


@given(application_states(max_processes=2, max_tasks=3, assignment_configs=AssignmentConfigs(max_warmup_replicas=9)))
def test_states_keep_to_their_limits(state: ApplicationState) -> None:
    assert len(state.kafka_streams_states(compute_task_lags=False)) <= 2
    assert len(state.all_tasks) <= 3
    assert state.assignment_configs.max_warmup_replicas == 9


@given(assignor_stories())
def test_a_right_assignor_passes_with_all_stories(story: AssignorStory) -> None:
    test = AssignorTest(HighAvailabilityTaskAssignor, standby_replicas=1)
    test.play(story)
    assert test.story == story


@given(assignor_stories(max_processes=2, max_tasks=3, max_events=2, settles=False))
def test_stories_keep_to_their_limits(story: AssignorStory) -> None:
    methods = [each.method for each in story.steps]
    assert "settle" not in methods
    assert sum(each.options["tasks"] for each in story.steps if each.method == "subtopology") <= 3
    assert {each.argument for each in story.steps if each.method == "join"} <= {"a", "b"}
    assert methods[-1] == "rebalance"


def test_stories_have_every_step_after_the_first_rebalance() -> None:
    missing = {"join", "leave", "restart", "resize", "fail_rack", "restore_rack", "configure", "advance"}

    def is_last(story: AssignorStory) -> bool:
        methods = [each.method for each in story.steps]
        missing.difference_update(methods[methods.index("rebalance") :])
        return not missing

    with suppress(NoSuchExample):
        find(assignor_stories(), is_last, settings=GENERATING)
    assert not missing


@pytest.mark.slow
def test_a_story_that_fails_shrinks() -> None:
    def moves(story: AssignorStory) -> bool:
        test = AssignorTest(HighAvailabilityTaskAssignor)
        test.play(story)
        return test.statistics.moved_tasks > 0

    story = find(assignor_stories(max_processes=3, max_tasks=3, max_events=3), moves, settings=SHRINKING)
    assert sum(each.options.get("tasks", 0) for each in story.steps) <= 2
    assert len(story.steps) <= 8


@pytest.mark.slow
def test_a_state_that_fails_shrinks() -> None:
    def has_two(state: ApplicationState) -> bool:
        return len(state.kafka_streams_states(compute_task_lags=False)) > 1

    state = find(application_states(max_processes=3, max_tasks=3), has_two, settings=SHRINKING)
    assert len(state.kafka_streams_states(compute_task_lags=False)) == 2
    assert len(state.all_tasks) == 1


def test_stories_do_not_need_hypothesis() -> None:
    program = "import sys; sys.modules['hypothesis'] = None; from kafka_groups.testing.assignors import AssignorTest"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_hypothesis_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, MODULE)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ModuleNotFoundError, match="pip install hypothesis") as raised:
        importlib.import_module(MODULE)
    assert raised.value.name == "hypothesis"
