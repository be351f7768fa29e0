"""The topics that patterns read in a round: those that members subscribe to and that exist."""

import asyncio
import re
from typing import Any
from uuid import UUID

import pytest
from attrs import evolve

from kafka_groups import serdes
from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.admin.rules.streams_leader.group_round import LeadingError, LedRound
from kafka_groups.admin.rules.streams_leader.leading import ask_for_round, led_round
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.streams import StreamsBuilder
from kafka_groups.streams.topology.matched_topics import pattern_sources
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.leader_cases import ToldMember
from tests.unit.admin.rules.streams_leader.scenes import NOW_MS, A, B, group, infos, tasks

TEXT = serdes.string
WORDS, COUNTS = "app-words-repartition", "app-counts-changelog"


def sources_of(*patterns: str, splits: bool = False, counts: bool = False) -> PatternSources:
    """The patterns of an application: it counts records, or the words in them."""
    builder = StreamsBuilder()
    for pattern in patterns:
        lines = builder.stream(re.compile(pattern), key=TEXT, value=TEXT)
        if splits:
            lines.group_by(lambda _, value: value, key=TEXT, value=TEXT, name="words").count(store="counts")
        elif counts:
            lines.group_by_key().count(store="counts")
        else:
            lines.to("out")
    found = pattern_sources(builder.build().graph, "app")
    assert found is not None
    return found


SOURCES = sources_of("p-.*")


def led(sources: PatternSources, counts: dict[str, int], *subscriptions: tuple[str, ...], **told: Any) -> LedRound:
    """A round of members that subscribe to these topics. The first one leads, and knows nothing of the others."""
    members = [ToldMember(member_id=f"m{n}", process_id=(A, B)[n], **told) for n in range(len(subscriptions))]
    case = group(*members, topology=sources.topology_of(()), counts=counts, ends={COUNTS: (0,) * counts.get(COUNTS, 0)})
    data = {
        member.member_id: member.subscription(list(topics))
        for member, topics in zip(members, subscriptions, strict=True)
    }
    given = evolve(case.round, members=data, sources=sources)
    return led_round(asyncio.run(ask_for_round(case.topics, case.topics, given)), NOW_MS)


def test_the_leader_uses_what_all_members_subscribe_to_together() -> None:
    done = led(SOURCES, {"p-1": 1, "p-2": 2, "p-3": 9}, ("p-1",), ("p-2",))
    assert done.watched.counts == {"p-1": 1, "p-2": 2}
    given = infos(done)
    assert sorted(given["m0"].active_tasks + given["m1"].active_tasks) == list(tasks("0_0", "0_0", "0_1"))
    assert done.warnings == (), "members find topics at different times"


def test_topics_that_were_deleted_are_left_out() -> None:
    gone = frozenset([TopicPartition("p-2", 0)])
    done = led(SOURCES, {"p-1": 1}, ("p-1", "p-2"), owned=gone, sums=((TaskId("0", 7), 3),))
    assert done.error is None
    assert done.watched.counts == {"p-1": 1}
    assert done.warnings == ()


def test_without_topics_there_are_no_tasks_and_no_error() -> None:
    done = led(sources_of("p-.*", counts=True), {}, (), ())
    assert (done.error, done.created_topics, done.watched.counts) == (None, (), {})
    assert {each.active_tasks for each in infos(done).values()} == {()}


def test_what_other_topologies_subscribe_to_is_still_worth_a_warning() -> None:
    [warning] = led(SOURCES, {"p-1": 1}, ("p-1",), ("p-1", "q-1")).warnings
    assert warning.endswith(": m1 (also reads q-1).")


def test_a_topic_of_two_sources_ends_the_leader() -> None:
    with pytest.raises(LeadingError, match="Topic 'p-1' matches the pattern"):
        led(sources_of("p-.*", ".*-1"), {"p-1": 1}, ("p-1",))


# ----------------------------------------------------------------------------------------- internal topics


def test_a_repartition_topic_whose_number_depends_on_a_pattern_without_topics_is_an_error_for_all_as_in_java() -> None:
    done = led(sources_of("p-.*", splits=True), {}, (WORDS,), (WORDS,))
    assert done.error is not None
    assert done.error.code == 3
    assert "a pattern, and no such topic exists. Create one" in str(done.error.cause)


def test_internal_topics_keep_their_numbers_when_the_largest_topic_is_deleted() -> None:
    existing = {WORDS: 4, COUNTS: 4}
    done = led(sources_of("p-.*", splits=True), {"p-1": 2, **existing}, ("p-1", WORDS))
    assert done.watched.counts == {"p-1": 2, WORDS: 4}
    done = led(sources_of("p-.*", splits=True), existing, (WORDS,))
    assert sorted(infos(done)["m0"].active_tasks) == list(tasks("1_0", "1_1", "1_2", "1_3"))
    done = led(sources_of("p-.*", counts=True), {"p-1": 2, COUNTS: 4}, ("p-1",))
    assert sorted(infos(done)["m0"].active_tasks) == list(tasks("0_0", "0_1"))


def test_a_larger_topic_than_the_changelog_is_refused_as_in_java() -> None:
    with pytest.raises(LeadingError, match=r"app-counts-changelog has 2 partitions, but the application needs 3"):
        led(sources_of("p-.*", counts=True), {"p-1": 3, COUNTS: 2}, ("p-1",))


def test_a_larger_topic_than_the_repartition_topic_is_none() -> None:
    done = led(sources_of("p-.*", splits=True), {"p-1": 8, WORDS: 2, COUNTS: 2}, ("p-1", WORDS))
    assert done.watched.counts == {"p-1": 8, WORDS: 2}


def test_a_topic_that_the_leader_may_not_see_is_named() -> None:
    sources = sources_of("p-.*")
    case = group(ToldMember(member_id="m", process_id=UUID(int=1)), topology=sources.topology_of(()), counts={})
    member = case.members[0].subscription(["p-1"])
    given = evolve(case.round, members={"m": member}, sources=sources)
    topics = evolve(case.topics, errors={ApiKey.METADATA: {"p-1": ErrorCode.TOPIC_AUTHORIZATION_FAILED}})
    with pytest.raises(LeadingError, match="may not see the topics p-1"):
        asyncio.run(ask_for_round(topics, topics, given))
