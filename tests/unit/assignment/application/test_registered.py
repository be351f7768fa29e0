"""Assignors as they are registered, and run once."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import ClassVar

import attrs
import pytest

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.assignor_run import computed
from kafka_groups.assignment.application.built_in import HighAvailabilityTaskAssignor
from kafka_groups.assignment.application.configs import AssignmentConfigs, RackAwareStrategy
from kafka_groups.assignment.application.neutral import ApplicationInput, MemberInput
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.registered import Registered
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.task_assignor import (
    AssignmentError,
    GroupAssignment,
    GroupSubscription,
    TaskAssignmentError,
    TaskAssignor,
)
from kafka_groups.assignment.application.tasks import TaskInfo
from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.types import TaskId

A, TASK = ProcessId("a"), TaskId("0", 0)
GIVEN = ApplicationInput(
    members={"m": MemberInput(process_id=A)},
    tasks={TASK: TaskInfo(TASK, is_stateful=False)},
    configs=AssignmentConfigs(num_standby_replicas=1),
    now=datetime(2030, 1, 1, tzinfo=UTC),
    lags=dict,
)


def to_first(state: ApplicationState) -> TaskAssignment:
    """Give all tasks to the first process."""
    first, *others = state.kafka_streams_states(compute_task_lags=False)
    given = KafkaStreamsAssignment.of(first, map(AssignedTask.active, state.all_tasks))
    return TaskAssignment([given, *map(KafkaStreamsAssignment.of, others)])


class Heard(TaskAssignor):
    """Notes what it is told, and fails when it is told to."""

    made: ClassVar["list[Heard]"] = []

    def __init__(self) -> None:
        self.heard: list[object] = []
        self.made.append(self)

    def configure(self, configs: Mapping[str, object]) -> None:
        self.heard.append(dict(configs))

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        self.heard.append(application_state.assignment_configs)
        return to_first(application_state)

    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        self.heard.append((list(assignment.members), list(subscription.members), error))
        raise OSError("no disk")


def test_a_function_is_an_assignor() -> None:
    registered = Registered(to_first)
    assert registered.name == "to_first"
    result = computed(registered, GIVEN)
    assert result.outcome.group_assignment.members["m"].active_tasks == {TASK}
    assert result.callback_error is None


def test_a_class_is_made_anew_and_configured() -> None:
    registered = Registered(Heard, configs={"max.warmup.replicas": "7", "colour": "red"})
    Heard.made.clear()
    results = [computed(registered, GIVEN) for _ in range(2)]
    for each in Heard.made:
        assert each.heard == [
            {"max.warmup.replicas": "7", "colour": "red"},
            AssignmentConfigs(num_standby_replicas=1, max_warmup_replicas=7),
            (["m"], ["m"], AssignmentError.NONE),
        ]
    assert len(Heard.made) == len(results)
    assert [str(each.callback_error) for each in results] == ["no disk", "no disk"]


@pytest.mark.parametrize(
    ("assignor", "name"),
    [
        (HighAvailabilityTaskAssignor, "HighAvailabilityTaskAssignor"),
        (HighAvailabilityTaskAssignor(), "HighAvailabilityTaskAssignor"),
        ("kafka_groups.assignment.application.built_in:HighAvailabilityTaskAssignor", "HighAvailabilityTaskAssignor"),
    ],
)
def test_the_name_is_that_of_the_class(assignor: object, name: str) -> None:
    assert Registered(assignor).name == name
    assert Registered(assignor, name="mine").name == "mine"


@pytest.mark.parametrize(
    ("assignor", "message"),
    [
        (3, "3 is not a task assignor. Register a subclass"),
        (dict, "is not a task assignor"),
        ("nowhere", "'nowhere' is not the place of a task assignor. Give module:Class"),
        ("no.module:X", "Could not import the task assignor 'no.module:X': ModuleNotFoundError"),
        ("kafka_groups.assignment.application.built_in:X", "Could not import .*has no attribute 'X'"),
    ],
)
def test_other_things_are_refused(assignor: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Registered(assignor)


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Vast:
    def __repr__(self) -> str:
        return "vast " * 1_000_000


class Raising(Heard):
    error: Exception = ValueError()

    def configure(self, configs: Mapping[str, object]) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError(), "'Raising': ValueError. Register"),
        (ValueError("no rack."), "'Raising': ValueError: no rack. Register"),
        (
            UnprintableError(),
            "'Raising': UnprintableError: its text cannot be shown, because str.. of it raises RuntimeError. Reg",
        ),
        (ValueError("x" * 5_000_000), "'Raising': ValueError: x{2000}…"),
    ],
    ids=["empty", "short", "unprintable", "vast"],
)
def test_whatever_a_class_of_the_program_raises_is_told_in_few_words(error: Exception, told: str) -> None:
    Raising.error = error
    with pytest.raises(ConfigurationError, match=told) as raised:
        Registered(Raising)
    assert len(str(raised.value)) < 2_500


def test_objects_that_cannot_be_shown_are_refused_all_the_same() -> None:
    with pytest.raises(ConfigurationError, match=r"^vast .*… is not a task assignor\.") as raised:
        Registered(Vast())
    assert len(str(raised.value)) < 1_000
    with pytest.raises(
        ConfigurationError,
        match=r"^<UnprintableError, whose repr\(\) raises RuntimeError> is not a "
        r"task",
    ):
        Registered(UnprintableError())


def test_an_asynchronous_assignor_is_refused() -> None:
    async def assign(state: ApplicationState) -> TaskAssignment:
        return to_first(state)

    with pytest.raises(ConfigurationError, match="asynchronous"):
        Registered(assign)


def test_a_class_that_needs_arguments_is_refused() -> None:
    class Needing(Heard):
        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    with pytest.raises(ConfigurationError, match=r"'Needing': TypeError.*without arguments"):
        Registered(Needing)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"max.warmup.replicas": 0}, "max_warmup_replicas must be between 1 and"),
        ({"max.warmup.replicas": "many"}, "max.warmup.replicas must be a whole number, not 'many'"),
        ({"rack.aware.assignment.strategy": "best"}, "must be one of none, min_traffic, balance_subtopology"),
        ({"num.standby.replicas": 1}, "which groups and brokers set: streams.num.standby.replicas"),
    ],
)
def test_bad_configuration_is_refused_at_once(configs: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Registered(to_first, configs=configs)


def test_configuration_of_racks() -> None:
    configs = Registered(
        to_first,
        configs={"rack.aware.assignment.strategy": "min_traffic", "rack.aware.assignment.traffic_cost": 3},
    ).assignment_configs(AssignmentConfigs())
    assert configs.rack_aware_assignment_strategy is RackAwareStrategy.MIN_TRAFFIC
    assert configs.rack_aware_traffic_cost == 3


def test_another_result_is_an_error() -> None:
    def forgetful(_state: ApplicationState) -> TaskAssignment:
        return None  # type: ignore[return-value]

    with pytest.raises(IllegalStateError, match=r"'forgetful' returned None\. It must return a TaskAssignment"):
        computed(Registered(forgetful), GIVEN)


def test_errors_of_assign_are_handed_on() -> None:
    def unsure(_state: ApplicationState) -> TaskAssignment:
        raise TaskAssignmentError("not now")

    with pytest.raises(TaskAssignmentError, match="not now"):
        computed(Registered(unsure), attrs.evolve(GIVEN))


class OnlyOne(TaskAssignor):
    """Has one object for all assignments."""

    one: ClassVar["OnlyOne | None"] = None

    def __new__(cls) -> "OnlyOne":
        cls.one = cls.one or super().__new__(cls)
        return cls.one

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return to_first(application_state)


def test_a_class_that_makes_one_object_for_all_assignments_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="OnlyOne of the task assignor 'OnlyOne' makes the same object again"):
        Registered(OnlyOne)
    assert Registered(OnlyOne(), name="shared").name == "shared"
