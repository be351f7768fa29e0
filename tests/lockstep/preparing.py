"""The state in which each run begins: topics, configs, and for share groups all partitions loaded."""

import asyncio
from collections.abc import Mapping

from kafka_groups.broker.profile import Profile
from kafka_groups.protocol.error_codes import ErrorCode
from tests.lockstep.choosing import TOPICS
from tests.lockstep.side import Side, Sides
from tests.lockstep.steps import GROUP, LEAVE, Fetch, Heartbeat
from tests.lockstep.topic_ids import next_topic_id
from tests.support.conditions import until
from tests.support.members.raw_member import Limits
from tests.support.targets import GROUP_DEFAULTS

ANCHOR = "anchor"
"""Holds a session on all partitions, since a broker forgets a group's share-partitions with its last session."""

_LOADING_MS = 200


async def prepare(sides: Sides, profile: Profile, *, loaded: bool = True) -> None:
    """Create the topics and the group on both clusters; without `loaded`, nobody has joined or fetched yet."""
    await asyncio.gather(*(_create(side, profile) for side in sides))
    if loaded:
        await asyncio.gather(*(_load(side) for side in sides))


async def prepare_alike(sides: Sides, topics: Mapping[str, int], configs: Mapping[str, str], at_once: str) -> None:
    """Create topics with the same ids on both sides, and configure the group.

    Args:
        sides: Both clusters.
        topics: The numbers of partitions.
        configs: The configs of the group.
        at_once: A config of the real Kafka's group, for whether assignors have a thread of their own. It is switched
            off, as the embedded broker has none.
    """
    for name, partitions in topics.items():
        await sides.real.create_topic(name, partitions)
        with next_topic_id(sides.real.topic_id(name)):
            await sides.embedded.create_topic(name, partitions)
    await _configure(sides.real, {**configs, at_once: "false"})
    await _configure(sides.embedded, configs)


async def _configure(side: Side, configs: Mapping[str, str]) -> None:
    await side.cluster.coordinator_of(side.group_id(GROUP))
    await side.cluster.set_group_config(side.group_id(GROUP), configs)


async def _create(side: Side, profile: Profile) -> None:
    for name, partitions in TOPICS.items():
        await side.create_topic(name, partitions)
    await _configure(side, {name: value for name, value in GROUP_DEFAULTS.items() if profile.has_group_key(name)})


async def _load(side: Side) -> None:
    await _initialise(side)
    places = tuple((name, partition) for name, count in TOPICS.items() for partition in range(count))
    opening = Fetch(by=ANCHOR, epoch=0, places=places, limits=Limits(max_wait_ms=_LOADING_MS))
    response = await side.client(ANCHOR).ask(opening.request(side))
    assert response.error_code is ErrorCode.NONE, response


async def _initialise(side: Side) -> None:
    wanted = sum(TOPICS.values())

    async def beat() -> int:
        heartbeat = Heartbeat(by=ANCHOR, topics=tuple(TOPICS))
        response = await side.client(ANCHOR).ask(heartbeat.request(side))
        heartbeat.note(side, response)
        return sum(len(topic.partitions) for topic in response.assignment.topic_partitions)

    await until(beat, lambda assigned: assigned == wanted)
    leave = Heartbeat(by=ANCHOR, epoch=LEAVE)
    leave.note(side, await side.client(ANCHOR).ask(leave.request(side)))
