"""A leader that moves: the new one delivers what the worker still runs, and counts deliveries from 1 again."""

import asyncio

import pytest

from kafka_groups import Retry
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import WorkerWorld, has, reach, simulate

_WORK_S = 8.0


async def work_on(seconds: float) -> None:
    """Take some time, and ignore being cancelled, as a thread does."""
    end = asyncio.get_running_loop().time() + seconds
    while (left := end - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


@pytest.mark.parametrize("is_other", [True, False])
def test_a_record_that_the_next_leader_delivers_has_no_second_handler(is_other: bool) -> None:
    """The next leader may be the same broker, with another epoch."""

    async def program(world: WorkerWorld) -> None:
        running, most, ended = 0, 0, 0
        has_started = asyncio.Event()
        worker = world.worker()

        @worker.handler(TOPIC)
        async def handle(value: bytes) -> None:
            nonlocal running, most, ended
            running += 1
            most = max(most, running)
            has_started.set()
            await work_on(_WORK_S)
            running -= 1
            ended += 1

        await world.produce([b"slow"])
        async with world.running(worker):
            await has_started.wait()
            leader = world.cluster.leader_of(TOPIC, 0)
            world.cluster.move_leader(TOPIC, 0, 3 - leader if is_other else leader)
            await asyncio.sleep(3 * _WORK_S)
        assert most == 1
        assert ended

    simulate(program, partitions=1, brokers=2)


def test_a_record_comes_again_although_the_lock_of_what_the_next_leader_delivered_is_lost_too() -> None:
    """The earlier delivery is not renewed: the member would hold a record that no handler of it knows."""

    async def program(world: WorkerWorld) -> None:
        calls: list[bytes] = []
        worker = world.worker()

        @worker.handler(TOPIC)
        async def handle(value: bytes) -> None:
            calls.append(value)
            if len(calls) < 3:
                raise Retry("busy", after=300)

        await world.produce([b"a"])
        async with world.running(worker) as runtime:
            await reach(lambda: calls)
            world.cluster.move_leader(TOPIC, 0, world.cluster.leader_of(TOPIC, 0))
            await reach(lambda: has(calls, 2))
            driver = runtime._running[0].driver
            driver._lost(driver._hooks.inbox.in_hand[-1], world.clock.now_ms())
            await reach(lambda: has(calls, 3), 120)
            await reach(lambda: driver._hooks.inbox.in_hand == ())

    simulate(program, partitions=1, brokers=1)
