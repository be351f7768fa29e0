"""Right assignors pass with exact figures; stories are data; wrong usage is refused."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from kafka_groups.assignment.application.assignments import AssignedTask, TaskAssignment
from kafka_groups.assignment.application.built_in import HighAvailabilityTaskAssignor
from kafka_groups.assignment.application.registered import Registered
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.task_assignor import TaskAssignmentError, TaskAssignor
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.testing.assignors import AssignorStatistics, AssignorTest
from tests.support.assignors.story_assignors import assigned, dealt_out, first, story_of

# ------------------------------------------------------------------------------------------------ exact figures


def test_figures_of_a_story_are_exact() -> None:
    test = AssignorTest(dealt_out, restore_rate=100)
    tasks = test.subtopology("0", tasks=4, records=1_000)
    test.join("a")
    assert test.rebalance().active_tasks("a") == set(tasks)
    test.join("b")
    result = test.rebalance()
    assert result.moved_tasks == {tasks[1]: ("a", "b"), tasks[3]: ("a", "b")}
    assert result.restoring_tasks == {tasks[1], tasks[3]}
    assert result.records_to_copy == 2_000
    test.advance(4)
    test.leave("b")
    result = test.rebalance()
    assert set(result.moved_tasks) == {tasks[1], tasks[3]}
    assert result.records_to_copy == 0  # the state was still on the disk of a
    test.join("b")
    assert test.rebalance().records_to_copy == 1_200
    test.advance(10)
    assert test.statistics == AssignorStatistics(
        rebalances=4,
        postponed=0,
        moved_tasks=6,
        records_copied=800 + 1_200,
        restoring_seconds=2 * 4 + 2 * 6,
        most_restoring_tasks=2,
        greatest_load_difference=0,
    )


def test_loads_count_copies_and_threads() -> None:
    def assign(state: ApplicationState) -> TaskAssignment:
        found = assigned(state, lambda number, task: 0, among=1)
        found[1].assign_task(AssignedTask.standby(first(state)))
        return TaskAssignment(found)

    test = AssignorTest(assign)
    tasks = test.subtopology("0", tasks=6, records=500)
    test.join("a", threads=2)
    test.join("b", threads=4)
    result = test.rebalance()
    assert {name: each.load for name, each in result.processes.items()} == {"a": 3, "b": 0.25}
    assert result.load_difference == test.statistics.greatest_load_difference == 2.75
    assert result.standby_tasks("b") == {tasks[0]}
    assert result.records_to_copy == 500
    assert result.restoring_tasks == set()
    assert str(result) == "a: 0_0, 0_1, 0_2, 0_3, 0_4, 0_5\nb: no tasks; copies of 0_0"
    assert {id_: len(each.active_tasks) for id_, each in result.members.items() if id_.startswith("a")} == {
        "a-1": 3,
        "a-2": 3,
    }


def test_a_postponed_assignment_changes_nothing() -> None:
    class Sometimes(TaskAssignor):
        is_able = True

        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            if not self.is_able:
                raise TaskAssignmentError("not now")
            return dealt_out(application_state)

    assignor = Sometimes()
    test = story_of(assignor)
    before = test.rebalance()
    test.leave("b")
    assignor.is_able = False
    result = test.rebalance()
    assert str(result.postponed) == "not now"
    assert result.active_tasks("a") == before.active_tasks("a")
    assert list(result.processes) == ["a"]
    assert result.followup_at == test.now + timedelta(seconds=1)
    assert (test.statistics.rebalances, test.statistics.postponed) == (1, 1)
    assert str(test.story.steps[-1]) == "test.rebalance()  # postponed"
    assignor.is_able = True
    assert len(test.settle().active_tasks("a")) == 5


# -------------------------------------------------------------------------------------------- high availability


def test_copies_are_warmed_up_before_tasks_move() -> None:
    test = AssignorTest(HighAvailabilityTaskAssignor)
    tasks = test.subtopology("0", tasks=6)
    test.join("a")
    test.settle()
    test.join("b")
    warming = test.rebalance()
    assert warming.active_tasks("a") == set(tasks)
    assert len(warming.standby_tasks("b")) == 2  # max.warmup.replicas
    assert warming.followup_at == test.now + timedelta(minutes=10)
    settled = test.settle()
    assert len(settled.active_tasks("b")) == 3
    assert test.statistics.moved_tasks == 3
    assert test.statistics.records_copied == 3 * 100_000
    assert test.statistics.restoring_seconds == 0


def test_the_configuration_of_the_registration_counts() -> None:
    test = AssignorTest(HighAvailabilityTaskAssignor, configs={"max.warmup.replicas": 5})
    test.subtopology("0", tasks=6)
    test.join("a")
    test.rebalance()
    test.join("b")
    assert len(test.rebalance().standby_tasks("b")) == 3


def test_the_configuration_reaches_the_assignor() -> None:
    test = AssignorTest(
        HighAvailabilityTaskAssignor,
        configs={"max.warmup.replicas": 5},
        standby_replicas=1,
        rack_aware_assignment_tags=["zone"],
    )
    test.subtopology("0", tasks=3)
    for name, zone in (("a", "z1"), ("b", "z1"), ("c", "z2")):
        test.join(name, tags={"zone": zone})
    result = test.settle()
    for task in result.active_tasks("a") | result.active_tasks("b"):
        assert task in result.standby_tasks("c")
    test.configure(standby_replicas=0)
    assert all(not each.standby for each in test.settle().processes.values())


def test_a_process_that_restarts_with_its_state_gets_its_tasks_back_at_once() -> None:
    test = AssignorTest(HighAvailabilityTaskAssignor)
    test.subtopology("0", tasks=4)
    test.join("a")
    test.join("b")
    before = test.settle()
    process_id = test.process_id("a")
    test.restart("a")
    assert test.rebalance().processes == before.processes
    assert test.process_id("a") == process_id
    assert test.statistics.most_restoring_tasks == 0


def test_a_process_that_has_lost_its_state_has_another_id_and_waits() -> None:
    test = AssignorTest(HighAvailabilityTaskAssignor)
    test.subtopology("0", tasks=4)
    test.join("a")
    test.join("b")
    test.settle()
    process_id = test.process_id("a")
    test.restart("a", keeps_state=False)
    assert test.process_id("a") != process_id
    restored = test.rebalance()
    assert len(restored.restoring_tasks) == 2
    assert len(test.settle().active_tasks("a")) == 2


def test_racks_fail_and_come_back_with_their_processes() -> None:
    test = AssignorTest(HighAvailabilityTaskAssignor)
    test.subtopology("0", tasks=4, racks=["r1", ("r1", "r2")])
    test.join("a", rack="r1")
    test.join("b", rack="r2")
    test.join("c", rack="r1", threads=2)
    test.settle()
    test.fail_rack("r1")
    assert list(test.rebalance().processes) == ["b"]
    with pytest.raises(IllegalStateError, match="restore_rack before process 'a' joins"):
        test.join("a")
    with pytest.raises(IllegalStateError, match="down already"):
        test.fail_rack("r1")
    test.restore_rack("r1")
    back = test.settle()
    assert {name: each.threads for name, each in back.processes.items()} == {"a": 1, "b": 1, "c": 2}
    with pytest.raises(IllegalStateError, match="is not down"):
        test.restore_rack("r1")


# ------------------------------------------------------------------------------------------- stories as data


def eventful(assignor: object, seed: int = 0) -> AssignorTest:
    test = AssignorTest(assignor, standby_replicas=1, seed=seed)
    test.subtopology("0", tasks=6, racks=["r1", "r2"], topics=["orders"], writes_per_second=10)
    test.join("a", threads=2, rack="r1", tags={"zone": "z1"})
    test.join("b", rack="r2")
    test.rebalance()
    test.advance(30)
    test.resize("a", threads=1)
    test.restart("b", keeps_state=False)
    test.settle(most_rebalances=50)
    return test


def test_a_story_repeats_and_is_printed_as_code() -> None:
    test = eventful(HighAvailabilityTaskAssignor)
    again = AssignorTest(HighAvailabilityTaskAssignor, standby_replicas=1)
    again.play(test.story)
    assert again.story == test.story
    assert again.statistics == test.statistics
    lines = str(test.story).splitlines()
    assert lines[0] == ("test.subtopology('0', tasks=6, topics=['orders'], racks=['r1', 'r2'], writes_per_second=10)")
    assert lines[1] == "test.join('a', threads=2, rack='r1', tags={'zone': 'z1'})"
    assert lines[5:7] == ["test.resize('a', threads=1)", "test.restart('b', keeps_state=False)"]
    assert lines[7].startswith("test.settle(most_rebalances=50)  # ")


def test_another_assignor_gets_the_same_story() -> None:
    other = AssignorTest(dealt_out)
    other.play(eventful(HighAvailabilityTaskAssignor).story)
    assert other.statistics.rebalances == 3


def test_ids_come_from_the_seed() -> None:
    ids = [eventful(HighAvailabilityTaskAssignor, seed).process_id("a") for seed in (0, 0, 1)]
    assert ids[0] == ids[1] != ids[2]


# ------------------------------------------------------------------------------------------------- wrong usage


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda test: test.join("a"), "Process 'a' is in the group already"),
        (lambda test: test.leave("c"), "Process 'c' is not in the group. Processes that are: a, b"),
        (lambda test: test.restart("c"), "Process 'c' is not in the group"),
        (lambda test: test.process_id("c"), "Process 'c' is not in the group"),
        (lambda test: test.resize("a", threads=0), "at least one thread, not 0"),
        (lambda test: test.join("c", threads=0), "at least one thread, not 0"),
        (lambda test: test.subtopology("0", tasks=1), "There is a sub-topology '0' already"),
        (lambda test: test.advance(-1), "Time does not run backwards"),
        (lambda test: test.rebalance().active_tasks("c"), "Process 'c' was not in the group .* There were: a, b"),
    ],
)
def test_an_impossible_step_is_refused(use: Callable[[AssignorTest], object], text: str) -> None:
    with pytest.raises(IllegalStateError, match=text):
        use(story_of(dealt_out))


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda: AssignorTest("nowhere"), "Give module:Class"),
        (lambda: AssignorTest(dealt_out, restore_rate=0), "restore_rate must be at least 1, not 0"),
        (lambda: AssignorTest(dealt_out, standby_replicas=-1), "num_standby_replicas must be between"),
        (lambda: AssignorTest(Registered(dealt_out), configs={"a": 1}), "Give no others"),
        (lambda: story_of(dealt_out).configure(standby_replicas=-1), "num_standby_replicas must be between"),
        (lambda: story_of(dealt_out).subtopology("2", tasks=0), "tasks must be at least 1, not 0"),
        (lambda: story_of(dealt_out).subtopology("2", tasks=1, records=-1), "records must be at least 0"),
        (lambda: story_of(dealt_out).subtopology("2", tasks=1, racks="r1"), r"racks must be a list .* \['r1'\]"),
    ],
)
def test_wrong_values_are_refused(use: Callable[[], object], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        use()


def test_there_must_be_processes_and_tasks() -> None:
    test = AssignorTest(dealt_out)
    with pytest.raises(IllegalStateError, match="Call join first"):
        test.rebalance()
    test.join("a")
    with pytest.raises(IllegalStateError, match="Call subtopology first"):
        test.settle()
    assert [each.method for each in test.story.steps] == ["join"]
    assert repr(test) == "<AssignorTest of dealt_out: step 1, processes: a>"
    test.leave("a")
    assert repr(test).endswith("processes: none>")


def test_assignors_are_given_in_every_form() -> None:
    for assignor in (
        HighAvailabilityTaskAssignor,
        HighAvailabilityTaskAssignor(),
        "kafka_groups.assignment.application.built_in:HighAvailabilityTaskAssignor",
        Registered(HighAvailabilityTaskAssignor, name="ha"),
    ):
        assert len(story_of(assignor).settle().processes) == 2
