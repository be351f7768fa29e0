"""Streams groups whose coordinator dies (KIP-1071): records survive, and what is only in memory does not."""

from contextlib import suppress

from attrs import evolve

from kafka_groups.errors import NetworkError
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeResponseGroup
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.streams_member import StreamsBeat, StreamsMember, described_streams
from tests.support.members.streams_topologies import sent, subtopology
from tests.support.three_brokers import Trio

A, B = "A" * 22, "B" * 22


async def described(trio: Trio, group_id: str) -> StreamsGroupDescribeResponseGroup:
    """The group, as soon as its coordinator has loaded it."""

    async def ask() -> StreamsGroupDescribeResponseGroup | None:
        coordinator = await trio.client().coordinator_of(group_id)
        with suppress(NetworkError):  # a real Kafka may still name the broker that is gone
            return await described_streams(coordinator, group_id)
        return None

    group = await until(ask, lambda it: it is not None and it.error_code.name == "NONE", 30)
    assert group is not None
    return group


async def joined(trio: Trio, group_id: str, topic: Topic, member_id: str, instance: str | None = None) -> StreamsMember:
    """A member with tasks."""
    topology = sent(subtopology("0", sources=(topic.name,)))
    member = StreamsMember(await trio.client().coordinator_of(group_id), group_id, member_id, instance)

    async def join() -> StreamsBeat:
        return await member.join(topology)

    beat = await until(join, lambda it: bool(it.active))
    await member.beat(owned=beat.active)
    return member


async def test_a_group_survives_its_coordinator(trio: Trio) -> None:
    topic, group_id = await trio.client().create_topic(4, replicas=3), unique("app")
    await trio.client().coordinator_of(group_id)
    names = {"streams.initial.rebalance.delay.ms": "0", "streams.assignment.interval.ms": "0"}
    await trio.client().set_group_config(group_id, names)
    member = await joined(trio, group_id, topic, A, "i")
    await member.commit(topic.name, 0, offset=7)
    await member.beat(shutdown_application=True)
    before = await described(trio, group_id)

    killed = await trio.coordinator_of(group_id)
    await trio.kill(killed)
    after = await described(trio, group_id)
    assert evolve(after, topology=None) == evolve(before, topology=None)
    member.client = await trio.client().coordinator_of(group_id)
    beat = await member.beat()
    assert (beat.error, beat.epoch, beat.active) == ("NONE", before.group_epoch, None)
    assert beat.statuses == (), "the request to shut down was lost"
    assert await member.commit(topic.name, 0, offset=8) == "NONE"
    await trio.restart(killed)
