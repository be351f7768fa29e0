"""Regular expressions of consumer groups, raw (KIP-848)."""

import re
from functools import partial

from tests.conformance.test_consumer_groups import NONE, UNKNOWN, A, B, Group, at_once, new_group, told
from tests.support.conditions import until
from tests.support.members.consumer_member import described
from tests.support.targets import Target

INVALID_REGEX = "INVALID_REGULAR_EXPRESSION"


async def known_to_coordinator(group: Group) -> None:
    """Wait until the coordinator has heard of both topics."""
    probe = group.member(A, group_id=f"{group.group_id}-probe")
    await probe.join(group.other.name)
    shown = partial(described, group.target.client(), probe.group_id)

    async def told_of_it() -> bool:
        await probe.beat()
        return bool((await shown()).members[0].assignment.topic_partitions)

    await until(told_of_it, bool)


@at_once
async def test_topics_are_found_after_the_heartbeat(target: Target) -> None:
    group = await new_group(target)
    one, two = group.member(A), group.member(B)
    regex = f"{re.escape(group.topic.name)[:-2]}.*|{re.escape(group.topic.name)}"
    assert told(await one.join(subscribed_topic_regex=regex)) == (NONE, 1, {})
    assert await until(group.state, lambda it: it[1] == 2) == ("Assigning", 2, 1)
    assert told(await one.beat()) == (NONE, 2, group.of(0, 1, 2, 3))
    assert await group.state() == ("Stable", 2, 2)
    assert told(await two.join(subscribed_topic_regex=regex)) == (NONE, 3, {}), "the topics are known"
    assert told(await one.beat(subscribed_topic_regex="none.*")) == (NONE, 2, {}), "it is not known what that means"
    assert (await group.state())[1] == 3
    assert told(await one.beat(owned={})) == (NONE, 3, None)
    assert told(await two.beat()) == (NONE, 3, group.of(2, 3))
    assert (await two.leave()).error == NONE
    assert await group.state() == ("Assigning", 4, 3)


@at_once
async def test_names_and_a_regular_expression_together(target: Target) -> None:
    group = await new_group(target)
    one = group.member(A)
    other = {group.other.name: (0, 1)}
    await known_to_coordinator(group)
    assert told(await one.join(group.other.name, subscribed_topic_regex=group.topic.name)) == (NONE, 2, other)
    assert await until(group.state, lambda it: it[1] == 3) == ("Assigning", 3, 2)
    assert told(await one.beat()) == (NONE, 3, {**group.of(0, 1, 2, 3), **other})
    assert told(await one.beat(subscribed_topic_regex="")) == (NONE, 3, other)
    assert (await group.state())[1] == 4
    assert told(await one.beat(owned=other)) == (NONE, 4, None)


@at_once
async def test_bad_expressions_are_refused(target: Target) -> None:
    group = await new_group(target)
    for regex, problem in {"(": "missing closing )", "[": "missing closing ]"}.items():
        refused = await group.member(A).join(subscribed_topic_regex=regex)
        assert (refused.error, refused.message) == (
            INVALID_REGEX,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {problem}.",
        )
    one = await group.joined(A)
    assert (await one.beat(subscribed_topic_regex="(")).error == INVALID_REGEX
    assert (await group.member(B).beat(2, subscribed_topic_regex="(")).error == UNKNOWN
    assert (await one.beat(1, subscribed_topic_regex="(")).error == "FENCED_MEMBER_EPOCH"
    assert told(await one.beat()) == (NONE, 2, None)
