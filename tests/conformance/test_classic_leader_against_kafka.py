"""Our leader of classic groups and that of Kafka Streams send the same for the same group.

Without the ends of changelogs, Kafka's leader follows the order of its hash tables (FallbackPriorTaskAssignor), so what
both of them have to keep is checked instead.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest
from attrs import evolve

from kafka_groups.admin.rules.streams_leader import subscriptions
from kafka_groups.admin.rules.streams_leader.hand_over import inputs_of_tasks, readers_of
from kafka_groups.admin.rules.streams_leader.leading import ask_for_round
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.protocol.streams_user_data.versions import FIRST_WITH_NEXT_REBALANCE
from kafka_groups.types import TaskId
from tests.support.assignors.compared_leaders import decoded, led
from tests.support.assignors.leader_cases import LeaderCase, random_group
from tests.support.assignors.leader_defects import LEADER_DEFECTS
from tests.support.kafka.kafka_classic_leader import KafkaClassicLeader
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.support.planted_defects import Plant

pytestmark = [
    pytest.mark.real_kafka,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("classic_leader"),
]

FEW_SEEDS, MANY_SEEDS = 50, 500


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaClassicLeader]:
    with KafkaClassicLeader(tmp_path_factory.mktemp("classic-leader"), streams_classpath_or_skip()) as running:
        yield running


@pytest.fixture(scope="module")
def seeds(request: pytest.FixtureRequest) -> range:
    return range(MANY_SEEDS if request.config.getoption("--long") else FEW_SEEDS)


@pytest.fixture(autouse=True)
def future(kafka: KafkaClassicLeader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give members of later versions the process that they have in this run of Java, as it counts in their order."""
    monkeypatch.setattr(subscriptions, "FUTURE_PROCESS", kafka.future_process(random_group(0)))


def test_both_send_the_same(kafka: KafkaClassicLeader, seeds: range) -> None:
    for seed in seeds:
        case = random_group(seed)
        theirs, topics = kafka.lead(case), case.topics
        ours = led(case, topics)
        assert {id_: decoded(data) for id_, data in ours.assignments.items()} == {
            id_: decoded(data) for id_, data in theirs.assignments.items()
        }, seed
        assert {topic.name: topic.num_partitions for topic in topics.created} == theirs.created, seed


@pytest.fixture(scope="module")
def expected(kafka: KafkaClassicLeader) -> list[tuple[LeaderCase, dict[str, dict[str, Any]]]]:
    """The groups that are always compared, with what Java's leader sends."""
    cases = [random_group(seed) for seed in range(FEW_SEEDS)]
    return [(case, {id_: decoded(data) for id_, data in kafka.lead(case).assignments.items()}) for case in cases]


@pytest.mark.parametrize("plant", LEADER_DEFECTS.values(), ids=LEADER_DEFECTS)
def test_a_planted_defect_is_found(
    plant: Plant, expected: list[tuple[LeaderCase, dict[str, dict[str, Any]]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert any({id_: decoded(data) for id_, data in led(case).assignments.items()} != it for case, it in expected)


def test_without_ends_of_changelogs_tasks_stay_with_their_owners(kafka: KafkaClassicLeader, seeds: range) -> None:
    unknown = 0
    for seed in seeds:
        case = evolve(random_group(f"failing-{seed}"), fails_offsets=True)
        failing = {ApiKey.LIST_OFFSETS: dict.fromkeys(case.ends, ErrorCode.REQUEST_TIMED_OUT)}
        ours = led(case, evolve(case.topics, errors=failing))
        if not any("are not known" in each for each in ours.warnings):
            continue  # a group without changelogs that exist
        unknown += 1
        for assignments in (ours.assignments, kafka.lead(case).assignments):
            check_stays(case, {id_: decoded(data) for id_, data in assignments.items()})
    assert unknown > len(seeds) // 3


def check_stays(case: LeaderCase, given: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that each task runs once, in a process that had it if there is one, or waits for another thread of that."""
    tasks, had = asyncio.run(ask_for_round(case.topics, case.topics, case.round)).tasks, owners(case)
    processes = {member.member_id: member.of_process for member in case.members}
    given_tasks = [(task, id_) for id_, each in given.items() for task in set(each["tasks"].values())]
    active = dict(given_tasks)
    assert len(active) == len(given_tasks)
    assert tasks.keys() - active.keys() <= had.keys()
    assert {task for task, id_ in active.items() if task in had and processes[id_] not in had[task]} == set()
    waiting = {processes[id_] for id_, each in given.items() if each["next"] == 0}
    if all(member.version >= FIRST_WITH_NEXT_REBALANCE for member in case.members):
        assert {task for task in tasks.keys() - active.keys() if not waiting & had[task]} == set()
        assert any(each["next"] is not None for each in given.values())


def owners(case: LeaderCase) -> dict[TaskId, set[UUID | None]]:
    """Return the processes that claim partitions of each task, or report that it runs."""
    tasks = asyncio.run(ask_for_round(case.topics, case.topics, case.round)).tasks
    readers = readers_of(inputs_of_tasks(tasks))
    found: dict[TaskId, set[UUID | None]] = {}
    for member in case.members:
        running = {task for task, offset in member.sums if offset == RUNNING_TASK and member.of_process}
        for task in {readers[each] for each in member.owned} | running:
            found.setdefault(task, set()).add(member.of_process)
    return found
