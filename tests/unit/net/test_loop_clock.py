"""Time without stalls: what counts, and timeouts that stalls move."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from kafka_groups.net.loop_clock import READING_MS, LoopClock, is_late, timeout_on
from kafka_groups.testing.clock import ManualClock
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.testing.simulation.virtual_time import VirtualTimeLoop


class TestLoopClock:
    def test_a_loop_that_runs_is_never_behind(self) -> None:
        clock = ManualClock()
        loop_clock = LoopClock(clock)
        for _ in range(100):
            clock.advance(loop_clock.pulse_ms)
            assert loop_clock.now_ms() == clock.now_ms()
            loop_clock.loop_runs()
        assert loop_clock.stalled_ms == 0

    def test_a_stall_counts_as_one_step_while_it_lasts_and_afterwards(self) -> None:
        clock = ManualClock(0)
        loop_clock = LoopClock(clock, 1_000)
        clock.advance(40_000)
        assert (loop_clock.now_ms(), loop_clock.stalled_ms) == (1_000, 39_000)
        clock.advance(1_000)
        assert (loop_clock.now_ms(), loop_clock.stalled_ms) == (1_000, 40_000)
        loop_clock.loop_runs()
        clock.advance(500)
        assert (loop_clock.now_ms(), loop_clock.stalled_ms) == (1_500, 40_000)

    def test_code_that_blocks_the_loop_may_read_the_time_without_an_effect(self) -> None:
        clock = ManualClock(0)
        loop_clock = LoopClock(clock, 1_000)
        for _ in range(400):
            clock.advance(100)
            loop_clock.now_ms()
        assert loop_clock.now_ms() == 1_000

    def test_a_loop_that_is_blocked_again_and_again_reaches_its_deadlines(self) -> None:
        clock = ManualClock(0)
        loop_clock = LoopClock(clock, 1_000)
        for _ in range(30):
            clock.advance(40_000)
            loop_clock.loop_runs()
        assert loop_clock.now_ms() == 30_000

    def test_time_never_runs_backwards(self) -> None:
        clock = ManualClock(0)
        loop_clock = LoopClock(clock, 1_000)
        seen = []
        for step_ms in (10, 999, 1_001, 40_000, 0, 1_000, 5):
            clock.advance(step_ms)
            seen.append(loop_clock.now_ms())
            loop_clock.loop_runs()
            seen.append(loop_clock.now_ms())
        assert seen == sorted(seen)

    def test_the_time_of_day_is_that_of_the_clock(self) -> None:
        clock = ManualClock()
        loop_clock = LoopClock(clock)
        clock.advance(40_000)
        assert loop_clock.wall_ms() == clock.wall_ms()


def simulate(program: Callable[[Simulation], Any]) -> None:
    run_simulated(program, 1, limit_s=600)


def block(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    loop.block(seconds)


async def lasts(clock: LoopClock | None, timeout_ms: int, *blocked_s: float) -> float:
    """Wait in a timeout during which the loop is blocked each second; return how many seconds it took."""
    loop = asyncio.get_running_loop()
    begin_s = loop.time()
    with pytest.raises(TimeoutError):
        await _wait_in(timeout_on(clock, timeout_ms), *blocked_s)
    return loop.time() - begin_s


async def _wait_in(limit: AbstractAsyncContextManager[Any], *blocked_s: float) -> None:
    async with limit:
        for seconds in blocked_s:
            await asyncio.sleep(1)
            block(seconds)
        await asyncio.get_running_loop().create_future()


class TestTimeout:
    def test_without_a_loop_clock_it_is_an_ordinary_one(self) -> None:
        async def program(_simulation: Simulation) -> None:
            assert isinstance(timeout_on(None, 5_000), asyncio.Timeout)
            assert await lasts(None, 5_000) == pytest.approx(5)
            assert await lasts(None, 5_000, 40) == pytest.approx(41)

        simulate(program)

    def test_stalls_move_its_end(self) -> None:
        async def program(simulation: Simulation) -> None:
            pulse = asyncio.create_task(_pulse(clock := LoopClock(simulation.clock)))
            assert await lasts(clock, 5_000) == pytest.approx(5)
            assert 43.5 <= await lasts(clock, 5_000, 40) <= 45
            assert 83 <= await lasts(clock, 5_000, 40, 40) <= 85
            pulse.cancel()

        simulate(program)

    def test_an_end_in_a_stall_leaves_time_to_read_once(self) -> None:
        async def program(simulation: Simulation) -> None:
            pulse = asyncio.create_task(_pulse(clock := LoopClock(simulation.clock)))
            assert await lasts(clock, 1_200, 40) == pytest.approx(1 + 40 + READING_MS / 1000, abs=0.01)
            assert await lasts(clock, 1_200, 40, 40) <= 1 + 40 + 1 + 40
            pulse.cancel()

        simulate(program)

    def test_what_ends_in_time_raises_nothing_and_leaves_no_timer(self) -> None:
        async def program(simulation: Simulation) -> None:
            clock = LoopClock(simulation.clock)
            async with timeout_on(clock, 5_000):
                await asyncio.sleep(1)
            await asyncio.sleep(10)

        simulate(program)


async def _pulse(clock: LoopClock) -> None:
    while True:
        clock.loop_runs()
        await asyncio.sleep(clock.pulse_ms / 1000)


def test_a_timer_that_runs_when_it_is_due_is_not_late() -> None:
    async def program(_simulation: Simulation) -> None:
        loop = asyncio.get_running_loop()
        found = []
        for due_s in (1, 2):
            when_s = loop.time() + due_s
            loop.call_at(when_s, lambda when_s: found.append(is_late(when_s * 1000)), when_s)
        await asyncio.sleep(1.5)
        block(5)
        await asyncio.sleep(1)
        assert found == [False, True]

    simulate(program)
