"""Stories on a classic group: rounds of the leader's steps, with the bytes that members send and read."""

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.built_in import HighAvailabilityTaskAssignor, StickyTaskAssignor
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.task_assignor import (
    AssignmentError,
    GroupAssignment,
    GroupSubscription,
    TaskAssignmentError,
    TaskAssignor,
)
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.protocol.streams_user_data.assignment_info import decode_assignment
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo, decode_subscription
from kafka_groups.testing.assignors import AssignorTest, AssignorTestError, RebalanceResult
from kafka_groups.testing.assignors.classic_rounds import ClassicRounds, StoryRound
from kafka_groups.testing.assignors.rules import AssignorRule
from tests.support.assignors.story_assignors import assigned, dealt_out

# Below version 7, the threads of a process may change their tasks in every round, as with a leader in Java: a state of
# which nothing is known counts as nearer than a task that runs.
VERSIONS = st.dictionaries(st.sampled_from("abc"), st.integers(7, 11), max_size=3)


def classic(assignor: object, versions: Mapping[str, int] | None = None, **options: Any) -> AssignorTest:
    test = AssignorTest(assignor, restore_rate=100, **options)
    test.on_classic_group(versions=versions)
    test.subtopology("0", tasks=4, records=100_000)
    test.join("a")
    return test


# ---------------------------------------------------------------------------------------------------- rounds


def test_a_task_is_given_up_in_one_round_and_taken_in_the_next() -> None:
    test = classic(dealt_out)
    assert test.rebalance().rounds == 1
    test.join("b")
    moved = test.rebalance()
    assert moved.rounds == 2
    assert {task.partition: names for task, names in moved.moved_tasks.items()} == {1: ("a", "b"), 3: ("a", "b")}
    test.leave("a")
    assert test.rebalance().rounds == 1, "nobody has the tasks"


def test_a_follow_up_is_due_when_the_assignor_says() -> None:
    test = classic(HighAvailabilityTaskAssignor)
    test.settle()
    test.join("b")
    warming = test.rebalance()
    assert len(warming.active_tasks("a")) == 4
    assert warming.followup_at == test.now + timedelta(minutes=10)
    assert len(test.settle().active_tasks("b")) == 2


def test_below_version_7_the_leader_waits_itself_for_the_follow_up() -> None:
    def assign(state: ApplicationState) -> TaskAssignment:
        first, *others = assigned(state, lambda number, task: number)
        return TaskAssignment([first.with_followup_rebalance(state.now + timedelta(minutes=3)), *others])

    test = classic(assign, {"b": 6})
    for version in (11, 6):
        found = test.rebalance()
        infos = [decode_assignment(each.user_data) for each in found.members.values()]
        assert {each.version for each in infos} == {version}
        assert [each.next_rebalance_ms is None for each in infos].count(False) == (version == 11)
        assert found.followup_at == test.now + timedelta(minutes=3)
        if version == 11:
            test.join("b")


def test_members_agree_on_the_version_of_the_oldest_one() -> None:
    test = classic(dealt_out, {"b": 8, "c": 9})
    found = [version_of(test.rebalance())]
    for name in ("b", "c"):
        test.join(name)
        found.append(version_of(test.rebalance()))
    test.leave("b")
    found.append(version_of(test.rebalance()))
    assert found == [11, 8, 8, 9]


def version_of(result: RebalanceResult) -> int:
    (version,) = {decode_assignment(each.user_data).version for each in result.members.values()}
    return version


def test_assignors_see_tags_and_racks_as_far_as_members_can_tell_them() -> None:
    seen: list[ApplicationState] = []

    def assign(state: ApplicationState) -> TaskAssignment:
        seen.append(state)
        return dealt_out(state)

    test = classic(assign, {"b": 10}, allow_unrepeatable=True)
    test.join("c", tags={"zone": "east"}, rack="r1")
    test.join("b", tags={"zone": "west"}, rack="r2")
    test.rebalance()
    states = {
        name: seen[0].kafka_streams_states(compute_task_lags=False)[test.process_id(name)] for name in ("a", "b", "c")
    }
    assert {name: dict(each.client_tags) for name, each in states.items()} == {"a": {}, "b": {}, "c": {"zone": "east"}}
    assert {name: each.rack_id for name, each in states.items()} == {"a": None, "b": "r2", "c": "r1"}


def test_the_callback_hears_the_bytes_of_members() -> None:
    heard: list[tuple[GroupAssignment, GroupSubscription]] = []

    class Hearing(TaskAssignor):
        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            return dealt_out(application_state)

        def on_assignment_computed(
            self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
        ) -> None:
            heard.append((assignment, subscription))

    test = classic(Hearing())
    test.join("b")
    result = test.rebalance()
    assignment, subscription = heard[-1]
    assert dict(assignment.members) == dict(result.members)
    sent = decode_subscription(subscription.members["b-1"].user_data)
    assert isinstance(sent, SubscriptionInfo)
    assert str(sent.process_id) == str(test.process_id("b"))


# ---------------------------------------------------------------------------------------------------- mistakes


def test_an_assignor_that_cannot_tell_leaves_tasks_where_they_are_and_ends_the_group_at_last() -> None:
    class Unable(TaskAssignor):
        is_able = True

        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            if not self.is_able:
                raise TaskAssignmentError("not now")
            return dealt_out(application_state)

    assignor = Unable()
    test = classic(assignor)
    before = test.rebalance()
    assignor.is_able = False
    test.join("b")
    waits = []
    for _ in range(10):
        result = test.rebalance()
        assert str(result.postponed) == "not now"
        assert result.active_tasks("a") == before.active_tasks("a")
        assert result.followup_at is not None
        waits.append((result.followup_at - test.now).total_seconds())
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30, 30, 30]
    with pytest.raises(AssignorTestError, match="11 rounds in a row: not now") as failed:
        test.rebalance()
    assert [each.rule for each in failed.value.mistakes] == [AssignorRule.NO_ERROR]


def test_an_assignor_that_fails_is_named_with_its_error() -> None:
    def assign(_state: ApplicationState) -> TaskAssignment:
        raise ValueError("no plan")

    with pytest.raises(AssignorTestError, match="assign raised ValueError: no plan") as failed:
        classic(assign).rebalance()
    assert isinstance(failed.value.__cause__, ValueError)


def test_a_wrong_result_breaks_a_rule() -> None:
    def assign(state: ApplicationState) -> TaskAssignment:
        return TaskAssignment([*assigned(state, lambda number, task: number)][:-1])

    test = classic(assign)
    test.join("b")
    with pytest.raises(AssignorTestError) as failed:
        test.rebalance()
    assert AssignorRule.EVERY_PROCESS_ONCE in {each.rule for each in failed.value.mistakes}


def test_a_callback_that_fails_is_a_mistake() -> None:
    class Deaf(TaskAssignor):
        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            return dealt_out(application_state)

        def on_assignment_computed(self, *_: object) -> None:
            raise KeyError("b")

    with pytest.raises(AssignorTestError, match="on_assignment_computed raised KeyError"):
        classic(Deaf()).rebalance()


def test_an_assignor_that_never_repeats_itself_does_not_let_rounds_end() -> None:
    rng = random.Random(4)

    def assign(state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(assigned(state, lambda _number, _task: rng.randrange(3)))

    test = classic(assign, allow_unrepeatable=True)
    for name in ("b", "c"):
        test.join(name)

    def rebalance_often() -> None:
        for _ in range(20):
            test.rebalance()

    with pytest.raises(AssignorTestError, match="After 20 rounds of the classic group"):
        rebalance_often()


@pytest.mark.parametrize("version", [2, 12])
def test_a_version_that_does_not_exist_is_refused(version: int) -> None:
    with pytest.raises(ConfigurationError, match=f"process 'a' cannot have version {version}. Use 3 to 11"):
        AssignorTest(dealt_out).on_classic_group(versions={"a": version})


def test_the_group_cannot_change_its_kind_later() -> None:
    test = AssignorTest(dealt_out)
    test.subtopology("0", tasks=1)
    test.join("a")
    test.rebalance()
    with pytest.raises(IllegalStateError, match="before the first rebalance"):
        test.on_classic_group()


def test_subtopologies_have_numbers() -> None:
    test = AssignorTest(dealt_out)
    test.subtopology("orders", tasks=1)
    test.on_classic_group()
    test.join("a")
    with pytest.raises(IllegalStateError, match="Give sub-topology 'orders' one"):
        test.rebalance()


# ------------------------------------------------------------------------------------------------ whole stories


@given(st.integers(0, 10**6), VERSIONS, st.sampled_from([HighAvailabilityTaskAssignor, StickyTaskAssignor, dealt_out]))
@settings(max_examples=25, deadline=None)
def test_no_task_has_two_owners_in_a_generation_and_equal_stories_end_alike(
    seed: int, versions: dict[str, int], assignor: object
) -> None:
    options: dict[str, Any] = {"standby_replicas": seed % 2, "restore_rate": 50_000, "allow_unrepeatable": True}
    test = AssignorTest(assignor, **options)
    test.on_classic_group(versions=versions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClassicRounds, "lead", checked(ClassicRounds.lead))
        happens(test, random.Random(seed))
        settled = test.settle()
    repeated = AssignorTest(assignor, **options)
    repeated.play(test.story)
    assert repeated.settle().processes == settled.processes
    assert all(settled.owner(task) for task in test._application.tasks)


@given(st.integers(0, 10**6), st.sampled_from([HighAvailabilityTaskAssignor, dealt_out]))
@settings(max_examples=15, deadline=None)
def test_both_kinds_of_groups_give_processes_the_same_tasks(seed: int, assignor: object) -> None:
    tests = [AssignorTest(assignor, restore_rate=50_000, allow_unrepeatable=True) for _ in range(2)]
    tests[0].on_classic_group()
    found = []
    for test in tests:
        happens(test, random.Random(seed), threads=1)
        found.append({name: each.active for name, each in test.settle().processes.items()})
    assert found[0] == found[1]


def checked(lead: Any) -> Any:
    """Check that no member gets a task that another one had when the round began."""

    def wrapped(self: ClassicRounds, *arguments: Any) -> StoryRound:
        present = self.application.group.present
        had = {task: id_ for each in present for id_, tasks in each.members.items() for task in tasks.active_tasks}
        found: StoryRound = lead(self, *arguments)
        owners = [(task, id_) for id_, each in found.members.items() for task in each.active_tasks]
        assert len({task for task, _ in owners}) == len(owners)
        assert [task for task, id_ in owners if had.get(task, id_) != id_] == []
        return found

    return wrapped


def happens(test: AssignorTest, rng: random.Random, threads: int = 3) -> None:
    test.subtopology("0", tasks=rng.randint(1, 6))
    test.subtopology("1", tasks=rng.randint(1, 3), stateful=False, topics=("x", "y"))
    present: set[str] = set()
    for _ in range(rng.randint(2, 6)):
        name = rng.choice("abc")
        if name not in present:
            test.join(name, threads=rng.randint(1, threads))
            present.add(name)
        elif len(present) > 1 and rng.random() < 0.5:
            test.leave(name)
            present.remove(name)
        else:
            test.restart(name, keeps_state=rng.random() < 0.5)
        if rng.random() < 0.7:
            test.rebalance()
            test.advance(rng.choice([0, 1, 600]))
