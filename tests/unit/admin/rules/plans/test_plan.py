"""Plans for groups whose descriptions are made by hand."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from attrs import evolve, frozen

from kafka_groups.admin import (
    CopyBasis,
    PlannedMove,
    PlannedProcess,
    RackTraffic,
    StreamsGroupTasks,
    StreamsPlan,
    TaskCounts,
    TaskPlace,
)
from kafka_groups.admin.rules.plans.plan import streams_plan
from kafka_groups.admin.rules.plans.situation import GroupSituation
from kafka_groups.admin.rules.plans.what_if import checked_what_if
from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignedTaskType,
    GroupAssignorConfigs,
    KafkaStreamsAssignment,
    MemberAssignment,
    MemberAssignments,
    ProcessId,
    Registered,
    StreamsGroupSpec,
    StreamsMemberSpec,
    TaskAssignment,
    TaskAssignmentError,
    TaskAssignor,
    TaskAssignorError,
    TopologyDescriber,
)
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import ConfigurationError, GroupAuthorizationFailedError, IllegalStateError, KafkaGroupsError
from kafka_groups.types import TaskId, TopicPartition
from tests.unit.admin.rules.plans.situations import CHANGELOG, END, READING, START, member, situation, tasks

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ACTIVE, STANDBY = AssignedTaskType.ACTIVE, AssignedTaskType.STANDBY
A, B = TaskPlace("a-1", "a"), TaskPlace("b-1", "b")
ALL = ("0_0", "0_1", "0_2", "0_3")


def plan(given: GroupSituation, assignor: object, standby_replicas: int | None = None, **change: Any) -> StreamsPlan:
    wanted = {"leaving": (), "joining": (), **change}
    return streams_plan(given, checked_what_if(assignor, None, standby_replicas, **wanted), NOW)


def assigning(active: Mapping[str, tuple[str, ...]], **standby: tuple[str, ...]) -> Callable[[Any], TaskAssignment]:
    """An assignor that always gives processes these tasks."""

    def assign(state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(
            KafkaStreamsAssignment.of(
                id_,
                [
                    *(AssignedTask.active(TaskId.parse(each)) for each in active.get(str(id_), ())),
                    *(AssignedTask.standby(TaskId.parse(each)) for each in standby.get(str(id_), ())),
                ],
            )
            for id_ in state.kafka_streams_states(compute_task_lags=False)
        )

    return assign


@frozen
class MovesCopies:
    """An assignor by member that always returns the same active tasks and copies."""

    tasks: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
    name: str = "moves-copies"

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        return MemberAssignments(
            {id_: MemberAssignment(tasks(*active), tasks(*standby)) for id_, (active, standby) in self.tasks.items()}
        )


TWO = situation(
    member("a-1", "a", ("0_0", "0_1", "0_2"), reported={"0_0": END, "0_3": 700}),
    member("b-1", "b", ("0_3",), ("0_0",), reported={"0_0": 900}),
)
"""Process a has a part of the state of 0_3 on its disk, and b a copy of 0_0."""


def test_nothing_moves_if_the_assignor_agrees_with_the_group() -> None:
    made = plan(TWO, assigning({"a": ("0_0", "0_1", "0_2"), "b": ("0_3",)}, b=("0_0",)))
    assert (made.moves, made.records, made.error, made.warnings) == ((), 0, None, ())
    assert (made.group_id, made.state, made.assignor, made.group_assignor) == ("app", "Stable", "assign", "sticky")


def test_moves_say_who_has_to_copy_how_much() -> None:
    made = plan(TWO, assigning({"a": ("0_3",), "b": ("0_0", "0_1", "0_2")}, a=("0_0",)))
    active: dict[str, Any] = {"role": ACTIVE, "source": A, "target": B}
    assert made.moves == (
        PlannedMove(
            task=TaskId("0", 0), **active, role_before=STANDBY, records=END - 900, basis=CopyBasis.REPORTED
        ),
        PlannedMove(task=TaskId("0", 0), role=STANDBY, source=B, target=A, role_before=ACTIVE),
        PlannedMove(task=TaskId("0", 1), **active, records=END - START, basis=CopyBasis.WHOLE),
        PlannedMove(task=TaskId("0", 2), **active, records=END - START, basis=CopyBasis.WHOLE),
        PlannedMove(
            task=TaskId("0", 3), role=ACTIVE, source=B, target=A, records=END - 700, basis=CopyBasis.REPORTED
        ),
    )  # fmt: skip
    assert made.records == 100 + 2 * (END - START) + 300
    assert not any(move.stays_in_process for move in made.moves)


def test_copies_appear_and_disappear() -> None:
    made = plan(TWO, assigning({"a": ("0_0", "0_1", "0_2"), "b": ("0_3",)}, a=("0_3",)))
    assert made.moves == (
        PlannedMove(task=TaskId("0", 0), role=STANDBY, source=B, target=None),
        PlannedMove(
            task=TaskId("0", 3), role=STANDBY, source=None, target=A, records=END - 700, basis=CopyBasis.REPORTED
        ),
    )


def test_a_task_that_becomes_active_where_its_copy_is_is_one_move() -> None:
    made = plan(TWO, assigning({"a": ("0_1", "0_2"), "b": ("0_3", "0_0")}))
    assert [(str(move.task), move.role, move.source, move.target) for move in made.moves] == [("0_0", ACTIVE, A, B)]


def test_a_task_that_changes_threads_copies_nothing() -> None:
    given = situation(member("a-1", "a", ALL), member("a-2", "a"))
    made = plan(given, "highly_available")
    assert len(made.moves) == 2
    assert all(move.stays_in_process and move.records == 0 for move in made.moves)


def test_a_copy_that_changes_threads_is_paired_within_its_process() -> None:
    given = situation(member("a-1", "a", ALL), member("b-1", "b", (), ALL), member("c-1", "c"), member("c-2", "c"))
    moved = situation(*given.group.members[:2], member("c-1", "c", (), ("0_0",)), member("c-2", "c"))
    by_member = MovesCopies({"a-1": (ALL, ()), "b-1": ((), ALL[1:]), "c-2": ((), ("0_0",))})
    assert plan(moved, by_member).moves == (
        PlannedMove(
            task=TaskId("0", 0),
            role=STANDBY,
            source=TaskPlace("c-1", "c"),
            target=TaskPlace("c-2", "c"),
            role_before=STANDBY,
        ),
        PlannedMove(task=TaskId("0", 0), role=STANDBY, source=B, target=None),
    )


def test_warm_ups_count_as_copies() -> None:
    warming = StreamsGroupTasks(warmup=tasks("0_0"))
    given = situation(member("a-1", "a", ALL), member("b-1", "b", assignment=warming, target_assignment=warming))
    made = plan(given, assigning({"a": ALL[1:], "b": ("0_0",)}))
    assert [move.role_before for move in made.moves] == [STANDBY]
    assert made.processes[1].before == TaskCounts(0, 1)


def test_the_state_of_a_member_that_leaves_stays_in_its_process() -> None:
    given = situation(
        member("a-1", "a", ALL), member("b-1", "b"), member("b-2", "b", (), ("0_0",), reported={"0_0": 990})
    )
    made = plan(given, assigning({"a": ALL[1:], "b": ("0_0",)}), leaving=["b-2"])
    assert [(move.target, move.records) for move in made.moves] == [(B, END - 990)]


def test_the_furthest_report_of_a_process_counts() -> None:
    given = situation(
        member("a-1", "a", ALL),
        member("b-1", "b", reported={"0_0": 990}),
        member("b-2", "b", reported={"0_0": 500}),
    )
    made = plan(given, assigning({"a": ALL[1:], "b": ("0_0",)}))
    assert [move.records for move in made.moves] == [END - 990]


def test_a_process_that_has_a_task_active_and_as_a_copy_has_its_state() -> None:
    given = situation(member("a-1", "a", ("0_0",)), member("a-2", "a", (), ("0_0",)))
    by_member = MovesCopies({"a-1": ((), ("0_0",))})
    assert [(move.role, move.target, move.role_before) for move in plan(given, by_member).moves] == [
        (STANDBY, TaskPlace("a-1", "a"), ACTIVE)
    ]


def test_tasks_without_state_copy_nothing() -> None:
    given = situation(member("a-1", "a", ALL), member("b-1", "b"), subtopology=READING)
    made = plan(given, assigning({"b": ALL}))
    assert len(made.moves) == len(ALL)
    assert {(move.records, move.basis) for move in made.moves} == {(0, CopyBasis.NOTHING)}
    assert made.warnings == ()


def test_numbers_of_records_are_unknown_if_offsets_are() -> None:
    refused = GroupAuthorizationFailedError("no")
    ends = Results(dict(TWO.ends.values), {TopicPartition(CHANGELOG, 1): refused})
    ends = evolve(ends, values={key: end for key, end in ends.values.items() if key not in ends.errors})
    made = plan(evolve(TWO, ends=ends), assigning({"a": ("0_0", "0_2"), "b": ("0_1", "0_3")}, b=("0_0",)))
    assert [(move.records, move.basis) for move in made.moves] == [(None, CopyBasis.UNKNOWN)]
    assert made.records is None
    assert made.warnings == ("Some numbers of records are unknown, because offsets of changelogs are unknown: no",)


def test_the_load_of_processes_and_threads() -> None:
    made = plan(TWO, assigning({"a": ("0_0",), "new-1": ("0_1", "0_2", "0_3")}, a=("0_3",)), leaving=["b-1"], joining=[
        PlannedProcess(threads=2, rack="r", client_tags={"zone": "z"})
    ])  # fmt: skip
    first, second, third = made.processes
    assert (first.process_id, first.before, first.after) == ("a", TaskCounts(3, 0), TaskCounts(1, 1))
    assert (second.process_id, second.before, second.after) == ("b", TaskCounts(1, 1), None)
    assert (third.process_id, third.before, third.after) == ("new-1", None, TaskCounts(3, 0))
    assert (third.rack, third.client_tags) == ("r", {"zone": "z"})
    assert [(each.member_id, each.before, each.after and each.after.total) for each in third.threads] == [
        ("new-1-1", None, 2),
        ("new-1-2", None, 1),
    ]
    assert {move.source for move in made.moves if str(move.task) == "0_3" and move.role is ACTIVE} == {B}


def test_new_processes_get_ids_that_are_free() -> None:
    given = situation(member("new-1-1", "p", ALL))
    made = plan(given, "highly_available", joining=[PlannedProcess(), PlannedProcess()])
    assert [each.process_id for each in made.processes] == ["new-new-1", "new-new-2", "p"]


def test_traffic_between_racks() -> None:
    racks = dict(enumerate("xxyy"))
    given = situation(member("a-1", "a", ALL, rack="x"), member("b-1", "b", rack="y"), racks=racks)
    made = plan(given, assigning({"a": ("0_0", "0_1"), "b": ("0_2", "0_3")}))
    assert made.traffic == RackTraffic(before=2, after=0, partitions=4)


def test_traffic_is_unknown_without_racks_of_processes_or_brokers() -> None:
    assert plan(TWO, "highly_available").traffic is None
    racks = dict.fromkeys(range(4), "x")
    assert plan(situation(member("a-1", "a", ALL), racks=racks), "highly_available").traffic is None
    assert plan(situation(member("a-1", "a", ALL, rack="x")), "highly_available").traffic is None


def test_racks_reach_the_assignor() -> None:
    seen: list[object] = []

    def assign(state: ApplicationState) -> TaskAssignment:
        (info,) = (each for each in state.all_tasks.values() if each.id.partition == 2)
        seen.extend(sorted((str(place.topic_partition), place.rack_ids) for place in info.topic_partitions))
        return assigning({"a": ALL})(state)

    plan(situation(member("a-1", "a", ALL), racks=dict(enumerate("xxyy"))), assign)
    assert seen == [(f"{CHANGELOG}-2", frozenset("y")), ("in-2", frozenset("y"))]


# ---------------------------------------------------------------------------------------------- the assignor


def test_the_number_of_copies_and_the_tags_are_those_of_the_group_unless_given() -> None:
    seen: list[tuple[int, tuple[str, ...]]] = []

    def assign(state: ApplicationState) -> TaskAssignment:
        configs = state.assignment_configs
        seen.append((configs.num_standby_replicas, configs.rack_aware_assignment_tags))
        return assigning({"a": ALL})(state)

    configs = {"streams.num.standby.replicas": "2", "streams.rack.aware.assignment.tags": "zone,host"}
    given = situation(member("a-1", "a", ALL), configs=configs)
    plan(given, assign)
    plan(given, assign, 0)
    plan(situation(member("a-1", "a", ALL)), assign)
    assert seen == [(2, ("zone", "host")), (0, ("zone", "host")), (0, ())]


def test_an_assignor_sees_the_lags_that_follow_from_reports() -> None:
    lags: dict[str, int] = {}

    def assign(state: ApplicationState) -> TaskAssignment:
        for id_, process in state.kafka_streams_states(compute_task_lags=True).items():
            lags[str(id_)] = process.lag_for(TaskId("0", 0))
        return assigning({"a": ALL})(state)

    plan(TWO, assign)
    assert lags == {"a": -2, "b": END - 900}


class LowestMember:
    """An assignor by member (KIP-1357)."""

    name = "lowest-member"

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        first, second = sorted(group.members)
        assert group.members[first].active_tasks == tasks("0_0", "0_1", "0_2")
        assert group.members[second].task_offsets == {"0": {0: 900}}
        assert topology.subtopologies["0"].is_stateful
        numbers = range(topology.subtopologies["0"].max_num_input_partitions)
        standby = tasks("0_1") if group.configs.num_standby_replicas else {}
        return MemberAssignments({
            first: MemberAssignment(active_tasks={"0": frozenset(numbers)}),
            second: MemberAssignment(standby_tasks=standby),
        })  # fmt: skip


KNOWN = situation(
    member(
        "a-1", "a", ("0_1",), ("0_2",), reported={"0_2": 5}, rack="r", instance_id="i", client_tags={"zone": "z"},
        user_endpoint=("h", 7), epoch=9,
    ),
    configs={"streams.rack.aware.assignment.tags": "zone"},
)  # fmt: skip


class Curious(TaskAssignor):
    """Notes what it sees, and what its callback hears."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        self.seen.extend(application_state.kafka_streams_states(compute_task_lags=False).values())
        return assigning({"a": ALL})(application_state)

    def on_assignment_computed(self, assignment: Any, subscription: Any, error: Any) -> None:
        self.seen.append(subscription.members)


def test_an_assignor_by_process_sees_all_that_is_known_of_members() -> None:
    curious = Curious()
    plan(KNOWN, curious, joining=[PlannedProcess(rack="s", client_tags={"zone": "y"})])
    old, new, subscriptions = curious.seen
    assert (old.rack_id, old.client_tags, old.host_info) == ("r", {"zone": "z"}, ("h", 7))
    assert (new.rack_id, new.client_tags, new.host_info) == ("s", {"zone": "y"}, None)
    first, second = subscriptions["a-1"], subscriptions["new-1-1"]
    assert first.topics == second.topics == {"in"}
    assert (first.owned_partitions, second.owned_partitions) == ({TopicPartition("in", 1)}, frozenset())
    assert (first.group_instance_id, first.generation_id, first.rack_id) == ("i", 9, "r")


def test_an_assignor_by_member_sees_all_that_is_known_of_members() -> None:
    seen: list[StreamsGroupSpec] = []

    class Noting:
        name = "noting"

        def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
            seen.append(group)
            return MemberAssignments({})

    plan(KNOWN, Noting)
    spec = StreamsMemberSpec(
        process_id="a",
        instance_id="i",
        rack_id="r",
        client_tags={"zone": "z"},
        active_tasks=tasks("0_1"),
        standby_tasks=tasks("0_2"),
        task_offsets={"0": {2: 5}},
        task_end_offsets={"0": {2: END}},
    )
    assert seen == [StreamsGroupSpec({"a-1": spec}, GroupAssignorConfigs(0, ("zone",)))]


def test_an_assignor_by_member_is_planned_in_the_same_way() -> None:
    made = plan(TWO, LowestMember, 1)
    assert made.assignor == "lowest-member"
    assert [(str(move.task), move.role, move.target, move.records) for move in made.moves] == [
        ("0_0", STANDBY, None, 0),
        ("0_1", STANDBY, B, END - START),
        ("0_3", ACTIVE, A, END - 700),
    ]


def test_the_built_in_sticky_is_planned_with_a_warning() -> None:
    made = plan(TWO, "sticky")
    assert [each.after and each.after.active for each in made.processes] == [2, 2]
    (warning,) = made.warnings
    assert warning.startswith("Kafka's own brokers may decide otherwise")


def test_follow_ups() -> None:
    def assign(state: ApplicationState) -> TaskAssignment:
        first, second = assigning({"a": ALL})(state).assignment
        return TaskAssignment([first, second.with_followup_rebalance(state.now + timedelta(minutes=10))])

    assert plan(TWO, assign).followups == {"b": NOW + timedelta(minutes=10)}


def test_a_result_that_the_group_would_refuse_is_shown_with_the_error() -> None:
    made = plan(TWO, assigning({"a": ALL, "b": ("0_3",)}))
    assert made.error == (
        "The result has the error ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES: task 0_3 is active in process a and in process "
        "b."
    )
    assert made.processes[0].after == TaskCounts(4, 0)


def unknown_task(state: ApplicationState) -> TaskAssignment:
    return assigning({"a": ("9_9",)})(state)


def postponing(state: ApplicationState) -> TaskAssignment:
    raise TaskAssignmentError("later")


class UnknownTasks:
    name = "unknown-tasks"

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        return MemberAssignments({min(group.members): MemberAssignment(active_tasks=tasks("9_9"))})


@pytest.mark.parametrize(
    ("assignor", "error"),
    [
        (unknown_task, "The result has the error UNKNOWN_TASK_ID: process a gets task 9_9, which does not exist."),
        (postponing, "TaskAssignmentError: later"),
        (UnknownTasks, "TaskAssignorError: The task assignor assigns unknown tasks: 9_9 to member 'a-1'"),
    ],
)
def test_a_result_that_cannot_be_read_has_an_error_and_nothing_else(assignor: object, error: str) -> None:
    made = plan(TWO, assignor)
    assert made.error == error
    assert (made.moves, made.processes, made.traffic) == ((), (), None)


def test_an_exception_of_the_assignor_is_the_cause_of_an_error() -> None:
    def assign(_state: ApplicationState) -> TaskAssignment:
        raise KeyError("zone")

    with pytest.raises(TaskAssignorError, match="The task assignor assign failed: KeyError: 'zone'") as raised:
        plan(TWO, assign)
    assert isinstance(raised.value.__cause__, KeyError)


class FailsLater(TaskAssignor):
    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return assigning({"a": ("0_0", "0_1"), "b": ("0_3",)})(application_state)

    def on_assignment_computed(self, *_: object) -> None:
        raise RuntimeError("heard")


def test_what_is_strange_about_a_result_is_a_warning() -> None:
    made = plan(TWO, Registered(FailsLater, name="mine"))
    assert made.unassigned_tasks == (TaskId("0", 2),)
    assert made.warnings == (
        "Nobody would run these tasks: 0_2.",
        "on_assignment_computed of the task assignor failed: RuntimeError: heard",
    )


# ------------------------------------------------------------------------------------------------- the group


def test_a_group_that_is_not_settled_is_a_warning() -> None:
    moving = member("a-1", "a", ALL, reported={"0_0": END}, target_assignment=StreamsGroupTasks())
    settled = member("a-1", "a", ALL, reported={"0_0": END})
    for given in (
        situation(settled, group={"state": "Reconciling"}),
        situation(settled, group={"assignment_epoch": 2}),
        situation(moving),
    ):
        (warning,) = plan(given, assigning({"a": ALL})).warnings
        assert warning.startswith("The group is not settled")
    assert plan(situation(settled), assigning({"a": ALL})).warnings == ()


def test_missing_reports_are_a_warning_that_says_why() -> None:
    for assignor, why in ((None, "Kafka before 4.4 does not return offsets"), ("sticky", "No member has reported")):
        given = situation(member("a-1", "a", ALL), group={"assignor": assignor})
        (warning,) = plan(given, assigning({"a": ALL})).warnings
        assert warning.startswith(why)


def test_a_configuration_that_cannot_be_read_is_a_warning() -> None:
    refused: KafkaGroupsError = GroupAuthorizationFailedError("denied")
    made = plan(evolve(TWO, configs_error=refused), assigning({"a": ALL}))
    (warning,) = made.warnings
    assert warning.startswith("The configuration of the group could not be read (denied).")


def test_members_that_leave_must_be_there() -> None:
    with pytest.raises(ConfigurationError, match=r"The group has no member x, y\. Its members are a-1, b-1\."):
        plan(TWO, "sticky", leaving=["a-1", "y", "x"])
    with pytest.raises(ConfigurationError, match="Nobody would be left"):
        plan(TWO, "sticky", leaving=["a-1", "b-1"])


@pytest.mark.parametrize("state", ["Empty", "NotReady", "Dead"])
def test_a_group_without_tasks_is_an_error_that_names_its_state(state: str) -> None:
    with pytest.raises(IllegalStateError, match=f"The streams group app is {state}\\. .+"):
        plan(situation(member("a-1", "a"), group={"state": state}), "sticky")


def test_a_group_whose_topology_is_not_shown_is_an_error() -> None:
    for given in (situation(member("a-1", "a"), group={"topology": None}), situation()):
        with pytest.raises(IllegalStateError, match="shows no topology or no members of the streams group app"):
            plan(given, "sticky")


def test_ids_of_processes_that_are_uuids_stay_what_they_are() -> None:
    uuid = "f0000000-0000-0000-0000-000000000000"
    made = plan(situation(member("m", uuid, ALL)), "highly_available")
    assert [each.process_id for each in made.processes] == [uuid]
    assert str(ProcessId(uuid)) == uuid
