"""Commits at least once of a worker whose records our own engine reads, on the embedded cluster in virtual time."""

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.metadata import MetadataResponse
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
