"""Requests that wait: notification, deadline, several keys, the broker's end."""

import asyncio

from kafka_groups.broker.runtime.scheduling.cooperative_yield import CooperativeYield
from kafka_groups.broker.runtime.scheduling.purgatory import Purgatory
from kafka_groups.testing.simulation import Simulation, run_simulated


async def always() -> bool:
    return True


async def never() -> bool:
    return False


def test_satisfied_request_does_not_wait() -> None:
    async def program(sim: Simulation) -> None:
        purgatory = Purgatory(sim.clock)
        assert await purgatory.wait(["a"], always, sim.clock.now_ms(), CooperativeYield())
        assert len(purgatory) == 0

    run_simulated(program, 1)


def test_deadline_ends_the_wait() -> None:
    async def program(sim: Simulation) -> None:
        purgatory, start_ms = Purgatory(sim.clock), sim.clock.now_ms()
        assert not await purgatory.wait(["a"], never, start_ms + 500, CooperativeYield())
        assert sim.clock.now_ms() - start_ms == 500
        assert not await purgatory.wait(["a"], never, start_ms, CooperativeYield())
        assert sim.clock.now_ms() - start_ms == 500
        assert len(purgatory) == 0

    run_simulated(program, 1)


def test_notification_of_any_key_lets_the_request_look_again() -> None:
    async def program(sim: Simulation) -> None:
        purgatory, start_ms = Purgatory(sim.clock), sim.clock.now_ms()
        looks: list[int] = []
        ready = False

        async def satisfied() -> bool:
            looks.append(sim.clock.now_ms() - start_ms)
            return ready

        waiting = asyncio.create_task(purgatory.wait(["a", "b"], satisfied, start_ms + 500, CooperativeYield()))
        await asyncio.sleep(0.1)
        purgatory.notify("c")
        purgatory.notify("a")
        purgatory.notify("b")
        await asyncio.sleep(0.1)
        ready = True
        purgatory.notify("b")
        assert await waiting
        assert looks == [0, 100, 200]
        assert len(purgatory) == 0

    run_simulated(program, 1)


def test_what_comes_at_the_deadline_still_counts() -> None:
    async def program(sim: Simulation) -> None:
        purgatory, start_ms = Purgatory(sim.clock), sim.clock.now_ms()

        async def satisfied() -> bool:
            return sim.clock.now_ms() >= start_ms + 500

        assert await purgatory.wait(["a"], satisfied, start_ms + 500, CooperativeYield())

    run_simulated(program, 1)


def test_waiters_are_woken_in_the_order_of_their_coming() -> None:
    async def program(sim: Simulation) -> None:
        purgatory, order = Purgatory(sim.clock), []
        ready = False

        async def is_ready() -> bool:
            return ready

        async def request(number: int) -> None:
            await purgatory.wait(["a"], is_ready, sim.clock.now_ms() + 500, CooperativeYield())
            order.append(number)

        tasks = [asyncio.create_task(request(number)) for number in range(20)]
        await asyncio.sleep(0)
        assert len(purgatory) == 20
        ready = True
        purgatory.notify("a")
        await asyncio.gather(*tasks)
        assert order == list(range(20))

    run_simulated(program, 1)


def test_cancelled_request_leaves_nothing_behind() -> None:
    async def program(sim: Simulation) -> None:
        purgatory = Purgatory(sim.clock)
        waiting = asyncio.create_task(purgatory.wait(["a"], never, sim.clock.now_ms() + 500, CooperativeYield()))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        assert len(purgatory) == 0
        purgatory.notify("a")

    run_simulated(program, 1)


def test_stopping_broker_lets_all_go() -> None:
    async def program(sim: Simulation) -> None:
        purgatory, start_ms = Purgatory(sim.clock), sim.clock.now_ms()
        waiting = asyncio.create_task(purgatory.wait(["a"], never, start_ms + 500, CooperativeYield()))
        await asyncio.sleep(0)
        purgatory.close()
        assert not await waiting
        assert not await purgatory.wait(["a"], never, start_ms + 500, CooperativeYield())
        assert sim.clock.now_ms() == start_ms

    run_simulated(program, 1)


def test_a_request_whose_look_takes_several_turns_misses_nothing() -> None:
    async def program(sim: Simulation) -> None:
        purgatory, turns, start_ms = Purgatory(sim.clock), CooperativeYield(), sim.clock.now_ms()
        changed = False

        async def satisfied() -> bool:
            seen = changed
            async for _item in turns.each(range(1_000)):
                pass
            return seen

        waiting = asyncio.create_task(purgatory.wait(range(5_000), satisfied, start_ms + 500, turns))
        await asyncio.sleep(0)
        changed = True  # nobody waits yet, so a notification wakes nobody
        assert not purgatory.notify(1)
        assert await waiting
        assert sim.clock.now_ms() == start_ms
        assert len(purgatory) == 0

    run_simulated(program, 1)
