"""Heartbeats of a streams group over TCP, each of which has the coordinator write records.

The cluster and the members share one event loop, and so one core.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from types import MappingProxyType
from typing import Final

from kafka_groups.broker.metadata.placement import GROUP_TOPIC
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.messages.streams_group_parts import KeyValue
from tests.benchmarks.coordination import Bench, a_bench, logs_of
from tests.benchmarks.measures import Say
from tests.support.members.streams_member import StreamsMember, described_streams
from tests.support.members.streams_topologies import sent, subtopology

__all__ = ["heartbeats"]

_SETTINGS: Mapping[str, object] = MappingProxyType({
    "group.streams.max.session.timeout.ms": 3_600_000,
    "group.streams.session.timeout.ms": 3_600_000,
    "group.streams.initial.rebalance.delay.ms": 0,
})  # fmt: skip
"""No member is to expire; the assignment interval is Kafka's."""
_TASKS_PER_MEMBER: Final = 4
_GROUP: Final = "group"


async def heartbeats(members: int, connections: int, count: int, say: Say) -> dict[str, dict[str, float]]:
    """Heartbeats a second of one group: without changes, and when each of them changes the tags of its member."""
    async with a_bench(settings=_SETTINGS, network=TcpNetwork()) as bench, AsyncExitStack() as stack:
        by_connection = await _joined(bench, stack, members, connections)
        figures = {}
        for name, changes in (("without changes", False), ("each writes records", True)):
            figures[name] = await _measured(bench, by_connection, count, changes=changes)
            say(f"{members} members of a streams group, {name}: {figures[name]['heartbeats/s']:,.0f} heartbeats/s")
        return figures


async def _measured(
    bench: Bench, by_connection: Sequence[Sequence[StreamsMember]], count: int, *, changes: bool
) -> dict[str, float]:
    each = count // len(by_connection)
    written, began, cpu_began = _written(bench), time.perf_counter(), time.process_time()
    await asyncio.gather(*(_beat(members, each, changes=changes) for members in by_connection))
    sent_count = each * len(by_connection)
    return {
        "heartbeats/s": sent_count / (time.perf_counter() - began),
        "heartbeats per s of CPU": sent_count / (time.process_time() - cpu_began),
        "records per heartbeat": (_written(bench) - written) / sent_count,
    }


async def _joined(bench: Bench, stack: AsyncExitStack, members: int, connections: int) -> list[list[StreamsMember]]:
    """A stable group, by connection."""
    topic = await bench.admin.create_topic(members * _TASKS_PER_MEMBER)
    await bench.admin.coordinator_of(_GROUP)
    clients = [await stack.enter_async_context(bench.client(1)) for _ in range(min(connections, members))]
    topology = sent(subtopology(sources=(topic.name,)))
    made = [StreamsMember(clients[number % len(clients)], _GROUP, f"member-{number}") for number in range(members)]
    for member in made:
        await member.join(topology)
    while (await described_streams(clients[0], _GROUP)).group_state != "Stable":
        for member in made:
            told = await member.beat()
            if told.active is not None:
                await member.beat(owned=told.active)
    return [[member for member in made if member.client is client] for client in clients]


async def _beat(members: Sequence[StreamsMember], count: int, *, changes: bool) -> None:
    for number in range(count):
        tags = (KeyValue(key="number", value=str(number)),) if changes else None
        told = await members[number % len(members)].beat(client_tags=tags)
        assert told.error == "NONE", told


def _written(bench: Bench) -> int:
    """How many records the coordinator has written."""
    return sum(log.high_watermark for log in logs_of(bench, GROUP_TOPIC))
