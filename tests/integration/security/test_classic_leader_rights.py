"""The leader of a classic group needs to see its topics, and to create those that are missing."""

import asyncio
from collections.abc import Iterator
from uuid import UUID

import pytest
from confluent_kafka.admin import AclOperation, NewTopic, ResourcePatternType, ResourceType

from kafka_groups.admin.rules.group_topology.group_topology import (
    ChangelogTopic,
    GroupTopology,
    RepartitionTopic,
    Subtopology,
)
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LeaderSettings, LeadingError
from kafka_groups.admin.rules.streams_leader.leading import AskedRound, ask_for_round
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.streams import KafkaStreams, StreamsError, StreamsState
from tests.integration.test_streams_applications import word_count
from tests.support.assignors.leader_cases import ToldMember
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.secured_kafka import SECRET, SecuredKafka, running_secured_kafka

pytestmark = [pytest.mark.slow, pytest.mark.real_kafka, pytest.mark.timeout(120)]

TIMEOUT_MS = 20_000
READ, CREATE = AclOperation.READ, AclOperation.CREATE
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
PREFIXED = ResourcePatternType.PREFIXED


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with running_secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
        yield kafka


def round_of(application_id: str, source: str) -> GroupRound:
    words, counts = f"{application_id}-words-repartition", f"{application_id}-counts-changelog"
    splitting = Subtopology(subtopology_id="0", source_topics=(source,), repartition_sinks=(words,))
    counting = Subtopology(
        subtopology_id="1",
        repartition_sources=(RepartitionTopic(words),),
        changelogs=(ChangelogTopic(counts, {"cleanup.policy": "compact"}),),
    )
    member = ToldMember(member_id="m", process_id=UUID(int=1))
    return GroupRound(
        generation=1,
        member_id="m",
        members={"m": member.subscription([source, words])},
        topology=GroupTopology((splitting, counting)),
        settings=LeaderSettings(application_id=application_id),
    )


def asked_as_ann(secured: SecuredKafka, given: GroupRound) -> AskedRound:
    keys = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "ann", "sasl.password": SECRET}

    async def ask() -> AskedRound:
        client = admin_client(admin_config(secured.keys("SASLTLS", keys)), Environment())
        try:
            return await ask_for_round(client.within(TIMEOUT_MS), client.within(TIMEOUT_MS), given)
        finally:
            await client.close()

    return asyncio.run(ask())


def test_each_missing_right_is_named_until_all_are_given(secured: SecuredKafka) -> None:
    app, source = unique("app"), secured.create_topic()
    given = round_of(app, source)
    secured.allow(GROUP, app, READ)
    with pytest.raises(LeadingError) as hidden:
        asked_as_ann(secured, given)
    assert str(hidden.value).startswith(
        f"This member leads the group, but may not see the topics {app}-counts-changelog, {app}-words-repartition, "
        f"{source}. Any member may lead. So each needs READ on the topics that the application reads, and CREATE, READ "
        "and WRITE on all topics whose names begin with its application.id and '-'. User:ann needs DESCRIBE on the "
        f"topic {app}-counts-changelog (TOPIC_AUTHORIZATION_FAILED). Grant it: kafka-groups acls add --allow User:ann "
    )
    secured.allow(TOPIC, source, READ)
    secured.allow(TOPIC, f"{app}-", READ, pattern=PREFIXED)
    with pytest.raises(LeadingError) as forbidden:
        asked_as_ann(secured, given)
    assert str(forbidden.value).startswith(
        f"Could not create the internal topics {app}-counts-changelog, {app}-words-repartition: "
        "TopicAuthorizationFailedError: "
    )
    assert str(forbidden.value).endswith(
        "Allow all members to CREATE topics whose names begin with their application.id and '-', or create these: "
        f"{app}-counts-changelog with 1 partition and cleanup.policy=compact; {app}-words-repartition with 1 partition."
    )
    secured.allow(TOPIC, f"{app}-", CREATE, pattern=PREFIXED)
    asked = asked_as_ann(secured, given)
    assert asked.created_topics == (f"{app}-counts-changelog", f"{app}-words-repartition")
    assert asked_as_ann(secured, given).ends.failure is None


def test_an_application_that_may_not_create_topics_says_what_it_needs_and_runs_with_topics_of_somebody_else(
    secured: SecuredKafka,
) -> None:
    app, source = unique("app"), secured.create_topic()
    secured.allow(GROUP, app, READ)
    secured.allow(TOPIC, source, READ)
    for right in (READ, AclOperation.WRITE):
        secured.allow(TOPIC, f"{app}-", right, pattern=PREFIXED)
    keys = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "ann", "sasl.password": SECRET}

    def made() -> KafkaStreams:
        given = {**secured.keys("SASLTLS", keys), "group.protocol": "classic", "commit.interval.ms": 100}
        return KafkaStreams(word_count(source), given, application_id=app)

    with made() as refused:
        wait_until(lambda: refused.state is StreamsState.ERROR, 90, lambda: refused.state)
    assert isinstance(refused.error, StreamsError)
    told = str(refused.error)
    internal = [f"{app}-counts-changelog", f"{app}-counts-repartition"]
    assert told.startswith(
        f"Could not create the internal topics {', '.join(internal)}: TopicAuthorizationFailedError: "
    )
    assert "Allow all members to CREATE topics whose names begin with their application.id and '-', or " in told
    assert f"or create these: {internal[0]} with 1 partition and " in told
    assert "cleanup.policy=compact" in told
    for topic in internal:
        secured.admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    with made() as allowed:
        allowed.wait_until_running(90)
