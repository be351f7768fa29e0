"""A round, from subscriptions to assignments."""

import asyncio
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest
from attrs import evolve

from kafka_groups.admin.rules.group_topology.group_topology import (
    ChangelogTopic,
    GroupTopology,
    RepartitionTopic,
    Subtopology,
)
from kafka_groups.admin.rules.streams_leader import leading
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LeaderSettings, LeadingError, LedRound
from kafka_groups.admin.rules.streams_leader.leading import ask_for_round, led_round
from kafka_groups.admin.rules.topics import TopicReplicas
from kafka_groups.assignment import (
    ApplicationState,
    AssignedMember,
    AssignedTask,
    AssignmentConfigs,
    AssignmentError,
    GroupAssignment,
    GroupSubscription,
    HighAvailabilityTaskAssignor,
    KafkaStreamsAssignment,
    LegacyStickyTaskAssignor,
    ProcessId,
    RackAwareStrategy,
    Registered,
    StickyTaskAssignor,
    TaskAssignment,
    TaskAssignmentError,
    TaskAssignor,
)
from kafka_groups.assignment.application.states import UNKNOWN_LAG
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import IllegalStateError, RequestTimedOutError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.support.assignors.leader_cases import LeaderCase, ToldMember
from tests.unit.admin.rules.streams_leader.scenes import (
    ALL_COUNTS,
    COUNTING,
    COUNTS,
    IN,
    NOW_MS,
    SPLITTING,
    WORDS,
    A,
    B,
    C,
    asked,
    group,
    infos,
    led,
    member,
    tasks,
)

K = TypeVar("K")
V = TypeVar("V")

GOLDEN = Path(__file__).parents[4] / "golden" / "streams_user_data.json"
PROBING_MS = 600_000
EVERY_TASK = tasks("0_0", "0_1", "1_0", "1_1")
EXISTS = ErrorCode.TOPIC_ALREADY_EXISTS
NO_ENDS = {ApiKey.LIST_OFFSETS: {COUNTS: ErrorCode.REQUEST_TIMED_OUT}}
BEHIND = {COUNTS: (1_000_000, 1_000_000)}


def running(member_id: str, process_id: UUID = A) -> ToldMember:
    """A member that runs all tasks."""
    return member(member_id, process_id, *EVERY_TASK, sums=tuple((task, RUNNING_TASK) for task in tasks("1_0", "1_1")))


def led_by(
    assignor: object, case: LeaderCase, topics: AnsweringTopics | None = None, *, postponed: int = 0
) -> LedRound:
    topics = topics or case.topics
    settings = LeaderSettings(application_id="app", assignor=Registered(assignor, name="own"))
    given = evolve(case.round, settings=settings, postponed=postponed)
    return led_round(asyncio.run(ask_for_round(topics, topics, given)), case.now_ms)


def test_a_new_application_gets_its_topics_and_all_tasks() -> None:
    done = led(group(member("m"), counts={IN: 2}))
    assert infos(done)["m"].active_tasks == tasks("1_0", "1_1", "0_0", "0_1")
    assert (done.generation, done.created_topics, done.error) == (4, (COUNTS, WORDS), None)


def test_the_assignment_that_javas_leader_has_sent() -> None:
    """Captured from a leader of Kafka Streams 4.3.1: one member has run everything, and another one joins."""
    captured = json.loads(GOLDEN.read_text(encoding="utf-8"))["captured"]
    names = {IN: IN, WORDS: "wcapp-counts-repartition", COUNTS: "wcapp-counts-changelog"}
    topology = GroupTopology(
        (
            evolve(SPLITTING, repartition_sinks=(names[WORDS],)),
            evolve(
                COUNTING,
                repartition_sources=(RepartitionTopic(names[WORDS]),),
                changelogs=(ChangelogTopic(names[COUNTS]),),
            ),
        )
    )
    given = GroupRound(
        generation=2,
        member_id="a",
        members={"a": bytes.fromhex(captured["member_a_rejoins"]), "b": bytes.fromhex(captured["member_b_joins"])},
        topology=topology,
        settings=LeaderSettings(application_id="wcapp", assignment=AssignmentConfigs(num_standby_replicas=1)),
    )
    topics = AnsweringTopics(dict.fromkeys(names.values(), 2), {names[COUNTS]: (5, 5)})
    done = led_round(asyncio.run(ask_for_round(topics, topics, given)), NOW_MS)
    theirs = ConsumerProtocolAssignment.decode(bytes.fromhex(captured["assignment_of_b"]))
    ours = ConsumerProtocolAssignment.decode(done.assignments["b"])
    assert ours.assigned_partitions == theirs.assigned_partitions
    assert without_order(decode_assignment(ours.user_data)) == without_order(decode_assignment(theirs.user_data))


def without_order(info: AssignmentInfo) -> AssignmentInfo:
    active, standby = (
        tuple(sorted((host, tuple(sorted(owned))) for host, owned in each))
        for each in (info.host_maps.active, info.host_maps.standby)
    )
    return evolve(info, host_maps=HostMaps(active, standby))


# ------------------------------------------------------------------------------------------------- errors


def test_a_request_for_shutdown_goes_to_all_and_nothing_is_asked() -> None:
    asking = SubscriptionInfo(process_id=B, error_code=4).encode()
    case = group(member("m"))
    topics = case.topics
    members = {**case.round.members, "n": ConsumerProtocolSubscription(topics=(IN,), user_data=asking).encode()}
    round_ = asyncio.run(ask_for_round(topics, topics, evolve(case.round, members=members)))
    done = led_round(round_, NOW_MS)
    assert {each.error_code for each in infos(done).values()} == {4}
    assert done.error is not None
    assert str(done.error.cause) == "The members n ask all members to shut down."
    assert topics.asked == []


def test_missing_sources_are_an_error_of_all_before_anything_is_created() -> None:
    case = group(member("m"), member("n"), counts={WORDS: 2})
    topics = case.topics
    done = led(case, topics)
    assert {id_: each.error_code for id_, each in infos(done).items()} == {"m": 1, "n": 1}
    assert done.error is not None
    assert str(done.error.cause) == f"Source topics do not exist: {IN}. Create them."
    assert topics.created == []


def test_a_topology_without_numbers_is_an_error_of_all() -> None:
    parts = (
        Subtopology(subtopology_id="0", repartition_sources=(RepartitionTopic("r"),), repartition_sinks=("s",)),
        Subtopology(subtopology_id="1", repartition_sources=(RepartitionTopic("s"),), repartition_sinks=("r",)),
    )
    done = led(group(member("m"), topology=GroupTopology(parts), counts={}))
    assert infos(done)["m"].error_code == 3
    assert done.error is not None
    assert isinstance(done.error.cause, TaskAssignmentError)


def cannot_tell(_state: ApplicationState) -> TaskAssignment:
    raise TaskAssignmentError("not now")


def test_members_keep_their_tasks_if_the_assignor_cannot_tell() -> None:
    has_some, has_none = member("m", A, *tasks("0_0", "1_1")), member("n", B)
    done = led_by(cannot_tell, group(has_some, has_none, counts={IN: 2}))
    assert {id_: set(each.active_tasks) for id_, each in infos(done).items()} == {
        "m": set(tasks("0_0", "1_1")),
        "n": set(),
    }
    assert {id_: each.next_rebalance_ms for id_, each in infos(done).items()} == {"m": NOW_MS + 1_000, "n": None}
    assert (done.error, done.is_postponed, done.created_topics) == (None, True, (COUNTS, WORDS))
    assert done.watched.counts == {IN: 2, WORDS: 2}
    [warning] = done.warnings
    assert warning == (
        "The task assignor own cannot tell the assignment now: not now. Members keep the tasks that they have, and "
        "tasks that nobody has wait. It is asked again in 1000 ms. That was try 1 of 11, and all members end after the "
        "last one."
    )


def test_an_assignor_that_gives_no_reason() -> None:
    def assign(_state: ApplicationState) -> TaskAssignment:
        raise TaskAssignmentError

    [warning] = led_by(assign, group(member("m"))).warnings
    assert "cannot tell the assignment now: it gives no reason. Members" in warning


def test_an_assignor_that_never_tells_is_asked_less_and_less_often() -> None:
    waits = [
        (infos(led_by(cannot_tell, group(member("m")), postponed=times))["m"].next_rebalance_ms or 0) - NOW_MS
        for times in range(10)
    ]
    assert waits == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000]


def test_an_assignor_that_has_not_told_for_ten_rounds_is_an_error_of_all() -> None:
    done = led_by(cannot_tell, group(member("m"), member("n", B)), postponed=10)
    assert {id_: each.error_code for id_, each in infos(done).items()} == {"m": 3, "n": 3}
    assert done.error is not None
    assert str(done.error.cause) == (
        "The task assignor own could not tell the assignment in 11 rounds in a row: not now."
    )
    assert not done.is_postponed


@pytest.mark.parametrize(
    "error",
    [
        ValueError("oh"),
        IllegalStateError("oh"),
        LeadingError("oh"),
        SystemExit("oh"),
        asyncio.CancelledError("oh"),
    ],
)
def test_anything_else_that_an_assignor_raises_ends_the_leader(error: BaseException) -> None:
    def assign(_state: ApplicationState) -> TaskAssignment:
        raise error

    with pytest.raises(
        LeadingError, match=rf"The task assignor own has failed: {type(error).__name__}: oh\."
    ) as raised:
        led_by(assign, group(member("m")))
    assert raised.value.__cause__ is error


class Listening(TaskAssignor):
    """Assigns as a function says, and notes what it is told."""

    told: tuple[GroupAssignment, GroupSubscription, AssignmentError] | None = None

    def __init__(self, assign: Callable[[ApplicationState], TaskAssignment]) -> None:
        self._assign = assign

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return self._assign(application_state)

    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        self.told = assignment, subscription, error


def unknown_process(state: ApplicationState) -> TaskAssignment:
    known = map(KafkaStreamsAssignment.of, state.kafka_streams_states(compute_task_lags=False))
    return TaskAssignment([*known, KafkaStreamsAssignment.of(ProcessId(C))])


def unknown_task(state: ApplicationState) -> TaskAssignment:
    [first, *_] = state.kafka_streams_states(compute_task_lags=False)
    return TaskAssignment([KafkaStreamsAssignment.of(first, [AssignedTask.active(TaskId("9", 0))])])


def active_twice(state: ApplicationState) -> TaskAssignment:
    every = [AssignedTask.active(task) for task in state.all_tasks]
    processes = state.kafka_streams_states(compute_task_lags=False)
    return TaskAssignment([KafkaStreamsAssignment.of(each, every) for each in processes])


def copies_without_state(state: ApplicationState) -> TaskAssignment:
    processes = state.kafka_streams_states(compute_task_lags=False)
    copy = AssignedTask.standby(TaskId("0", 1))
    return TaskAssignment([KafkaStreamsAssignment.of(each, [copy]) for each in processes])


def missing_process(state: ApplicationState) -> TaskAssignment:
    [first, *_] = state.kafka_streams_states(compute_task_lags=False)
    return TaskAssignment([KafkaStreamsAssignment.of(first, map(AssignedTask.active, state.all_tasks))])


@pytest.mark.parametrize(
    ("assign", "error", "detail"),
    [
        (unknown_process, AssignmentError.UNKNOWN_PROCESS_ID, f"Process {C} gets tasks, but does not exist."),
        (unknown_task, AssignmentError.UNKNOWN_TASK_ID, f"Process {A} gets task 9_0, which does not exist."),
        (
            active_twice,
            AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES,
            f"Task 0_0 is active in process {A} and in process {B}.",
        ),
        (
            copies_without_state,
            AssignmentError.INVALID_STANDBY_TASK,
            f"Process {A} gets a copy of task 0_1, which has no state.",
        ),
        (
            missing_process,
            AssignmentError.MISSING_PROCESS_ID,
            f"Process {B} has no assignment. Return an empty one for a process that gets no tasks.",
        ),
    ],
)
def test_a_wrong_result_is_told_to_its_assignor_and_ends_the_leader(
    assign: Callable[[ApplicationState], TaskAssignment], error: AssignmentError, detail: str
) -> None:
    assignor = Listening(assign)
    text = f"The task assignor own has returned an assignment with the error {error.name}. {detail}"
    with pytest.raises(LeadingError, match=re.escape(text)):
        led_by(assignor, group(member("m"), member("n", B)))
    assert assignor.told is not None
    assignment, subscription, told = assignor.told
    is_readable = error not in (AssignmentError.UNKNOWN_PROCESS_ID, AssignmentError.UNKNOWN_TASK_ID)
    assert (assignment.members.keys() == {"m", "n"}) is is_readable
    assert subscription.members.keys() == {"m", "n"}
    assert told is error


def test_topics_are_not_created_if_one_that_exists_is_wrong() -> None:
    case = group(member("m"), counts={IN: 2, COUNTS: 3})
    topics = case.topics
    with pytest.raises(LeadingError, match=COUNTS):
        led(case, topics)
    assert topics.created == []


def test_a_topic_that_another_leader_has_created_wrongly_is_noticed() -> None:
    case = group(member("m"), counts={IN: 2, WORDS: 2})
    topics = LateTopics({**case.counts, COUNTS: 3}, errors={ApiKey.CREATE_TOPICS: {COUNTS: EXISTS}})
    with pytest.raises(LeadingError, match=f"Topic {COUNTS} has 3 partitions, but the application needs 2"):
        led(case, topics)


class LateTopics(AnsweringTopics):
    """Topics of which the last one does not exist when it is first asked for."""

    async def __call__(self, question: Question[K, V]) -> Results[K, V]:
        is_first = not self.asked
        name, count = list(self.counts.items())[-1]
        if is_first:
            del self.counts[name]
        found = await super().__call__(question)
        if is_first:
            self.counts[name] = count
        return found


# ------------------------------------------------------------------------------------------------------ racks

PLACES = {
    TopicPartition(topic, number): (2 if topic == IN else 1) * (number + 1) % 3 or 3
    for topic in (IN, WORDS, COUNTS)
    for number in range(2)
}
"""IN is in brokers 2 and 1, and the internal topics are in 1 and 2."""


def racked(**more: Any) -> LeaderCase:
    """Two processes in the racks of two of three brokers."""
    members = (member("a", A, rack="r1"), member("b", B, rack="r2"))
    return group(
        *members,
        **{
            "racks": {1: "r1", 2: "r2", 3: "r3"},
            "replicas": {partition: (node,) for partition, node in PLACES.items()},
            "configs": AssignmentConfigs(rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC),
            **more,
        },
    )


@pytest.mark.parametrize("counts", [ALL_COUNTS, {IN: 2}])
def test_tasks_run_in_the_racks_of_their_partitions_also_of_topics_that_the_round_creates(
    counts: dict[str, int],
) -> None:
    done = led(racked(counts=counts))
    assert {id_: set(info.active_tasks) for id_, info in infos(done).items()} == {
        "a": set(tasks("0_1", "1_0")),
        "b": set(tasks("0_0", "1_1")),
    }
    assert done.warnings_once == ()
    assert done.watched.racks == {
        each: frozenset({f"r{node}"}) for each, node in PLACES.items() if each.topic != COUNTS
    }


def test_racks_of_changelogs_count_if_there_are_copies() -> None:
    configs = AssignmentConfigs(rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC, num_standby_replicas=1)
    assert led(racked(configs=configs)).watched.racks.keys() == PLACES.keys()


def test_without_a_strategy_no_racks_are_looked_up_and_nothing_more_is_asked() -> None:
    case = racked(configs=AssignmentConfigs(), counts={IN: 2})
    topics = case.topics
    assert led(case, topics).watched.racks == {}
    assert topics.asked == [ApiKey.METADATA, ApiKey.CREATE_TOPICS]


def test_the_group_is_led_if_the_racks_of_new_topics_are_not_told() -> None:
    class Silent(AnsweringTopics):
        async def __call__(self, question: Question[K, V]) -> Results[K, V]:
            raise RequestTimedOutError(f"{question.what}: late")

    case = racked(counts={IN: 2})
    done = led_round(asyncio.run(ask_for_round(case.topics, Silent({}), case.round)), case.now_ms)
    assert {task for info in infos(done).values() for task in info.active_tasks} == set(EVERY_TASK)
    [warning] = done.warnings_once
    assert warning == (
        "The racks of new internal topics are not known, so racks do not count yet: RequestTimedOutError: describe the "
        "topic: late."
    )
    # The leader joins again when the racks are known.
    now = {IN: TopicReplicas({0: (2,), 1: (1,)}, case.racks), WORDS: TopicReplicas({0: (1,), 1: (2,)}, case.racks)}
    assert done.watched.changes(now).racks == (WORDS,)


def test_a_users_assignor_sees_racks_whatever_the_strategy_is() -> None:
    seen: dict[TopicPartition, frozenset[str] | None] = {}

    def look(state: ApplicationState) -> TaskAssignment:
        for info in state.all_tasks.values():
            seen.update({each.topic_partition: each.rack_ids for each in info.topic_partitions if each.is_source})
        return HighAvailabilityTaskAssignor().assign(state)

    done = led_by(look, racked(counts={IN: 2}))
    assert done.watched.racks == seen
    assert seen[TopicPartition(WORDS, 1)] == frozenset({"r2"})


def test_copies_are_spread_by_tags() -> None:
    zones = {"a": "1", "b": "1", "c": "2"}
    members = [member(id_, UUID(int=number), tags={"zone": zone}) for number, (id_, zone) in enumerate(zones.items())]
    configs = AssignmentConfigs(num_standby_replicas=1, rack_aware_assignment_tags=("zone",))
    found = infos(led(group(*members, configs=configs)))
    active = {task: id_ for id_, info in found.items() for task in info.active_tasks}
    copies = [(task, id_) for id_, info in found.items() for task, _ in info.standby_tasks]
    assert all(zones[active[task]] != zones[id_] for task, id_ in copies)
    assert len(copies) == 2


# ---------------------------------------------------------------------------------------- lags and deadlines


def test_the_deadline_goes_to_the_process_of_the_leader() -> None:
    """The process with the smallest id is not that of the leader here. It waits for stateless tasks."""
    newcomer, leader = member("a", A), running("z", B)
    done = led(group(leader, newcomer, ends=BEHIND))
    assert {id_: each.next_rebalance_ms for id_, each in infos(done).items()} == {"z": NOW_MS + PROBING_MS, "a": 0}


def test_a_users_assignor_gives_the_deadline_to_a_process_of_its_own() -> None:
    def assign(state: ApplicationState) -> TaskAssignment:
        first, second = state.kafka_streams_states(compute_task_lags=False)
        every = KafkaStreamsAssignment.of(second, map(AssignedTask.active, state.all_tasks))
        later = KafkaStreamsAssignment.of(first).with_followup_rebalance(state.now + timedelta(seconds=7))
        return TaskAssignment([later, every])

    done = led_by(assign, group(running("z", B), member("a", A)))
    assert {id_: each.next_rebalance_ms for id_, each in infos(done).items()} == {"z": None, "a": NOW_MS + 7_000}


def test_without_ends_tasks_stay_and_the_group_looks_again() -> None:
    case = group(running("m", A), member("n", B))
    topics = evolve(case.topics, errors=NO_ENDS)
    done = led(case, topics)
    assert set(infos(done)["m"].active_tasks) == set(EVERY_TASK)
    assert infos(done)["m"].next_rebalance_ms == NOW_MS + PROBING_MS
    [warning] = done.warnings
    assert warning.startswith(
        "The ends of changelogs are not known, so tasks stay where they are: RequestTimedOutError"
    )


def test_without_ends_a_users_assignor_is_told_that_lags_are_unknown() -> None:
    seen: list[int] = []

    def assign(state: ApplicationState) -> TaskAssignment:
        [process] = state.kafka_streams_states(compute_task_lags=True).values()
        seen.extend(process.stateful_tasks_to_lag_sums().values())
        tasks_of_all = map(AssignedTask.active, state.all_tasks)
        return TaskAssignment([KafkaStreamsAssignment.of(process.process_id, tasks_of_all)])

    case = group(member("m"))
    done = led_by(assign, case, evolve(case.topics, errors=NO_ENDS))
    assert seen == [UNKNOWN_LAG, UNKNOWN_LAG]
    [warning] = done.warnings
    assert warning.startswith("The ends of changelogs are not known, so the task assignor gets no lags: Request")


@pytest.mark.parametrize(
    ("assignor", "moves"),
    [(HighAvailabilityTaskAssignor, False), (StickyTaskAssignor, True), (LegacyStickyTaskAssignor, True)],
)
def test_without_ends_only_the_default_is_replaced_also_if_it_is_named(assignor: object, moves: bool) -> None:
    case = group(running("m", A), member("n", B))
    info = infos(led_by(assignor, case, evolve(case.topics, errors=NO_ENDS)))["m"]
    assert (set(info.active_tasks) != set(EVERY_TASK)) is moves
    assert (info.next_rebalance_ms == NOW_MS + PROBING_MS) is not moves


def test_the_default_that_is_named_gives_the_deadline_to_the_process_of_the_leader() -> None:
    case = group(running("z", B), member("a", A), ends=BEHIND)
    assert infos(led_by(HighAvailabilityTaskAssignor, case)) == infos(led(case))


# ---------------------------------------------------------------------------------------------- the rest


def test_the_callback_hears_what_members_get_in_this_round_and_the_bytes() -> None:
    """All tasks go to a process that has none: nothing is free now."""

    def assign(state: ApplicationState) -> TaskAssignment:
        first, second = state.kafka_streams_states(compute_task_lags=False)
        every = KafkaStreamsAssignment.of(second, map(AssignedTask.active, state.all_tasks))
        return TaskAssignment([KafkaStreamsAssignment.of(first), every])

    assignor, case = Listening(assign), group(running("m", A), member("n", B))
    done = led_by(assignor, case)
    assert assignor.told is not None
    assignment, subscription, error = assignor.told
    assert error is AssignmentError.NONE
    for member_id, data in done.assignments.items():
        sent = ConsumerProtocolAssignment.decode(data)
        told = assignment.members[member_id]
        assert told == AssignedMember(frozenset(), frozenset(), frozenset(), sent.user_data)
    assert infos(done)["n"].next_rebalance_ms == 0
    for member_id, data in case.subscriptions.items():
        joined = ConsumerProtocolSubscription.decode(data)
        assert subscription.members[member_id].user_data == joined.user_data is not None


@pytest.mark.parametrize("error", [ValueError("oh"), SystemExit("oh"), asyncio.CancelledError("oh")])
def test_a_callback_that_fails_is_a_warning_with_its_place_and_changes_nothing(error: BaseException) -> None:
    class Failing(HighAvailabilityTaskAssignor):
        def on_assignment_computed(self, *_: object) -> None:
            raise error

    done = led_by(Failing, group(member("m")))
    [warning] = done.warnings
    assert warning.startswith(f"The callback of the task assignor own has failed: {type(error).__name__}: oh. File ")
    assert f'"{__file__}", line ' in warning
    assert warning.endswith("in on_assignment_computed.")
    assert done.assignments == led_by(HighAvailabilityTaskAssignor, group(member("m"))).assignments


def test_tasks_that_nobody_gets_are_named() -> None:
    def assign(state: ApplicationState) -> TaskAssignment:
        [process] = state.kafka_streams_states(compute_task_lags=False)
        return TaskAssignment([KafkaStreamsAssignment.of(process, [AssignedTask.active(TaskId("1", 0))])])

    assert led_by(assign, group(member("m"))).unassigned == tasks("0_0", "0_1", "1_1")


def test_tasks_on_their_way_are_assigned() -> None:
    done = led(group(running("m", A), member("n", B)))
    assert {id_ for id_, each in infos(done).items() if each.next_rebalance_ms == 0} == {"n"}
    assert done.unassigned == ()


def test_the_leader_of_an_old_group_joins_again_itself() -> None:
    def assign(state: ApplicationState) -> TaskAssignment:
        [process] = state.kafka_streams_states(compute_task_lags=False)
        every = KafkaStreamsAssignment.of(process, map(AssignedTask.active, state.all_tasks))
        return TaskAssignment([every.with_followup_rebalance(state.now + timedelta(seconds=7))])

    assert led_by(assign, group(member("m", version=6))).follow_up_ms == NOW_MS + 7_000
    assert led_by(assign, group(member("m", version=7))).follow_up_ms is None
    assert led_by(cannot_tell, group(member("m", version=6))).follow_up_ms == NOW_MS + 1_000


@pytest.mark.parametrize("is_named", [True, False])
def test_the_default_is_replaced_without_ends_also_if_it_is_named(*, is_named: bool) -> None:
    case = group(running("z", B), member("a", A))
    topics = evolve(case.topics, errors=NO_ENDS)
    done = led_by(HighAvailabilityTaskAssignor, case, topics) if is_named else led(case, topics)
    assert {id_: each.next_rebalance_ms for id_, each in infos(done).items()} == {"z": NOW_MS + PROBING_MS, "a": None}


@pytest.mark.parametrize(
    ("has_hosts", "remedy"), [(True, "Leave out application.server, run fewer"), (False, "Run fewer")]
)
def test_assignments_that_brokers_may_refuse_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, has_hosts: bool, remedy: str
) -> None:
    monkeypatch.setattr(leading, "MOST_BYTES", 10)
    [warning] = led(group(member("m", endpoint="h:1" if has_hosts else None))).warnings
    assert f"{remedy} members, or raise that limit." in warning
    assert "message.max.bytes" in warning


def test_the_size_of_a_round() -> None:
    done = LedRound(generation=1, assignments={"a": bytes(500_000), "b": bytes(400_000)})
    assert (done.size_bytes, done.is_large) == (900_000, False)
    assert evolve(done, assignments={"a": bytes(900_001)}).is_large


def test_a_round_does_not_show_the_bytes_of_its_members() -> None:
    assert "\\x00" not in repr(led(group(member("m")))) + repr(group(member("m")).round) + repr(
        asked(group(member("m")))
    )
