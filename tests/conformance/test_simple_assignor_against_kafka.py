"""Our share assignor against Kafka's own class, over 1,000 random inputs.

Each input is a group that Kafka's assignor has assigned from nothing, after one to three changes (members join or
leave, topics grow, subscriptions change). Both assignors get the same previous assignment.

Ours must be no worse, input by input, in

- *spread*: the largest difference between two members' numbers of partitions, or two partitions' numbers of members;
- *kept*: the partitions that stay with a member that had them.

And over all inputs together it must hand out no more partitions anew. Input by input that cannot be asked for: in a few
percent of them Kafka leaves a partition one member short, and so hands out one less.
"""

import random
from collections.abc import Iterable

import pytest
from attrs import frozen

from kafka_groups.broker.coordinators.groups.assignors.simple import assign
from kafka_groups.types import TopicIdPartition
from tests.support.assignors.assignor_cases import Case, Measures, changed, measure, random_case
from tests.support.kafka.kafka_assignor import KafkaAssignor
from tests.support.kafka.kafka_classpath import libs_or_skip

INPUTS = 1_000
SEED = 932

pytestmark = pytest.mark.real_kafka


@frozen
class Compared:
    """One input and the measures of both answers."""

    case: Case
    ours: Measures
    kafkas: Measures


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> KafkaAssignor:
    return KafkaAssignor(tmp_path_factory.mktemp("java"), libs_or_skip())


@pytest.fixture(scope="module")
def compared(kafka: KafkaAssignor) -> list[Compared]:
    rng = random.Random(SEED)
    fresh = [random_case(rng) for _ in range(INPUTS)]
    previous = kafka.assign(fresh)
    cases = [changed(case, rng).owning(before) for case, before in zip(fresh, previous, strict=True)]
    answers = kafka.assign(cases)
    return [
        Compared(case, measure(case, assign(case.members, case.partitions)), measure(case, answer))
        for case, answer in zip(cases, answers, strict=True)
    ]


def test_inputs_are_worth_comparing(compared: list[Compared]) -> None:
    assert len(compared) == INPUTS
    # A change that does not leave everything in its place, in most inputs; and both kinds of subscriptions.
    assert sum(pair.kafkas.given > 0 for pair in compared) > INPUTS / 2
    same = sum(len({spec.topic_ids for spec in pair.case.members.values()}) == 1 for pair in compared)
    assert INPUTS / 4 < same < INPUTS * 3 / 4


def test_spread_is_no_worse_for_any_input(compared: list[Compared]) -> None:
    worse = [pair for pair in compared if pair.ours.spread > pair.kafkas.spread]
    assert worse == []


def test_no_input_keeps_less_in_its_place(compared: list[Compared]) -> None:
    worse = [pair for pair in compared if pair.ours.kept < pair.kafkas.kept]
    assert worse == []


def test_no_more_is_handed_out_anew_in_total(compared: list[Compared]) -> None:
    ours, kafkas = (
        sum(m.given for m in measures) for measures in zip(*((p.ours, p.kafkas) for p in compared), strict=True)
    )
    assert ours <= kafkas


def test_an_assignment_from_nothing_has_kafkas_numbers(kafka: KafkaAssignor) -> None:
    rng = random.Random(SEED)
    cases = [random_case(rng) for _ in range(200)]
    for case, kafkas in zip(cases, kafka.assign(cases), strict=True):
        ours = assign(case.members, case.partitions)
        for partition in case.partitions:
            assert _holders(partition, ours.values()) == _holders(partition, kafkas.values()), case
        if len({spec.topic_ids for spec in case.members.values()}) == 1:
            assert sorted(map(len, ours.values())) == sorted(map(len, kafkas.values())), case


def _holders(partition: TopicIdPartition, owned: Iterable[frozenset[TopicIdPartition]]) -> int:
    return sum(partition in partitions for partitions in owned)
