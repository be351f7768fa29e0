"""The virtual-time loop: it jumps, it is deterministic, and it fails loudly."""

import asyncio
import itertools
import time
from functools import partial

import pytest

from kafka_groups.errors import IllegalStateError
from kafka_groups.testing.clock import WALL_START_MS, ManualClock
from kafka_groups.testing.simulation import (
    Simulation,
    SimulationDeadlockError,
    SimulationTimeLimitError,
    run_simulated,
    virtual_time,
)
from kafka_groups.testing.simulation.virtual_time import VirtualTimeLoop


def test_time_jumps_to_the_next_timer() -> None:
    async def program(sim: Simulation) -> tuple[int, int]:
        start_ms = sim.clock.now_ms()
        await asyncio.sleep(3600)
        return sim.clock.now_ms() - start_ms, sim.clock.wall_ms() - WALL_START_MS

    started = time.perf_counter()
    assert run_simulated(program, 1) == (3_600_000, 3_600_000)
    assert time.perf_counter() - started < 5


def test_timers_run_at_their_time_and_in_its_order() -> None:
    async def program(sim: Simulation) -> list[tuple[str, int]]:
        seen: list[tuple[str, int]] = []
        start_ms = sim.clock.now_ms()

        def see(name: str) -> None:
            seen.append((name, sim.clock.now_ms() - start_ms))

        for name, delay_ms in (("c", 300), ("a", 100), ("b", 207)):
            asyncio.get_running_loop().call_later(delay_ms / 1000, see, name)
        await asyncio.sleep(1)
        return seen

    assert run_simulated(program, 1) == [("a", 100), ("b", 207), ("c", 300)]


def test_a_block_lets_time_pass_in_which_nothing_runs() -> None:
    async def program(sim: Simulation) -> list[tuple[int, int]]:
        loop, start_ms = asyncio.get_running_loop(), sim.clock.now_ms()
        assert isinstance(loop, VirtualTimeLoop)
        seen: list[tuple[int, int]] = []
        for due_s in (1, 2, 6):
            loop.call_later(due_s, lambda due_s: seen.append((due_s, sim.clock.now_ms() - start_ms)), due_s)
        await asyncio.sleep(0.5)
        loop.block(5)
        assert seen == []
        await asyncio.sleep(1)
        return seen

    assert run_simulated(program, 1) == [(1, 5500), (2, 5500), (6, 6000)]


def test_clock_reads_the_deadline_when_its_timer_runs() -> None:
    async def program(sim: Simulation) -> list[int]:
        loop = asyncio.get_running_loop()
        early = []
        for deadline_ms in range(sim.clock.now_ms() + 1, sim.clock.now_ms() + 3000):
            reached = loop.create_future()
            loop.call_at(deadline_ms / 1000, reached.set_result, None)
            await reached
            if sim.clock.now_ms() != deadline_ms:
                early.append(deadline_ms)
        return early

    assert run_simulated(program, 1) == []


def test_same_seed_repeats_the_run_and_another_does_not() -> None:
    async def program(sim: Simulation) -> list[tuple[int, int]]:
        seen: list[tuple[int, int]] = []

        async def member(number: int) -> None:
            for _ in range(20):
                await asyncio.sleep(sim.rng.random())
                seen.append((number, sim.clock.now_ms()))

        await asyncio.gather(*(member(number) for number in range(5)))
        return seen

    assert run_simulated(program, 7) == run_simulated(program, 7)
    assert run_simulated(program, 7) != run_simulated(program, 8)


def test_deadlock_is_an_error_that_names_who_waits() -> None:
    async def waits_for_ever(sim: Simulation) -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(SimulationDeadlockError, match="waits_for_ever") as caught:
        run_simulated(waits_for_ever, 42)
    assert any("seed 42" in note for note in caught.value.__notes__)


def test_program_that_never_ends_hits_the_limit() -> None:
    cleaned = []

    async def endless(sim: Simulation) -> None:
        try:
            for _ in itertools.count():
                await asyncio.sleep(1)
        finally:
            await asyncio.sleep(1)
            cleaned.append(sim.seed)

    with pytest.raises(SimulationTimeLimitError):
        run_simulated(endless, 3, limit_s=100)
    assert cleaned == [3]


def test_a_program_that_spins_while_no_time_passes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "_MOST_PASSES", 1_000)

    async def program(_sim: Simulation, rounds: int, pause_s: float) -> None:
        for number in range(rounds):
            await asyncio.sleep(0)
            if number % 500 == 0:
                await asyncio.sleep(pause_s)

    run_simulated(partial(program, rounds=5_000, pause_s=0.001), 1)
    with pytest.raises(SimulationTimeLimitError, match="no virtual time passes, as something is always ready"):
        run_simulated(partial(program, rounds=5_000, pause_s=0), 1)


def test_result_and_error_of_the_program_come_out() -> None:
    async def fails(sim: Simulation) -> None:
        await asyncio.sleep(2)
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong") as caught:
        run_simulated(fails, 5)
    assert caught.value.__notes__ == ["simulation seed 5, 2.000 virtual seconds after the start"]


def test_threads_are_refused() -> None:
    async def program(sim: Simulation) -> None:
        await asyncio.to_thread(print)

    with pytest.raises(NotImplementedError, match="no threads"):
        run_simulated(program, 1)


async def test_a_running_loop_is_an_error_that_says_what_to_do() -> None:
    async def program(sim: Simulation) -> None:
        """It never runs."""

    with pytest.raises(IllegalStateError, match="from a function that is not async"):
        run_simulated(program, 1)


def test_twenty_members_beat_for_an_hour_in_seconds() -> None:
    async def program(sim: Simulation) -> int:
        beats = 0

        async def member() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(5)
                beats += 1

        members = [asyncio.create_task(member()) for _ in range(20)]
        await asyncio.sleep(3601)
        for task in members:
            task.cancel()
        return beats

    started = time.process_time()
    assert run_simulated(program, 1) == 20 * 720
    assert time.process_time() - started < 5


def test_manual_clock_moves_by_hand() -> None:
    clock = ManualClock(now_ms=500)
    assert (clock.now_ms(), clock.wall_ms()) == (500, WALL_START_MS)
    assert clock.advance(250) == 750
    assert (clock.now_ms(), clock.wall_ms()) == (750, WALL_START_MS + 250)
