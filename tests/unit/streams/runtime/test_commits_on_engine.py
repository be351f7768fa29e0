"""Commits at least once of a worker whose records our own engine reads, on the embedded cluster in virtual time."""

import asyncio

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.support.cluster_client import Topic
from tests.unit.records.clusters import KEPT, TOPIC
from tests.unit.streams.runtime.engine_application import GROUP, SOURCE, TASK, Application, simulated

OLD, NEW = ([b"%s %d" % (name, number) for number in range(count)] for name, count in ((b"old", 20), (b"new", 30)))


async def make_again(application: Application) -> None:
    """Delete the source, and make it again with other records."""
    world = application.world
    world.cluster.delete_topic(TOPIC)
    created = world.cluster.create_topic(TOPIC, world.partitions, configs=KEPT)
    world.topic = Topic(TOPIC, created.topic_id)


def test_the_offset_of_a_source_that_was_made_again_is_not_that_of_the_new_one() -> None:
    async def scene(application: Application) -> None:
        await application.process(*OLD[:10])
        await application.commit()
        assert await application.offset() == 10
        await application.process(*OLD[10:])
        # The client learns too late that there is another topic.
        silent = MetadataResponse(brokers=(), controller_id=-1, topics=())
        rule = application.world.cluster.faults.on(ApiKey.METADATA, answer(silent))
        commits = application.world.requests(ApiKey.OFFSET_COMMIT)
        await make_again(application)
        application.request_commit()
        await application.until(lambda: commits)
        assert await application.offset() is None, "whoever begins now would skip records of the new topic"
        application.world.cluster.faults.remove(rule)
        await application.produce(*NEW)
        await application.until_read(30)
        await application.commit()
        assert await application.written() == OLD + NEW
        assert await application.offset() == 30

    simulated(scene, is_exactly_once=False)


def test_a_worker_that_closes_does_not_wait_for_the_offsets_of_a_topic_that_is_gone() -> None:
    async def scene(application: Application) -> None:
        await application.process(*OLD)
        await make_again(application)
        begun_ms = application.clock.now_ms()
        await application.worker.close(timeout_s=30)
        assert application.clock.now_ms() - begun_ms < 10_000
        assert await application.offset() is None

    simulated(scene, is_exactly_once=False)


@pytest.mark.parametrize("is_exactly_once", [False, True])
def test_a_worker_that_closes_does_not_wait_for_a_source_that_was_deleted_for_good(is_exactly_once: bool) -> None:
    async def scene(application: Application) -> None:
        await application.process(*OLD)
        application.world.cluster.delete_topic(TOPIC)
        begun_ms = application.clock.now_ms()
        await application.worker.close(timeout_s=60)
        assert application.clock.now_ms() - begun_ms < 10_000
        assert await application.offset() is None
        application.is_clean = False  # it is closed

    simulated(scene, is_exactly_once=is_exactly_once)


def test_a_task_whose_source_was_deleted_for_good_is_given_up_soon(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(application: Application) -> None:
        await application.process(*OLD)
        application.world.cluster.delete_topic(TOPIC)
        application.member.revoke(TASK)
        begun_ms = application.clock.now_ms()
        await application.until(lambda: application.member.confirmed)
        assert application.clock.now_ms() - begun_ms < 10_000
        assert await application.written() == OLD

    simulated(scene, is_exactly_once=False)
    told = "The offsets of orders-0 are not committed, because their topics were deleted."
    assert [each.getMessage() for each in caplog.records].count(told) == 1


@pytest.mark.parametrize(("refused_s", "brokers_lag"), [(20, False), (1, True)])
def test_offsets_that_a_group_refuses_are_offered_again_if_the_topic_is_there_or_away_for_a_moment(
    refused_s: float, brokers_lag: bool
) -> None:
    async def scene(application: Application) -> None:
        cluster, topic = application.world.cluster, application.world.topic
        await application.process(*OLD)
        unknown = OffsetCommitResponsePartition(partition_index=0, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
        refused = OffsetCommitResponseTopic(topic_id=topic.topic_id, partitions=(unknown,))
        missing = MetadataResponseTopic(name=TOPIC, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        rules = [cluster.faults.on(ApiKey.OFFSET_COMMIT, answer(OffsetCommitResponse(topics=(refused,))))]
        if brokers_lag:
            lagging = MetadataResponse(brokers=(), controller_id=-1, topics=(missing,))
            rules.append(cluster.faults.on(ApiKey.METADATA, answer(lagging)))
            application.plane._client.refresh_metadata()
        for rule in rules:
            asyncio.get_running_loop().call_later(refused_s, cluster.faults.remove, rule)

        def is_committed() -> bool:
            application.request_commit()  # again and again, as the interval does
            return not any(each.is_dirty for each in application.worker.tasks.values())

        await application.until(is_committed)
        assert await application.offset() == len(OLD)

    simulated(scene, is_exactly_once=False)


@pytest.mark.parametrize("is_exactly_once", [False, True])
def test_a_task_that_begins_behind_records_that_were_lost_goes_on_where_its_log_differs(is_exactly_once: bool) -> None:
    async def scene(application: Application) -> None:
        cluster = application.world.cluster
        await application.process(*OLD[:10])
        leader = cluster.leader_of(TOPIC, 0)
        cluster.move_leader(TOPIC, 0, leader % 3 + 1)
        await application.process(*OLD[10:15])
        await application.process(*OLD[15:])  # a batch of its own, which is lost as a whole
        await application.commit()
        assert (await application.cluster.offsets(GROUP))[SOURCE].leader_epoch == 1
        application.member.revoke(TASK)
        await application.until(lambda: application.member.confirmed)
        cluster.elect_unclean_leader(TOPIC, 0, leader, end_offset=15)
        await application.produce(*NEW)
        application.member.assign(TASK)
        await application.until(lambda: application.worker.tasks and application.worker.is_running)
        await application.until_read(15 + len(NEW))
        await application.commit()
        assert await application.written() == OLD + NEW
        assert (await application.cluster.offsets(GROUP))[SOURCE].leader_epoch == 2

    simulated(scene, is_exactly_once=is_exactly_once, brokers=3)
