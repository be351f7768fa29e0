"""The leader of a classic group asks brokers: topics with their numbers of partitions and configs, ends and offsets."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest

from kafka_groups import serdes
from kafka_groups.admin.rules.config_questions import describe_topic_configs
from kafka_groups.admin.rules.group_offsets import commit_question
from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, GroupTopology, Subtopology
from kafka_groups.admin.rules.streams_leader.group_round import GroupRound, LeaderSettings, LeadingError
from kafka_groups.admin.rules.streams_leader.leading import INCOMPLETE_SOURCE_TOPICS, ask_for_round
from kafka_groups.admin.rules.topics import TopicToCreate, create_topics
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.client.calls.questions import Asking
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.streams import StreamsBuilder, TimeWindows, stores
from kafka_groups.types import OffsetAndMetadata, TaskId, TopicPartition
from tests.support.assignors.leader_cases import ToldMember
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.consuming import values
from tests.support.targets import Target, everywhere

TIMEOUT_MS = 30_000
DAY_MS, MINUTE_MS = 86_400_000, 60_000


@asynccontextmanager
async def asking(target: Target) -> AsyncIterator[Asking]:
    config = admin_config(bootstrap_servers=target.bootstrap_servers)
    client = admin_client(config, Environment(network=target.network))
    try:
        yield client.within(TIMEOUT_MS)
    finally:
        await client.close()


def round_of(application_id: str, topology: GroupTopology) -> GroupRound:
    member = ToldMember(member_id="m", process_id=UUID(int=1))
    return GroupRound(
        generation=1,
        member_id="m",
        members={"m": member.subscription(topology.source_topics)},
        topology=topology,
        settings=LeaderSettings(application_id=application_id),
    )


def with_stores(application_id: str, source: str) -> GroupTopology:
    """A topology with a repartition topic, and changelogs of a count, of windows and of versions."""
    builder = StreamsBuilder()
    lines = builder.stream(source, key=serdes.string, value=serdes.string)
    grouped = lines.group_by(lambda _key, value: value, key=serdes.string, name="words")
    grouped.count(store="counts")
    grouped.windowed_by(TimeWindows(timedelta(minutes=1), grace=timedelta(0))).count(store="windows")
    versions = stores.versioned("versions", serdes.string, serdes.string, history=timedelta(minutes=1))
    grouped.reduce(lambda one, _other: one, store=versions)
    return builder.build().group_topology(application_id)


@everywhere
async def test_internal_topics_are_created_with_their_configs(target: Target) -> None:
    app = unique("app")
    source = await target.cluster.create_topic(3)
    words = f"{app}-words-repartition"
    needed: dict[str, Mapping[str, str]] = {
        words: {"cleanup.policy": "delete", "retention.ms": "-1", "segment.bytes": "52428800"},
        f"{app}-counts-changelog": {"cleanup.policy": "compact"},
        f"{app}-versions-changelog": {"cleanup.policy": "compact", "min.compaction.lag.ms": str(DAY_MS + MINUTE_MS)},
        f"{app}-windows-changelog": {"cleanup.policy": "compact,delete", "retention.ms": str(DAY_MS + MINUTE_MS)},
    }
    given = round_of(app, with_stores(app, source.name))
    async with asking(target) as ask:
        asked = await ask_for_round(ask, ask, given)
        assert asked.created_topics == tuple(sorted(needed))
        assert asked.read_counts == {source.name: 3, words: 3}
        found = await until(lambda: describe_topic_configs(ask, needed), lambda it: not it.errors)
        for name, configs in needed.items():
            assert {**configs, "message.timestamp.type": "CreateTime"}.items() <= found[name].items()
            described = await until(partial(target.cluster.describe_topic, name), lambda it: bool(it.partitions))
            assert len(described.partitions) == 3
        again = await ask_for_round(ask, ask, given)
    assert (again.created_topics, again.read_counts) == ((), asked.read_counts)
    assert again.ends.sums == {TaskId("1", number): 0 for number in range(3)}


@everywhere
async def test_ends_are_those_of_changelogs_and_of_committed_offsets(target: Target) -> None:
    """A source topic that is a changelog ends where the group has committed, as nothing after it was processed."""
    app = unique("app")
    source, changelog = await target.cluster.create_topic(2), await target.cluster.create_topic(2)
    await target.cluster.produce(changelog, values(5), partition=1)
    await target.cluster.produce(source, values(9), partition=0)
    part = Subtopology(
        subtopology_id="0",
        source_topics=(source.name,),
        changelogs=(ChangelogTopic(changelog.name), ChangelogTopic(source.name)),
    )
    async with asking(target) as ask:
        offsets = {TopicPartition(source.name, 0): OffsetAndMetadata(7)}
        (await ask(commit_question(app, offsets)))[app].checked()
        asked = await ask_for_round(ask, ask, round_of(app, GroupTopology((part,))))
    assert asked.ends.sums == {TaskId("0", 0): 7, TaskId("0", 1): 5}


@everywhere
async def test_missing_sources_end_the_round_before_topics_are_created(target: Target) -> None:
    app, missing = unique("app"), unique("missing")
    async with asking(target) as ask:
        asked = await ask_for_round(ask, ask, round_of(app, with_stores(app, missing)))
        assert asked.error is not None
        assert (asked.error.code, str(asked.error.cause)) == (
            INCOMPLETE_SOURCE_TOPICS,
            f"Source topics do not exist: {missing}. Create them.",
        )
        found = await describe_topic_configs(ask, [f"{app}-counts-changelog"])
    assert found.errors


@everywhere
async def test_a_source_that_has_grown_is_told_with_both_numbers(target: Target) -> None:
    app = unique("app")
    source = await target.cluster.create_topic(3)
    words = f"{app}-words-repartition"
    async with asking(target) as ask:
        (await create_topics(ask, {words: TopicToCreate(2)})).checked()
        await until(lambda: target.cluster.describe_topic(words), lambda it: len(it.partitions) == 2)
        with pytest.raises(LeadingError, match=f"Topic {words} has 2 partitions, but the application needs 3: "):
            await ask_for_round(ask, ask, round_of(app, with_stores(app, source.name)))
