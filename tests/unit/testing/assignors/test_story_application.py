"""The state of tasks in a story: what an assignor sees of it while time passes."""

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.states import ACTIVE_LAG, ApplicationState, KafkaStreamsState
from kafka_groups.testing.assignors import AssignorTest
from kafka_groups.types import TaskId, TopicPartition

ONE, TWO = TaskId("0", 0), TaskId("0", 1)


class Pinned:
    """An assignor that does what a test says, and remembers what it has seen."""

    def __init__(self) -> None:
        self.plan: dict[str, list[AssignedTask]] = {}
        self.seen: ApplicationState | None = None

    def __call__(self, state: ApplicationState) -> TaskAssignment:
        self.seen = state
        return TaskAssignment(
            KafkaStreamsAssignment.of(each.process_id, self.plan.get(name, []))
            for name, each in self.processes().items()
        )

    def processes(self) -> dict[str, KafkaStreamsState]:
        assert self.seen is not None
        states = self.seen.kafka_streams_states(compute_task_lags=True).values()
        return {each.consumer_client_ids[0].partition("-")[0]: each for each in states}

    def lags(self, name: str) -> list[int]:
        return [self.processes()[name].lag_for(task) for task in (ONE, TWO)]


def started(writes_per_second: int = 0) -> tuple[Pinned, AssignorTest]:
    """A test in which process a runs two tasks."""
    assignor = Pinned()
    test = AssignorTest(assignor, restore_rate=100)
    test.subtopology("0", tasks=2, records=1_000, writes_per_second=writes_per_second)
    test.join("a")
    test.join("b")
    assignor.plan = {"a": [AssignedTask.active(ONE), AssignedTask.active(TWO)]}
    test.rebalance()
    assert (assignor.lags("a"), assignor.lags("b")) == ([0, 0], [0, 0])  # the changelogs were empty
    return assignor, test


def test_lags_of_running_restoring_copied_and_missing_tasks() -> None:
    assignor, test = started()
    assignor.plan = {"a": [AssignedTask.active(ONE)], "b": [AssignedTask.active(TWO), AssignedTask.standby(ONE)]}
    test.rebalance()
    assert (assignor.lags("a"), assignor.lags("b")) == ([ACTIVE_LAG, ACTIVE_LAG], [1_000, 1_000])
    test.advance(3)
    test.rebalance()
    assert (assignor.lags("a"), assignor.lags("b")) == ([ACTIVE_LAG, 0], [700, 700])
    test.advance(7)
    test.rebalance()
    assert (assignor.lags("a"), assignor.lags("b")) == ([ACTIVE_LAG, 0], [0, ACTIVE_LAG])


def test_tasks_write_while_they_run_and_copies_follow() -> None:
    assignor, test = started(writes_per_second=10)
    assignor.plan = {"a": [AssignedTask.active(ONE)], "b": [AssignedTask.active(TWO), AssignedTask.standby(ONE)]}
    test.rebalance()
    test.advance(12)  # task 0_1 runs after 10 of them
    test.rebalance()
    assert (assignor.lags("a"), assignor.lags("b")) == ([ACTIVE_LAG, 20], [0, ACTIVE_LAG])
    assert test.statistics.records_copied == 1_120 + 1_000
    assert test.statistics.restoring_seconds == 10


def test_state_stays_when_tasks_move_and_processes_leave() -> None:
    assignor, test = started()
    test.leave("a")
    assignor.plan = {"b": [AssignedTask.active(ONE), AssignedTask.active(TWO)]}
    test.rebalance()
    test.advance(1)
    test.join("a")
    test.rebalance()
    assert (assignor.lags("a"), assignor.lags("b")) == ([0, 0], [900, 900])
    assert assignor.processes()["a"].previous_active_tasks == set()
    assert assignor.processes()["a"].previous_standby_tasks == {ONE, TWO}  # a copy that nobody uses is one, too
    assert assignor.processes()["b"].previous_active_tasks == {ONE, TWO}
    test.restart("a", keeps_state=False)
    test.rebalance()
    assert assignor.lags("a") == [1_000, 1_000]
    assert assignor.processes()["a"].previous_standby_tasks == set()


def test_threads_that_end_leave_their_tasks() -> None:
    assignor, test = started()
    test.resize("a", threads=2)
    result = test.rebalance()
    assert [result.members[id_].active_tasks for id_ in ("a-1", "a-2")] == [{ONE}, {TWO}]
    test.resize("a", threads=1)
    test.rebalance()
    assert assignor.processes()["a"].previous_active_tasks == {ONE}
    assert assignor.processes()["a"].previous_standby_tasks == {TWO}
    assert assignor.processes()["a"].num_processing_threads == 1


def test_a_process_comes_back_as_it_was_or_as_the_test_says() -> None:
    assignor, test = started()
    test.leave("b")
    test.join("c", threads=2, rack="r1", tags={"zone": "z1"})
    test.leave("c")
    test.join("c")
    test.rebalance()
    back = assignor.processes()["c"]
    assert (back.num_processing_threads, back.rack_id, back.client_tags) == (2, "r1", {"zone": "z1"})
    test.leave("c")
    test.join("c", threads=1, rack="r2", tags={})
    test.rebalance()
    back = assignor.processes()["c"]
    assert (back.num_processing_threads, back.rack_id, back.client_tags) == (1, "r2", {})


def test_an_assignor_sees_tags_racks_topics_and_time() -> None:
    assignor = Pinned()
    test = AssignorTest(assignor, standby_replicas=2, acceptable_recovery_lag=7, allow_unassigned=True)
    test.subtopology("0", tasks=3, topics=["orders"], racks=["r1", ("r1", "r2")])
    test.subtopology("1", tasks=1, stateful=False)
    test.join("a", rack="r1", tags={"zone": "z1"})
    test.advance(1.5)
    test.rebalance()
    seen, process = assignor.seen, assignor.processes()["a"]
    assert seen is not None
    assert (process.rack_id, process.client_tags) == ("r1", {"zone": "z1"})
    assert seen.now == test.now
    assert (seen.assignment_configs.num_standby_replicas, seen.assignment_configs.acceptable_recovery_lag) == (2, 7)
    source, changelog = seen.all_tasks[TWO].topic_partitions
    assert (source.topic_partition, source.is_source, source.is_changelog) == (TopicPartition("orders", 1), True, False)
    assert (changelog.is_source, changelog.is_changelog) == (False, True)
    assert [each.topic_partitions[0].rack_ids for each in seen.all_tasks.values()] == [
        {"r1"},
        {"r1", "r2"},
        {"r1"},
        None,
    ]
    assert [each.is_stateful for each in seen.all_tasks.values()] == [True, True, True, False]


def test_partitions_lose_their_replicas_in_a_rack_that_fails() -> None:
    assignor = Pinned()
    test = AssignorTest(assignor, allow_unassigned=True)
    test.subtopology("0", tasks=2, racks=["r1", ("r1", "r2")])
    test.join("a")
    test.fail_rack("r1")
    test.rebalance()
    assert assignor.seen is not None
    assert [each.topic_partitions[1].rack_ids for each in assignor.seen.all_tasks.values()] == [None, {"r2"}]
