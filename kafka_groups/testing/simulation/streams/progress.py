"""Tells when a simulated application has processed and committed everything."""

import asyncio
from collections.abc import Collection

from kafka_groups.admin.aio import AsyncKafkaAdmin
from kafka_groups.admin.rules.group_offsets import fetch_all_question
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.testing.simulation.checks.visible import visible_offsets
from kafka_groups.testing.simulation.world import SimulatedWorld
from kafka_groups.types import TopicPartition

__all__ = ["ApplicationProgress"]

_LOOK_S = 1.0
_ASK_S = 5.0
_CALM_LOOKS = 3
"""The looks in a row that have to find nothing, as one record may cause others in repartition topics."""


class ApplicationProgress:
    """Looks at what an application has still to do.

    Args:
        world: Where it lives.
        application_id: The application.
        topics: The topics that it reads, with its repartition topics.
    """

    def __init__(self, world: SimulatedWorld, application_id: str, topics: Collection[str]) -> None:
        self._world = world
        self._group_id = application_id
        self._topics = topics

    async def until_done(self, within_s: float) -> list[str]:
        """Wait until everything is committed. Return what is not after so many virtual seconds."""
        loop = asyncio.get_running_loop()
        end_s, calm = loop.time() + within_s, 0
        while True:
            unfinished = await self._unfinished()
            calm = 0 if unfinished else calm + 1
            if calm >= _CALM_LOOKS or loop.time() >= end_s:
                return unfinished
            await asyncio.sleep(_LOOK_S)

    async def _unfinished(self) -> list[str]:
        try:
            committed = await self._committed()
        except KafkaGroupsError as error:
            return [f"the committed offsets are not known: {error}"]
        return [text for topic in self._topics for text in self._behind(topic, committed)]

    async def _committed(self) -> dict[TopicPartition, int]:
        servers = self._world.cluster.bootstrap_servers
        async with AsyncKafkaAdmin(bootstrap_servers=servers, environment=self._world.environment()) as admin:
            # A streams group or a classic one, so nothing is asked that only one of them has.
            found = await admin._within(_ASK_S)(fetch_all_question([self._group_id]))
        known = found[self._group_id].checked().values
        return {place: each.offset for place, each in known.items() if each is not None}

    def _behind(self, topic: str, committed: dict[TopicPartition, int]) -> list[str]:
        known = self._world.cluster.metadata.topic(topic)
        if known is None:
            return [f"there is no topic {topic} yet"]
        found = []
        for led in known.partitions:
            log = self._world.cluster.logs.get(known.topic_id, led.partition)
            position = max(committed.get(TopicPartition(topic, led.partition), 0), log.log_start_offset)
            is_open = log.last_stable_offset < log.high_watermark
            if is_open or any(True for _ in visible_offsets(log, position, is_committed_only=True)):
                found.append(f"{topic}-{led.partition} is processed to {position} of {log.high_watermark}")
        return found
