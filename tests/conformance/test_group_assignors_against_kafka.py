"""Our assignors of consumer groups against Kafka's own: the same assignment for 1,000 random inputs each.

Kafka's classes run inside its coordinator's own target assignment builder, so the inputs reach them in the order in
which a broker passes them. The inputs are chains: a group changes, and each change starts from the previous assignment.
"""

import random
from uuid import UUID

import pytest
from attrs import frozen

from kafka_groups.broker.coordinators.groups.assignors import range as range_assignor
from kafka_groups.broker.coordinators.groups.assignors import uniform
from kafka_groups.broker.coordinators.groups.assignors.kafka_order import Partition, previous_partitions
from tests.support.assignors.group_assignor_cases import Assignor, GroupAssignment, GroupCase, Member, Topic, chain
from tests.support.kafka.kafka_classpath import libs_or_skip
from tests.support.kafka.kafka_group_assignor import KafkaGroupAssignor

CHAINS = 100
STEPS = 10
SEED = 848

ASSIGNORS: dict[str, Assignor] = {range_assignor.NAME: range_assignor.assign, uniform.NAME: uniform.assign}

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@frozen
class Compared:
    """One input and both answers."""

    case: GroupCase
    ours: GroupAssignment
    kafkas: GroupAssignment


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> KafkaGroupAssignor:
    return KafkaGroupAssignor(tmp_path_factory.mktemp("java"), libs_or_skip())


@pytest.fixture(scope="module", params=ASSIGNORS)
def compared(kafka: KafkaGroupAssignor, request: pytest.FixtureRequest) -> list[Compared]:
    rng = random.Random(SEED)
    assign = ASSIGNORS[request.param]
    cases = [case for _ in range(CHAINS) for case in chain(assign, STEPS, rng)]
    return [
        Compared(case, assign(case.spec()), kafkas)
        for case, kafkas in zip(cases, kafka.assign(request.param, cases), strict=True)
    ]


def test_inputs_are_worth_comparing(compared: list[Compared]) -> None:
    assert len(compared) == CHAINS * STEPS
    cases = [pair.case for pair in compared]
    assert len(cases) / 4 < sum(case.homogeneous for case in cases) < len(cases) * 3 / 4
    members = [(case, member) for case in cases for member in case.members.values()]
    assert sum(member.instance_id is not None for _, member in members) > len(members) / 4
    assert sum(not member.names <= case.topics.keys() for case, member in members) > len(members) / 10
    assert sum(_owns_deleted_topic(case, member) for case, member in members) > len(members) / 50
    assert sum(_moves_something(pair) for pair in compared) > len(compared) / 4


def test_every_assignment_is_kafkas(compared: list[Compared]) -> None:
    different = [pair for pair in compared if _ascending(pair.ours) != _ascending(pair.kafkas)]
    assert different == []


def test_the_next_assignment_starts_from_the_same_order(compared: list[Compared]) -> None:
    """So a chain of assignments is Kafka's, too: it keeps the first ones of the partitions that a member had."""
    different = [
        pair for pair in compared if _as_previous(pair.case, pair.ours) != _as_previous(pair.case, pair.kafkas)
    ]
    assert different == []


@pytest.mark.parametrize("topics", [10, 60])
def test_partitions_that_pass_from_topic_to_topic_stop_where_kafkas_do(kafka: KafkaGroupAssignor, topics: int) -> None:
    case = _neighbours(topics, partitions=80)
    assert _ascending(uniform.assign(case.spec())) == _ascending(kafka.assign(uniform.NAME, [case])[0])


def _neighbours(count: int, partitions: int) -> GroupCase:
    """Each topic has two subscribers, and each member shares one topic with the next. The first one has too much.

    With 60 topics, balancing all of them once does not get far, as the topics come in the opposite order.
    """
    topics = {f"topic-{number}": Topic(UUID(int=1_000 - number), partitions) for number in range(count)}
    topics["more"] = Topic(UUID(int=2_000), 5 * partitions)
    members = {}
    for number in range(count + 1):
        names = {f"topic-{each}" for each in (number - 1, number) if 0 <= each < count} | (
            {"more"} if not number else set()
        )
        own = {topics[f"topic-{number}"].topic_id: tuple(range(partitions))} if number < count else {}
        members[f"member-{number}"] = Member(frozenset(names), assigned=own)
    return GroupCase(tuple(topics), alike=False, topics=topics, members=members)


def _as_previous(case: GroupCase, assignment: GroupAssignment) -> dict[str, list[Partition]]:
    spec = case.owning(assignment).spec()
    return {member: list(previous_partitions(spec, member)) for member in spec.members}


def _ascending(assignment: GroupAssignment) -> GroupAssignment:
    return {
        member: {topic_id: tuple(sorted(numbers)) for topic_id, numbers in owned.items()}
        for member, owned in assignment.items()
    }


def _owns_deleted_topic(case: GroupCase, member: Member) -> bool:
    return not member.assigned.keys() <= {topic.topic_id for topic in case.topics.values()}


def _moves_something(pair: Compared) -> bool:
    """Whether a member loses partitions that it still subscribes to."""
    spec = pair.case.spec()
    return any(
        number not in pair.kafkas[member].get(topic_id, ())
        for member in spec.members
        for topic_id, number in previous_partitions(spec, member)
    )
