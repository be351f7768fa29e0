"""What classic groups on the embedded broker take: rebalances of many members, and commits of offsets."""

import asyncio
import statistics
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from types import MappingProxyType

from kafka_groups.broker.metadata.placement import GROUP_TOPIC
from tests.benchmarks.consumers import resident_bytes
from tests.benchmarks.coordination import Bench, a_bench, logs_of
from tests.benchmarks.measures import Say
from tests.support.cluster_client import Topic
from tests.support.members.classic_member import NONE, ClassicMember

SETTINGS: Mapping[str, object] = MappingProxyType({"group.initial.rebalance.delay.ms": 0})
_PER_CENT = 100
_MIB = 2**20


async def rebalance(members: int, say: Say) -> dict[str, float]:
    """Seconds from the last JoinGroup request of a round until every member has its assignment."""
    async with a_bench(settings=SETTINGS) as bench, AsyncExitStack() as stack:
        await bench.admin.coordinator_of("group")
        clients = [await stack.enter_async_context(bench.client(1)) for _ in range(members)]
        joined = [ClassicMember(client, "group", f"instance-{number}") for number, client in enumerate(clients)]
        await asyncio.gather(*(member.join() for member in joined))
        rounds = [asyncio.create_task(member.join()) for member in joined[1:]]
        await asyncio.sleep(0.1)
        began = time.perf_counter()
        await asyncio.gather(joined[0].join(), *rounds)
        assignments = {member.member_id: bytes(100) for member in joined}
        answers = await asyncio.gather(*(each.sync(assignments if each.leads else None) for each in joined))
        seconds = time.perf_counter() - began
        assert {error for error, _ in answers} == {NONE}
        say(f"{members} members: {seconds * 1000:.0f} ms after the last JoinGroup")
        return {"members": members, "seconds": seconds}


async def paced_commits(seconds: float, rate: int, say: Say) -> dict[str, float]:
    """Commits at a fixed rate: how long they take, counted from when they were due, and the share of one core."""
    async with a_bench(settings=SETTINGS) as bench, AsyncExitStack() as stack:
        topic, member = await _committing(bench, stack)
        loop = asyncio.get_running_loop()
        waited_s, began, cpu_began = list[float](), loop.time(), time.process_time()
        for number in range(round(seconds * rate)):
            due = began + number / rate
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            assert await member.commit(topic, number) == NONE
            waited_s.append(loop.time() - due)
        cpu = (time.process_time() - cpu_began) / (loop.time() - began)
        p99_ms = statistics.quantiles(waited_s, n=_PER_CENT)[-1] * 1000
        say(f"{rate} commits a second for {seconds:.0f} s: p99 {p99_ms:.1f} ms, {cpu:.0%} of a core")
        return {"rate": rate, "seconds": seconds, "p99_ms": p99_ms, "cpu": cpu}


async def many_commits(commits: int, say: Say) -> list[dict[str, float]]:
    """Commits one after the other: the log and the memory after a tenth of them, and after all."""
    async with a_bench(settings=SETTINGS) as bench, AsyncExitStack() as stack:
        topic, member = await _committing(bench, stack)
        figures, began = [], time.perf_counter()
        for number in range(1, commits + 1):
            assert await member.commit(topic, number) == NONE
            if number in {commits // 10, commits}:
                log_bytes = sum(log.size_bytes for log in logs_of(bench, GROUP_TOPIC))
                rate = number / (time.perf_counter() - began)
                figures.append({"commits": number, "log_bytes": log_bytes, "resident": resident_bytes(), "rate": rate})
                say(f"{number:,} commits: {rate:,.0f}/s, log {log_bytes:,} bytes, {resident_bytes() / _MIB:.1f} MiB")
        return figures


async def _committing(bench: Bench, stack: AsyncExitStack) -> tuple[Topic, ClassicMember]:
    topic = await bench.admin.create_topic(1)
    await bench.admin.coordinator_of("group")
    member = ClassicMember(await stack.enter_async_context(bench.client(1)), "group")
    return topic, member


def _rebalance(fraction: float, say: Say) -> Coroutine[None, None, object]:
    return rebalance(max(2, round(100 * fraction)), say)


def _paced_commits(fraction: float, say: Say) -> Coroutine[None, None, object]:
    return paced_commits(max(0.2, 60 * fraction), 1_000, say)


def _many_commits(fraction: float, say: Say) -> Coroutine[None, None, object]:
    return many_commits(round(1_000_000 * fraction), say)


CLASSIC: Mapping[str, Callable[[float, Say], Coroutine[None, None, object]]] = MappingProxyType({
    "rebalance": _rebalance, "paced commits": _paced_commits, "many commits": _many_commits,
})  # fmt: skip
"""Each part, by name: it takes a fraction of its full extent."""
