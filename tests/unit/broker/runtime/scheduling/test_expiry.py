"""Expiry at its time, and not before."""

import asyncio

from kafka_groups.broker.runtime.scheduling.expiry import BrokerRuntime
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.testing.simulation import Simulation, run_simulated


class Deadlines:
    """Expires the deadlines that it is given."""

    def __init__(self) -> None:
        self.pending: list[int] = []
        self.expired: list[tuple[int, int]] = []

    def next_deadline_ms(self) -> int | None:
        return min(self.pending, default=None)

    def expire(self, now_ms: int) -> None:
        self.expired += [(deadline_ms, now_ms) for deadline_ms in sorted(self.pending) if deadline_ms <= now_ms]
        self.pending = [deadline_ms for deadline_ms in self.pending if deadline_ms > now_ms]


def never(error: BaseException) -> None:
    raise AssertionError(error)


def runtime_of(clock: VirtualClock, *expiring: Deadlines) -> BrokerRuntime:
    runtime = BrokerRuntime(clock, expiring, never)
    runtime.start("runtime under test")
    return runtime


def test_everything_expires_at_its_deadline() -> None:
    async def program(sim: Simulation) -> None:
        start_ms, groups, locks = sim.clock.now_ms(), Deadlines(), Deadlines()
        groups.pending = [start_ms + 300, start_ms + 100]
        locks.pending = [start_ms + 200]
        runtime = runtime_of(sim.clock, groups, locks)
        await asyncio.sleep(1)
        assert [now_ms - start_ms for _, now_ms in groups.expired] == [100, 300]
        assert [now_ms - start_ms for _, now_ms in locks.expired] == [200]
        await runtime.stop()

    run_simulated(program, 1)


def test_earlier_deadline_is_seen_when_the_runtime_is_touched() -> None:
    async def program(sim: Simulation) -> None:
        start_ms, groups = sim.clock.now_ms(), Deadlines()
        groups.pending = [start_ms + 10_000]
        runtime = runtime_of(sim.clock, groups)
        await asyncio.sleep(0.05)
        groups.pending.append(start_ms + 80)
        runtime.touch()
        await asyncio.sleep(0.05)
        assert groups.expired == [(start_ms + 80, start_ms + 80)]
        groups.pending.append(start_ms + 90)  # past already
        runtime.touch()
        await asyncio.sleep(0.001)
        assert groups.expired[1:] == [(start_ms + 90, start_ms + 100)]
        await runtime.stop()

    run_simulated(program, 1)


def test_runtime_without_deadlines_sleeps_until_there_is_one() -> None:
    async def program(sim: Simulation) -> None:
        start_ms, groups = sim.clock.now_ms(), Deadlines()
        runtime = runtime_of(sim.clock, groups)
        await asyncio.sleep(100)
        groups.pending = [start_ms + 200_000]
        runtime.touch()
        await asyncio.sleep(150)
        assert groups.expired == [(start_ms + 200_000, start_ms + 200_000)]
        await runtime.stop()
        groups.pending = [start_ms + 260_000]
        await asyncio.sleep(100)
        assert len(groups.expired) == 1

    run_simulated(program, 1)


def test_failure_is_handed_on() -> None:
    class Fails(Deadlines):
        def expire(self, now_ms: int) -> None:
            raise ValueError("broken")

    async def program(sim: Simulation) -> None:
        failures: list[BaseException] = []
        fails = Fails()
        fails.pending = [sim.clock.now_ms() + 5]
        runtime = BrokerRuntime(sim.clock, [fails], failures.append)
        runtime.start("runtime under test")
        await asyncio.sleep(1)
        assert [str(error) for error in failures] == ["broken"]
        await runtime.stop()

    run_simulated(program, 1)


class Stubborn(Deadlines):
    """Has a deadline that nothing removes."""

    def expire(self, now_ms: int) -> None:
        self.expired.append((now_ms, now_ms))


def test_a_deadline_that_is_never_met_is_an_error_and_not_an_endless_loop() -> None:
    failures: list[BaseException] = []

    async def program(sim: Simulation) -> None:
        stubborn = Stubborn()
        stubborn.pending = [sim.clock.now_ms()]
        runtime = BrokerRuntime(sim.clock, (stubborn,), failures.append)
        runtime.start("runtime under test")
        await asyncio.sleep(1)
        assert len(stubborn.expired) == 100
        await runtime.stop()

    run_simulated(program, 1)
    [failure] = failures
    assert "does not meet its deadline" in str(failure)
