"""What the coordinators of the embedded broker take: heartbeats, idle groups, loading, and a long run.

Everything runs on one event loop, through the codecs and a network in memory.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import MappingProxyType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.log.internal_log import InternalLog
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, SHARE_STATE_TOPIC, partition_of_key
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import Network
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.types import AcknowledgeType
from tests.benchmarks.consumers import resident_bytes
from tests.benchmarks.measures import Say
from tests.benchmarks.topics import PARTITIONS
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.conditions import until
from tests.support.members.consumer_member import ConsumerMember, described
from tests.support.members.raw_member import Acknowledgement, Limits, RawMember, Run
from tests.support.requests.raw_client import RawClient

T = TypeVar("T")

SETTINGS: Mapping[str, object] = MappingProxyType({
    "group.share.max.size": 1_000,
    "group.share.max.session.timeout.ms": 3_600_000,
    "group.share.session.timeout.ms": 3_600_000,
    "group.share.assignment.interval.ms": 0,
    "group.consumer.max.session.timeout.ms": 3_600_000,
    "group.consumer.session.timeout.ms": 3_600_000,
    "group.consumer.assignment.interval.ms": 0,
})  # fmt: skip
"""No member is to expire while something else is measured."""


INTERNAL_TOPICS = (GROUP_TOPIC, SHARE_STATE_TOPIC)
_BATCH = 1_000
_SOAK_MEMBERS = 50
_RELEASED = 50
"""Of each hundred records, the one that is released when it is delivered first."""
_ACCEPT, _RELEASE = (AcknowledgeType.ACCEPT,), (AcknowledgeType.RELEASE,)
_FETCHES = Limits(max_records=2_000)


@frozen
class Bench:
    """A cluster in this process, and a way to ask it."""

    cluster: EmbeddedCluster
    network: Network
    admin: ClusterClient

    def client(self, node_id: int) -> RawClient:
        """A connection to a broker."""
        endpoint = self.cluster.metadata.brokers[node_id]
        return RawClient(self.network, endpoint.host, endpoint.port)


@asynccontextmanager
async def a_bench(
    brokers: int = 1, settings: Mapping[str, object] = MappingProxyType({}), network: Network | None = None
) -> AsyncIterator[Bench]:
    """A cluster, in memory unless another network is given."""
    network = network or MemoryNetwork()
    async with EmbeddedCluster(brokers, network=network, settings={**SETTINGS, **settings}) as cluster:
        address = urlsplit("//" + cluster.bootstrap_servers.partition(",")[0])
        assert address.hostname is not None
        assert address.port is not None
        admin = ClusterClient(network, address.hostname, address.port)
        try:
            yield Bench(cluster, network, admin)
        finally:
            await admin.close()


# ------------------------------------------------------------------------------------------- heartbeats


async def heartbeats(members: int, count: int, say: Say) -> dict[str, float]:
    """Heartbeats a second of one group: without changes, and with a changed subscription every tenth time."""
    async with a_bench() as bench, AsyncExitStack() as stack:
        topics = [await bench.admin.create_topic(8, name=name) for name in ("first", "second")]
        await bench.admin.coordinator_of("group")
        client = await stack.enter_async_context(bench.client(1))
        joined = [RawMember(client, "group", topics[0]) for _ in range(members)]
        for member in joined:
            await member.join()
        for member in joined:
            await member.heartbeat()
        figures = {}
        for name, every in (("without changes", 0), ("a change every tenth", 10)):
            figures[name] = count / await _beat(joined, count, every)
            say(f"{members} members, {name}: {figures[name]:,.0f} heartbeats/s")
        return figures


async def _beat(
    members: Sequence[RawMember], count: int, change_every: int = 0, topics: tuple[str, str] = ("first", "second")
) -> float:
    subscriptions = (topics[:1], topics)
    began = time.perf_counter()
    for number in range(count):
        member = members[number % len(members)]
        changes = change_every and number % change_every == 0
        response = await member.heartbeat(topics=subscriptions[number // change_every % 2] if changes else None)
        assert response.error_code is ErrorCode.NONE, response
    return time.perf_counter() - began


async def consumer_heartbeats(members: int, count: int, say: Say) -> dict[str, float]:
    """Heartbeats a second of one stable consumer group, and how long its members take to share the partitions."""
    async with a_bench() as bench, AsyncExitStack() as stack:
        topic = await bench.admin.create_topic(2 * members)
        await bench.admin.coordinator_of("group")
        client = await stack.enter_async_context(bench.client(1))
        joined = [ConsumerMember(client, "group", f"member-{number}", (topic,)) for number in range(members)]
        began = time.perf_counter()
        for member in joined:
            await member.join(topic.name)
        while (await described(client, "group")).group_state != "Stable":
            for member in joined:
                told = await member.beat()
                if told.assignment is not None:
                    await member.beat(owned=told.assignment)
        figures = {"balanced after s": time.perf_counter() - began}
        began = time.perf_counter()
        for number in range(count):
            beat = await joined[number % members].beat()
            assert beat.error == "NONE", beat
        figures["heartbeats/s"] = count / (time.perf_counter() - began)
        say(f"{members} members of a consumer group: {figures['heartbeats/s']:,.0f} heartbeats/s")
        return figures


# ------------------------------------------------------------------------------------------- idle groups


async def idle_groups(counts: Sequence[int], say: Say) -> list[dict[str, float]]:
    """What so many groups of one member take: joining, a round of heartbeats, resident memory."""
    return [await _idle(count, say) for count in counts]


async def _idle(count: int, say: Say) -> dict[str, float]:
    async with a_bench() as bench, AsyncExitStack() as stack:
        topic = await bench.admin.create_topic(2)
        await bench.admin.coordinator_of("group")
        client = await stack.enter_async_context(bench.client(1))
        before_bytes = resident_bytes()
        members = [RawMember(client, f"group-{number}", topic) for number in range(count)]
        began = time.perf_counter()
        for member in members:
            await member.join()
            await member.heartbeat()
        joined_s = time.perf_counter() - began
        round_s = await _beat(members, count)
        kib = (resident_bytes() - before_bytes) / count / 1024
        say(f"{count} groups: {joined_s:.2f} s to join, {round_s:.2f} s a round, {kib:.1f} KiB each")
        return {"groups": count, "join_s": joined_s, "round_s": round_s, "kib_per_group": kib}


# ----------------------------------------------------------------------------------------------- loading


async def loading(records: int, say: Say) -> dict[str, float]:
    """Move a partition with so many records to another broker: how long it loads, and the loop's longest pause."""
    settings = {"offsets.topic.num.partitions": 2, "offsets.topic.replication.factor": 2}
    async with a_bench(2, settings) as bench, AsyncExitStack() as stack:
        topic = await bench.admin.create_topic(2)
        await bench.admin.coordinator_of("group")
        for partition in (0, 1):
            bench.cluster.move_leader(GROUP_TOPIC, partition, 1)
        clients = {node: await stack.enter_async_context(bench.client(node)) for node in (1, 2)}
        moved, other = await _fill(bench, clients[1], topic, records)
        pauses, latencies = asyncio.create_task(_pauses()), asyncio.create_task(_latencies(other))
        bench.cluster.move_leader(GROUP_TOPIC, 0, 2)
        began = time.perf_counter()
        moved.client = clients[2]
        await until(moved.heartbeat, lambda it: it.error_code is ErrorCode.NONE, 60)
        load_s = time.perf_counter() - began
        figures = {"records": _count(bench, 0), "load_s": load_s, **await _ended(pauses)}
        figures["other_groups_slowest_heartbeat_ms"] = await _ended(latencies)
        say(str(figures))
        return figures


async def _fill(bench: Bench, client: RawClient, topic: Topic, records: int) -> tuple[RawMember, RawMember]:
    """Groups until partition 0 has so many records; the last of them, and one of partition 1."""
    other, number = None, 0
    while other is None or _count(bench, 0) < records:
        group_id = f"group-{number}"
        number += 1
        partition = partition_of_key(group_id, 2)
        if partition == 1 and other is not None:
            continue
        member = RawMember(client, group_id, topic)
        await member.join()
        await member.heartbeat()
        if partition == 1:
            other = member
        else:
            last = member
    return last, other


def _count(bench: Bench, partition: int) -> int:
    return logs_of(bench, GROUP_TOPIC)[partition].record_count


def logs_of(bench: Bench, name: str) -> list[InternalLog[Any]]:
    topic = bench.cluster.metadata.topic(name)
    assert topic is not None
    logs = [bench.cluster._core.parts.logs.get(topic.topic_id, each.partition) for each in topic.partitions]
    return [log for log in logs if isinstance(log, InternalLog)]


# -------------------------------------------------------------------------------------------- a long run


async def soak(records: int, beats: int, say: Say) -> dict[str, float]:
    """Acknowledge so many records and change subscriptions: sizes of the internal logs, and how long they load."""
    async with a_bench() as bench, AsyncExitStack() as stack:
        topic = await bench.admin.create_topic(PARTITIONS)
        await bench.admin.create_topic(PARTITIONS, name="other")
        await bench.admin.set_group_config("group", {"share.auto.offset.reset": "earliest"})
        await bench.admin.coordinator_of("group")
        client = await stack.enter_async_context(bench.client(1))
        acknowledged_s = await _acknowledge(bench, RawMember(client, "group", topic), records)
        say(f"{records:,} records in {acknowledged_s:.0f} s")
        members = [RawMember(client, "beats", topic) for _ in range(_SOAK_MEMBERS)]
        for member in members:
            await member.join()
        seconds = await _beat(members, beats, 10, (topic.name, "other"))
        figures = {"records": records, "heartbeats": beats, "heartbeats_per_s": beats / seconds}
        figures |= {f"{name}_bytes": sum(log.size_bytes for log in logs_of(bench, name)) for name in INTERNAL_TOPICS}
        figures["load_s"] = await _restarted(bench, topic, members[0])
        say(str(figures))
        return figures


async def _acknowledge(bench: Bench, member: RawMember, records: int) -> float:
    """Accept so many records, one in a hundred with its second delivery."""
    await member.join_and_wait(range(PARTITIONS))
    batch = build_batch([NewRecord(b"x")] * _BATCH)
    began, written, accepted = time.perf_counter(), 0, 0
    acknowledgements: tuple[Acknowledgement, ...] = ()
    while accepted < records:
        if written < min(records, accepted + 20 * _BATCH):
            await bench.admin.produce_raw(member.topic, batch, written // _BATCH % PARTITIONS)
            written += _BATCH
        acquired = await member.fetch(_FETCHES, *acknowledgements, partitions=range(PARTITIONS))
        acknowledgements = tuple(each for run in acquired.runs for each in _acknowledgements(run))
        accepted += sum(each.last - each.first + 1 for each in acknowledgements if each.kinds == _ACCEPT)
    await member.settle(*acknowledgements)
    progress = await bench.admin.progress("group", member.topic)
    assert sum(each.lag for each in progress.values()) == 0, progress
    return time.perf_counter() - began


def _acknowledgements(run: Run) -> Iterator[Acknowledgement]:
    first = run.first
    for released in range(run.first, run.last + 1) if run.delivery_count == 1 else ():
        if released % 100 == _RELEASED:
            if released > first:
                yield Acknowledgement(first, released - 1, _ACCEPT, run.partition)
            yield Acknowledgement(released, released, _RELEASE, run.partition)
            first = released + 1
    if first <= run.last:
        yield Acknowledgement(first, run.last, _ACCEPT, run.partition)


async def _restarted(bench: Bench, topic: Topic, member: RawMember) -> float:
    """Seconds from the start of the broker until it answers for both kinds of groups' state."""
    await bench.cluster.stop_broker_async(1)
    began = time.perf_counter()
    await bench.cluster.start_broker_async(1)
    member.client = bench.client(1)
    async with member.client:
        await until(member.heartbeat, lambda it: it.error_code is ErrorCode.NONE)
        await bench.admin.close()
        await until(lambda: bench.admin.progress("group", topic), lambda it: len(it) == PARTITIONS)
        return time.perf_counter() - began


class _Collector:
    """Counts the time that Python's garbage collector takes: it grows with the whole heap, the clients' included."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0

    def __enter__(self) -> Self:
        gc.callbacks.append(self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, _info: object) -> None:
        now = time.perf_counter()
        if phase == "stop":
            self.seconds += now - self._began
        self._began = now


async def _pauses() -> dict[str, float]:
    """The longest time between two turns of the loop, until it is cancelled; without and with garbage collection."""
    longest_s = {"own": 0.0, "with_collector": 0.0}
    with _Collector() as collector, suppress(asyncio.CancelledError):
        while True:
            began, collected = time.perf_counter(), collector.seconds
            await asyncio.sleep(0)
            pause = time.perf_counter() - began
            longest_s["with_collector"] = max(longest_s["with_collector"], pause)
            longest_s["own"] = max(longest_s["own"], pause - (collector.seconds - collected))
    return {f"longest_pause_ms_{name}": seconds * 1000 for name, seconds in longest_s.items()}


async def _latencies(member: RawMember) -> float:
    """The slowest heartbeat of a member, in milliseconds, until it is cancelled."""
    slowest_s = 0.0
    with suppress(asyncio.CancelledError):
        while True:
            began = time.perf_counter()
            response = await member.heartbeat()
            assert response.error_code is ErrorCode.NONE, response
            slowest_s = max(slowest_s, time.perf_counter() - began)
    return slowest_s * 1000


async def _ended(task: "asyncio.Task[T]") -> T:
    task.cancel()
    return await task


def _heartbeats(fraction: float, say: Say) -> Coroutine[Any, Any, object]:
    return heartbeats(500, round(50_000 * fraction), say)


def _consumer_heartbeats(fraction: float, say: Say) -> Coroutine[Any, Any, object]:
    return consumer_heartbeats(max(2, round(200 * fraction)), round(50_000 * fraction), say)


def _idle_groups(fraction: float, say: Say) -> Coroutine[Any, Any, object]:
    return idle_groups([round(count * fraction) for count in (100, 1_000, 10_000)], say)


def _loading(fraction: float, say: Say) -> Coroutine[Any, Any, object]:
    return loading(round(100_000 * fraction), say)


def _soak(fraction: float, say: Say) -> Coroutine[Any, Any, object]:
    return soak(round(10_000_000 * fraction), round(1_000_000 * fraction), say)


COORDINATION: Mapping[str, Callable[[float, Say], Coroutine[Any, Any, object]]] = MappingProxyType({
    "heartbeats": _heartbeats, "consumer heartbeats": _consumer_heartbeats,
    "idle groups": _idle_groups, "loading": _loading, "soak": _soak,
})  # fmt: skip
"""Each part, by name: it takes a fraction of its full extent."""
