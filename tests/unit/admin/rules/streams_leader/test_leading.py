"""A round, from subscriptions to assignments."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
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
from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignmentConfigs,
    HighAvailabilityTaskAssignor,
    KafkaStreamsAssignment,
    Registered,
    TaskAssignment,
    TaskAssignmentError,
)
from kafka_groups.assignment.application.states import UNKNOWN_LAG
from kafka_groups.client.calls.questions import Question
from kafka_groups.client.calls.results import Results
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.support.assignors.leader_cases import LeaderCase, ToldMember
from tests.unit.admin.rules.streams_leader.scenes import (
    COUNTING,
    COUNTS,
    IN,
    NOW_MS,
    SPLITTING,
    WORDS,
    A,
    B,
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


def led_by(assignor: object, case: LeaderCase, topics: AnsweringTopics | None = None) -> LedRound:
    topics = topics or case.topics
    settings = LeaderSettings(application_id="app", assignor=Registered(assignor, name="own"))
    given = evolve(case.round, settings=settings)
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


def test_an_assignor_that_cannot_tell_is_an_error_of_all() -> None:
    def assign(_state: ApplicationState) -> TaskAssignment:
        raise TaskAssignmentError("not now")

    done = led_by(assign, group(member("m"), counts={IN: 2}))
    assert infos(done)["m"].error_code == 3
    assert done.error is not None
    assert str(done.error.cause) == "not now"
    assert done.created_topics == (COUNTS, WORDS)


def test_a_wrong_result_of_an_assignor_ends_the_leader() -> None:
    with pytest.raises(LeadingError, match=r"own has a process is missing \(MISSING_PROCESS_ID\)"):
        led_by(lambda _state: TaskAssignment([]), group(member("m")))


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
    led_by(assign, case, evolve(case.topics, errors=NO_ENDS))
    assert seen == [UNKNOWN_LAG, UNKNOWN_LAG]


# ---------------------------------------------------------------------------------------------- the rest


def test_a_callback_that_fails_is_a_warning() -> None:
    class Failing(HighAvailabilityTaskAssignor):
        def on_assignment_computed(self, *_: object) -> None:
            raise ValueError("oh")

    assert led_by(Failing, group(member("m"))).warnings == (
        "The callback of the task assignor failed: ValueError: oh.",
    )


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
