"""The topology that is given for a classic group, and the tasks that the group has."""

import re
from typing import Any, cast

import pytest
from attrs import evolve

from kafka_groups.admin import StreamsPlan
from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology, RepartitionTopic, Subtopology
from kafka_groups.admin.rules.plans.classic_topology import subtopologies_with_patterns, topology_of
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import StreamsBuilder, Topology, serdes
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.support.assignors.led_rounds import settled
from tests.support.assignors.planned_groups import answering, plan_of
from tests.unit.admin.rules.streams_leader.scenes import COUNTING, IN, SPLITTING, WORDS, A, B, group, member

LED = settled(group(member("a-1", A), member("b-1", B)))
"""A group that runs the word count: tasks 0_0, 0_1, 1_0 and 1_1."""


def plan(*subtopologies: Subtopology, **counts: int) -> StreamsPlan:
    known = answering(LED)
    topics = {**known.topics.counts, **counts}
    ends = {**known.topics.ends, **{name: (0,) * count for name, count in counts.items()}}
    return plan_of(
        LED, brokers=evolve(known, topics=AnsweringTopics(topics, ends)), topology=GroupTopology(subtopologies)
    )


def test_the_topology_of_the_group_is_taken() -> None:
    assert plan(SPLITTING, COUNTING).moves == ()


HEAD = "The topology is not that of the group app: "


@pytest.mark.parametrize(
    ("subtopologies", "counts", "complaints"),
    [
        (
            (SPLITTING,),
            {},
            [
                HEAD + "the group has the tasks 1_0, 1_1, which the topology does not have; ",
                f"; the group reads {WORDS}, which the topology does not read. Give the function",
            ],
        ),
        (
            (SPLITTING, COUNTING, Subtopology(subtopology_id="2", source_topics=("other",))),
            {"other": 3},
            [HEAD + "nobody in the group reads other for the tasks 2_0, 2_1, 2_2. Give"],
        ),
        (
            (evolve(SPLITTING, source_topics=(IN, "other")), COUNTING),
            {"other": 1},
            [
                HEAD + f"tasks of the group read other partitions: 0_0 ({IN}-0, but {IN}-0, other-0 in the topology); ",
                "; nobody in the group reads other for the tasks 0_0. Give",
            ],
        ),
        (
            (evolve(SPLITTING, subtopology_id="1"), evolve(COUNTING, subtopology_id="0")),
            {},
            [f"0_0 ({IN}-0, but {WORDS}-0 in the topology)"],
        ),
        (
            (
                evolve(SPLITTING, repartition_sinks=()),
                evolve(COUNTING, repartition_sources=(RepartitionTopic(WORDS, 2),)),
            ),
            {IN: 1},
            [HEAD + "the group has the tasks 0_1, which the topology does not have. "],
        ),
    ],
)
def test_another_topology_is_refused_with_the_tasks_that_differ(
    subtopologies: tuple[Subtopology, ...], counts: dict[str, int], complaints: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        plan(*subtopologies, **counts)
    assert [each for each in complaints if each not in str(caught.value)] == []


def test_tasks_of_partitions_that_have_just_come_belong_to_nobody() -> None:
    splitting = evolve(SPLITTING, repartition_sinks=())
    reading = evolve(COUNTING, repartition_sources=(RepartitionTopic(WORDS, 2),))
    made = plan(splitting, reading, **{IN: 3})
    assert "Nobody runs these tasks now: 0_2." in made.warnings
    assert [str(move.task) for move in made.moves] == ["0_2"]


def test_stores_without_a_changelog_topic_are_no_difference() -> None:
    made: Any = plan(SPLITTING, evolve(COUNTING, changelogs=()))
    assert (made.moves, made.missing_topics) == ((), ())


# -------------------------------------------------------------------------------------------------- patterns


def with_patterns() -> Topology:
    """Counts the words of all topics whose names begin with "in"."""
    builder = StreamsBuilder()
    words = builder.stream(re.compile("in.*"), key=serdes.string, value=serdes.string)
    words.group_by(lambda _, word: word, key=serdes.string, value=serdes.string, name="words").count(store="counts")
    return builder.build()


def test_patterns_read_what_members_have_found() -> None:
    given = with_patterns()
    known = LED.case.topology
    assert topology_of(given, "app")([IN]).source_topics == known.source_topics
    brokers = answering(LED)
    brokers.topics.counts["in-new"] = 3  # which nobody has found yet
    made = plan_of(LED, brokers=brokers, topology=given)
    assert (made.moves, made.warnings) == ((), ())


def test_internal_topics_behind_patterns_keep_their_numbers() -> None:
    """The largest topic that matched has been deleted."""
    topology = topology_of(with_patterns(), "app")
    assert subtopologies_with_patterns(topology, topology([IN])) == {"0"}
    assert subtopologies_with_patterns(topology, topology([])) == frozenset()
    brokers = answering(LED)
    brokers.topics.counts[IN] = 1
    with pytest.raises(ConfigurationError, match="the group has the tasks 0_1, which the topology does not have"):
        plan_of(LED, brokers=brokers, topology=with_patterns())


def test_what_is_no_topology_is_refused_before_brokers_are_asked() -> None:
    with pytest.raises(ConfigurationError, match="topology=3 is not a topology"):
        topology_of(cast(Any, 3), "app")
