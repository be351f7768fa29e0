"""Plans of classic groups, whose members are shown as brokers show them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.admin import CopyBasis, PlannedProcess, RackTraffic, StreamsPlan
from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignedTaskType,
    AssignmentConfigs,
    GroupAssignment,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskAssignmentError,
    TaskAssignor,
    TaskAssignorError,
)
from kafka_groups.errors import ConfigurationError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.led_rounds import LedCase, carried_out, led_case, settled
from tests.support.assignors.planned_groups import AnsweringGroup, answering, plan_of
from tests.unit.admin.rules.streams_leader.scenes import (
    COUNTS,
    IN,
    NOW_MS,
    WORDS,
    A,
    B,
    group,
    member,
    tasks,
)

ENDS = {COUNTS: (1_000, 500)}
STARTS = {COUNTS: (100, 0)}
ACTIVE, STANDBY = AssignedTaskType.ACTIVE, AssignedTaskType.STANDBY


def running(*, standbys: int = 0, **more: Any) -> LedCase:
    """Two processes that run the word count for long."""
    configs = AssignmentConfigs(num_standby_replicas=standbys)
    led = settled(group(member("a-1", A), member("b-1", B), configs=configs, ends=ENDS, **more))
    return settled(carried_out(led))


def plan(
    led: LedCase, assignor: object = None, configs: Mapping[str, object] | None = None, **change: Any
) -> StreamsPlan:
    brokers = evolve(answering(led), starts=STARTS)
    return plan_of(led, assignor, configs, brokers=brokers, **change)


def to_b(state: ApplicationState) -> TaskAssignment:
    """Give all tasks to the process B."""
    states = state.kafka_streams_states(compute_task_lags=False)
    mine = list(map(AssignedTask.active, state.all_tasks))
    return TaskAssignment(KafkaStreamsAssignment.of(id_, mine if id_.id == B else ()) for id_ in states)


def test_nothing_moves_without_a_change() -> None:
    for standbys in (0, 1):
        made = plan(running(standbys=standbys))
        assert (made.moves, made.records, made.error, made.warnings, made.missing_topics) == ((), 0, None, (), ())
        assert (made.group_id, made.state) == ("app", "Stable")
        assert (made.assignor, made.group_assignor) == ("HighAvailabilityTaskAssignor", None)


def test_what_members_own_comes_from_their_assignments() -> None:
    """In their last round, both joined without any task."""
    led = led_case(group(member("a-1", A), member("b-1", B), ends=ENDS))
    assert all(not each.owned for each in led.case.members)
    assert plan(led).moves == ()


def test_an_assignor_of_ones_own() -> None:
    made = plan(running(), to_b)
    assert made.assignor.endswith(":to_b")
    moves = [(str(move.task), move.role, move.source and move.source.member_id) for move in made.moves]
    assert moves == [("0_0", ACTIVE, "a-1"), ("1_0", ACTIVE, "a-1")]
    assert {move.target and move.target.process_id for move in made.moves} == {str(B)}
    assert [(move.records, move.basis) for move in made.moves] == [(0, CopyBasis.NOTHING), (900, CopyBasis.WHOLE)]


def test_copies_count_from_where_they_were_when_their_members_joined() -> None:
    led = running(standbys=1)
    joined = [
        evolve(each, sums=tuple((task, 400 if total > 0 else total) for task, total in each.sums))
        for each in led.case.members
    ]
    made = plan(evolve(led, case=evolve(led.case, members=tuple(joined))), to_b)
    [move] = [each for each in made.moves if str(each.task) == "1_0" and each.role is ACTIVE]
    assert (move.role_before, move.records, move.basis) == (STANDBY, 600, CopyBasis.REPORTED)


def test_configuration_of_the_application() -> None:
    made = plan(running(), configs={"num.standby.replicas": "1"})
    assert [(str(move.task), move.role) for move in made.moves] == [("1_0", STANDBY), ("1_1", STANDBY)]
    assert made.moves == plan(running(), standby_replicas=1).moves
    assert made.warnings == ()


def test_copies_that_the_configuration_does_not_have_are_a_warning() -> None:
    made = plan(running(standbys=1), configs={})
    assert len(made.moves) == 2
    [warning] = made.warnings
    assert warning == (
        "The group has up to 1 copy of a task, but the plan assumes num.standby.replicas=0, because brokers do not "
        "know the configuration of the application. Give the values that it has."
    )
    assert plan(running(standbys=1), configs={}, standby_replicas=0).warnings == ()


def test_members_that_leave_and_processes_that_join() -> None:
    made = plan(running(), leaving=["b-1"], joining=[PlannedProcess(threads=2, rack="r", client_tags={"zone": "z"})])
    first, second, new = made.processes
    assert [each.process_id for each in made.processes] == [str(A), str(B), "new-1"]
    assert (first.after is not None, second.after, new.before) == (True, None, None)
    assert (new.rack, new.client_tags, len(new.threads)) == ("r", {"zone": "z"}, 2)
    assert not made.unassigned_tasks
    with pytest.raises(ConfigurationError, match=r"The group has no member c\. Its members are a-1, b-1\."):
        plan(running(), leaving=["c"])
    with pytest.raises(ConfigurationError, match="Nobody would be left"):
        plan(running(), leaving=["a-1", "b-1"])


def test_a_process_without_state_is_warmed_up_first() -> None:
    alone = settled(carried_out(settled(group(member("a-1", A), ends=ENDS))))
    made = plan(alone, configs={"acceptable.recovery.lag": "0"}, joining=[PlannedProcess()])
    new = {(str(move.task), move.role) for move in made.moves if move.target and move.target.process_id == "new-1"}
    assert {(task, role) for task, role in new if task.startswith("1_")} == {("1_1", STANDBY)}
    deadline = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=NOW_MS + 600_000)
    assert list(made.followups.values()) == [deadline]
    at_once = plan(alone, configs={"acceptable.recovery.lag": "500"}, joining=[PlannedProcess()])
    assert {(str(move.task), move.role) for move in at_once.moves if move.target} >= {("1_1", ACTIVE)}
    assert at_once.followups == {}


def warming(reported: int) -> LedCase:
    """A group in which B copies the state of 1_1, which A runs, and was so far in the last round."""
    configs = AssignmentConfigs(acceptable_recovery_lag=0)
    alone = carried_out(settled(group(member("a-1", A), ends=ENDS, configs=configs)))
    joined = evolve(alone, members=(*alone.members, member("b-1", B)))
    older, newer = carried_out(led_case(joined)).members
    return led_case(evolve(joined, members=(older, evolve(newer, sums=((TaskId("1", 1), reported),)))))


def test_a_group_that_waits_for_copies_has_them_where_they_were() -> None:
    led = warming(100)
    assert not led.is_settled
    made = plan(led)
    assert [move for move in made.moves if move.task == TaskId("1", 1)] == []
    [warning] = made.warnings
    assert warning.startswith(
        "The group is not settled: it looks again at 2027-01-15T08:10:00+00:00 whether copies have"
    )
    given_up = plan(led, leaving=["a-1"])
    [move] = [each for each in given_up.moves if each.task == TaskId("1", 1) and each.role is ACTIVE]
    assert (move.role_before, move.records, move.basis) == (STANDBY, 400, CopyBasis.REPORTED)


def handing_over() -> LedCase:
    """A group in which A gives up 1_1, which B waits for."""
    alone = carried_out(settled(group(member("a-1", A), ends=ENDS)))
    led = led_case(evolve(alone, members=(*alone.members, member("b-1", B))))
    assert led.is_waiting
    return led


def test_members_that_wait_for_tasks_of_others_are_a_warning() -> None:
    [warning] = [each for each in plan(handing_over()).warnings if "settled" in each]
    assert warning.startswith("The group is not settled: members wait for tasks that others give up")


def test_a_task_that_ran_in_the_last_round_and_was_given_up_since_tells_no_position() -> None:
    made = plan(handing_over(), leaving=["b-1"])
    [move] = [each for each in made.moves if each.task == TaskId("1", 1)]
    assert (move.source, move.target and move.target.member_id) == (None, "a-1")
    assert (move.records, move.basis) == (500, CopyBasis.WHOLE)


IN_RACKS = {TopicPartition(topic, number): (number,) for topic in (IN, WORDS, COUNTS) for number in (0, 1)}


def in_racks(*, brokers: bool = True) -> tuple[LedCase, AnsweringGroup]:
    """A group whose tasks 0 run in rack y, and tasks 1 in rack x, while their partitions are the other way round."""
    led = running(racks={0: "x", 1: "y"} if brokers else {0: None, 1: None}, replicas=IN_RACKS)
    racks = {"a-1": "y", "b-1": "x"}
    members = [evolve(each, rack=racks[each.member_id]) for each in led.case.members]
    led = evolve(led, case=evolve(led.case, members=tuple(members)))
    return led, evolve(answering(led), starts=STARTS)


def test_traffic_between_racks() -> None:
    led, brokers = in_racks()
    stays = plan_of(led, brokers=brokers)
    assert (stays.moves, stays.traffic) == ((), RackTraffic(before=4, after=4, partitions=4))
    assert [each.rack for each in stays.processes] == ["y", "x"]
    turned = plan_of(led, configs={"rack.aware.assignment.strategy": "min_traffic"}, brokers=brokers)
    assert turned.traffic == RackTraffic(before=4, after=0, partitions=4)
    assert len(turned.moves) == 4
    assert turned.warnings == ()


def test_racks_that_do_not_count_are_a_warning() -> None:
    led, brokers = in_racks(brokers=False)
    made = plan_of(led, configs={"rack.aware.assignment.strategy": "min_traffic"}, brokers=brokers)
    assert (made.moves, made.traffic) == ((), None)
    [warning] = made.warnings
    assert warning.startswith(
        "rack.aware.assignment.strategy is min_traffic, but racks do not count now: no broker with"
    )
    strangers = plan_of(
        led, configs={"rack.aware.assignment.strategy": "min_traffic"}, joining=[PlannedProcess()], brokers=brokers
    )
    assert "the members new-1-1 have no rack" in strangers.warnings[0]


def test_tags_spread_copies() -> None:
    led = running(standbys=1)
    told = {"a-1": {"zone": "1"}, "b-1": {"zone": "1"}}
    members = tuple(evolve(each, tags=told[each.member_id]) for each in led.case.members)
    led = evolve(led, case=evolve(led.case, members=members))
    configs = {"num.standby.replicas": 1, "rack.aware.assignment.tags": "zone"}
    made = plan(led, configs=configs, joining=[PlannedProcess(client_tags={"zone": "2"})])
    copies = {str(move.task): move.target and move.target.process_id for move in made.moves if move.role is STANDBY}
    assert copies == {"1_0": "new-1", "1_1": "new-1"}


# ------------------------------------------------------------------------------------------------- the assignor


class Curious(TaskAssignor):
    """Notes what it sees, and what its callback hears."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        states = application_state.kafka_streams_states(compute_task_lags=True)
        stateful = tasks("1_0", "1_1")
        self.seen.append({id_.id: [each.lag_for(task) for task in stateful] for id_, each in states.items()})
        return to_b(application_state)

    def on_assignment_computed(self, assignment: GroupAssignment, subscription: Any, error: Any) -> None:
        self.seen.append((subscription.members, error.name))


def test_an_assignor_sees_what_it_would_see_in_the_next_round() -> None:
    curious = Curious()
    plan(running(standbys=1), curious)
    lags, (subscriptions, error) = curious.seen
    assert lags == {A: [-2, 0], B: [0, -2]}
    assert subscriptions["a-1"].owned_partitions == {TopicPartition(IN, 0), TopicPartition(WORDS, 0)}
    assert error == "NONE"


def test_what_an_assignor_does_wrong() -> None:
    def nobody(_state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(())

    def later(_state: ApplicationState) -> TaskAssignment:
        raise TaskAssignmentError("not now")

    def broken(_state: ApplicationState) -> TaskAssignment:
        raise KeyError("zone")

    assert "MISSING_PROCESS_ID" in (plan(running(), nobody).error or "")
    assert plan(running(), later).error == "TaskAssignmentError: not now"
    with pytest.raises(TaskAssignorError, match="failed: KeyError: 'zone'"):
        plan(running(), broken)


def test_tasks_that_an_assignor_leaves_out_are_named() -> None:
    def first(state: ApplicationState) -> TaskAssignment:
        states = state.kafka_streams_states(compute_task_lags=False)
        return TaskAssignment(
            KafkaStreamsAssignment.of(id_, [AssignedTask.active(TaskId("0", 0))] if id_.id == A else ())
            for id_ in states
        )

    made = plan(running(), first)
    assert made.unassigned_tasks == tasks("0_1", "1_0", "1_1")
    assert "Nobody would run these tasks: 0_1, 1_0, 1_1." in made.warnings


# ------------------------------------------------------------------------------------------------------- topics


def test_internal_topics_that_are_missing_are_named_and_not_created() -> None:
    led = running()
    brokers = answering(led)
    del brokers.topics.counts[COUNTS]
    made = plan_of(led, to_b, brokers=brokers)
    assert made.missing_topics == (COUNTS,)
    assert made.records == 0
    assert made.warnings == (
        f"Internal topics do not exist: {COUNTS}. The leader creates them in the next round; a plan creates nothing.",
    )
    assert brokers.topics.created == []


def test_without_ends_the_default_leaves_tasks_where_they_are() -> None:
    led = running()
    brokers = answering(led)
    brokers.topics.errors = {ApiKey.LIST_OFFSETS: {COUNTS: ErrorCode.TOPIC_AUTHORIZATION_FAILED}}
    made = plan_of(led, brokers=brokers)
    assert (made.assignor, made.moves) == ("FallbackPriorTaskAssignor", ())
    [warning] = made.warnings
    assert warning.startswith("The ends of changelogs are not known, so numbers of records are not, either")
    made = plan_of(led, to_b, brokers=brokers)
    assert made.records is None
    assert {move.basis for move in made.moves} == {CopyBasis.NOTHING, CopyBasis.UNKNOWN}
