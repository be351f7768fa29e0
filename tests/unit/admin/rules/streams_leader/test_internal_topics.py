"""Internal topics: those that are missing are created, and those that exist are checked."""

import asyncio

import pytest

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, GroupTopology, Subtopology
from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.admin.rules.streams_leader.internal_topics import (
    check_counts,
    existing_topics,
    needed_topics,
    ready_topics,
    topics_of_topology,
)
from kafka_groups.admin.rules.streams_leader.topology_counts import topology_counts
from kafka_groups.admin.rules.topics import TopicReplicas, TopicToCreate, counts_of_topics
from kafka_groups.broker.faults import answer
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import RequestTimedOutError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from tests.support.assignors.answered_questions import AnsweringTopics
from tests.unit.admin.rules.streams_leader.scenes import ALL_COUNTS, COUNTS, IN, WORD_COUNT, WORDS
from tests.unit.admin.worlds import TOPIC, AdminWorld, simulate

NEEDED = {
    WORDS: TopicToCreate(2, 3, {"cleanup.policy": "delete"}),
    COUNTS: TopicToCreate(2, 3, {"cleanup.policy": "compact"}),
}


def counts(found: tuple[tuple[str, ...], dict[str, TopicReplicas]]) -> tuple[tuple[str, ...], dict[str, int]]:
    return found[0], counts_of_topics(found[1])


def refusing(code: ErrorCode, *topics: str, api: ApiKey = ApiKey.CREATE_TOPICS) -> AnsweringTopics:
    return AnsweringTopics({IN: 2}, errors={api: dict.fromkeys(topics, code)})


def test_all_topics_of_a_topology() -> None:
    assert topics_of_topology(WORD_COUNT) == (COUNTS, WORDS, IN)


def test_topics_that_do_not_exist_have_no_number() -> None:
    found = asyncio.run(existing_topics(AnsweringTopics({IN: 3, WORDS: 2}), [IN, WORDS, COUNTS]))
    assert counts_of_topics(found) == {IN: 3, WORDS: 2}


def test_topics_that_may_not_be_seen_are_named() -> None:
    topics = refusing(ErrorCode.TOPIC_AUTHORIZATION_FAILED, WORDS, COUNTS, api=ApiKey.METADATA)
    with pytest.raises(
        LeadingError, match=rf"may not see the topics {COUNTS}, {WORDS}\. Any member may lead, .* DESCRIBE|READ"
    ):
        asyncio.run(existing_topics(topics, [IN, WORDS, COUNTS]))


def test_brokers_that_do_not_tell_now_are_no_mistake() -> None:
    with pytest.raises(RequestTimedOutError):
        asyncio.run(existing_topics(refusing(ErrorCode.REQUEST_TIMED_OUT, IN, api=ApiKey.METADATA), [IN]))


def test_topics_are_needed_with_the_configured_replication_factor() -> None:
    assert needed_topics(WORD_COUNT, topology_counts(WORD_COUNT, {IN: 2}), 3) == NEEDED


def test_a_topic_may_have_a_replication_factor_of_its_own() -> None:
    changelog = ChangelogTopic("c", replication_factor=2)
    topology = GroupTopology((Subtopology(subtopology_id="0", source_topics=("a",), changelogs=(changelog,)),))
    assert needed_topics(topology, topology_counts(topology, {"a": 4}), 3) == {"c": TopicToCreate(4, 2)}


def test_missing_topics_are_created() -> None:
    topics = AnsweringTopics({IN: 2, COUNTS: 2})
    assert asyncio.run(ready_topics(topics, NEEDED, topics.counts)) == ((WORDS,), {})
    [created] = topics.created
    assert (created.name, created.num_partitions, created.replication_factor) == (WORDS, 2, 3)
    assert [(each.name, each.value) for each in created.configs] == [("cleanup.policy", "delete")]


def test_nothing_is_asked_if_all_exist() -> None:
    topics = AnsweringTopics(dict(ALL_COUNTS))
    assert asyncio.run(ready_topics(topics, NEEDED, ALL_COUNTS)) == ((), {})
    assert topics.asked == []


def test_a_topic_that_another_leader_has_created_is_looked_at_again() -> None:
    topics = AnsweringTopics({WORDS: 5}, errors={ApiKey.CREATE_TOPICS: {WORDS: ErrorCode.TOPIC_ALREADY_EXISTS}})
    assert counts(asyncio.run(ready_topics(topics, NEEDED, {}))) == ((COUNTS,), {WORDS: 5})


def test_brokers_that_do_not_know_it_yet_are_asked_again() -> None:
    async def program(world: AdminWorld) -> None:
        unknown = MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=TOPIC)
        client = admin_client(
            admin_config(bootstrap_servers=world.cluster.bootstrap_servers),
            Environment(world.network, world.clock, world.simulation.rng),
        )
        rule = world.cluster.faults.on(
            ApiKey.METADATA, answer(MetadataResponse(topics=(unknown,))), when=lambda it: bool(it.topics), times=2
        )
        found = await ready_topics(client.within(60_000), {TOPIC: TopicToCreate(3)}, {})
        assert (counts(found), rule.hits) == (((), {TOPIC: 3}), 2)
        await client.close()

    simulate(program)


@pytest.mark.parametrize(
    "code",
    [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.POLICY_VIOLATION],
)
def test_without_the_right_to_create_topics_the_message_says_what_to_create(code: ErrorCode) -> None:
    with pytest.raises(LeadingError) as caught:
        asyncio.run(ready_topics(refusing(code, WORDS, COUNTS), NEEDED, {IN: 2}))
    text = str(caught.value)
    assert text.startswith(f"Could not create the internal topics {COUNTS}, {WORDS}: ")
    assert "Allow all members to CREATE topics" in text
    assert f"{WORDS} with 2 partitions and cleanup.policy=delete" in text
    assert f"{COUNTS} with 2 partitions and cleanup.policy=compact" in text


def test_too_few_brokers_for_the_replication_factor() -> None:
    topics = refusing(ErrorCode.INVALID_REPLICATION_FACTOR, WORDS, COUNTS)
    with pytest.raises(LeadingError, match=r"Set replication\.factor, which is 3 now"):
        asyncio.run(ready_topics(topics, NEEDED, {IN: 2}))


def test_other_refusals_name_the_topic() -> None:
    with pytest.raises(LeadingError, match=rf"internal topics {WORDS}: InvalidConfigError.* It needs {WORDS} with 2"):
        asyncio.run(ready_topics(refusing(ErrorCode.INVALID_CONFIG, WORDS), NEEDED, {IN: 2}))


def test_brokers_that_cannot_create_topics_now_are_no_mistake() -> None:
    with pytest.raises(RequestTimedOutError):
        asyncio.run(ready_topics(refusing(ErrorCode.REQUEST_TIMED_OUT, WORDS), NEEDED, {IN: 2}))


def test_a_mistake_counts_more_than_brokers_that_cannot_now() -> None:
    codes = {WORDS: ErrorCode.REQUEST_TIMED_OUT, COUNTS: ErrorCode.INVALID_CONFIG}
    with pytest.raises(LeadingError, match=COUNTS):
        asyncio.run(ready_topics(AnsweringTopics({}, errors={ApiKey.CREATE_TOPICS: codes}), NEEDED, {}))


# ------------------------------------------------------------------------------------------ wrong numbers


def checked(existing: dict[str, int]) -> None:
    check_counts(WORD_COUNT, topology_counts(WORD_COUNT, existing), existing)


def test_right_numbers_pass() -> None:
    checked(ALL_COUNTS)
    checked({IN: 7})


def test_a_repartition_topic_with_a_wrong_number_names_what_it_is_written_from() -> None:
    with pytest.raises(LeadingError) as caught:
        checked({IN: 3, WORDS: 2, COUNTS: 2})
    assert str(caught.value).startswith(
        f"Topic {WORDS} has 2 partitions, but the application needs 3: it is written from, or is copartitioned with, "
        "in (3). Keys belong to other tasks if a source topic gains partitions."
    )
    assert "delete" not in str(caught.value)


def test_a_changelog_with_a_wrong_number_names_its_tasks() -> None:
    with pytest.raises(LeadingError) as caught:
        checked({IN: 2, COUNTS: 1})
    assert str(caught.value).startswith(
        f"Topic {COUNTS} has 1 partition, but the application needs 2: one for each task of sub-topology 1, which "
        f"reads {WORDS} (2). Keys belong to other tasks"
    )
    assert "delete" not in str(caught.value)
