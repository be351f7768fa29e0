"""Timers of a broker: they fire, they end with it, and their errors are told."""

import asyncio

import pytest

from kafka_groups.broker.runtime.scheduling.broker_timers import BrokerTimers
from kafka_groups.testing.simulation import Simulation, run_simulated


def test_functions_are_called_in_time_and_not_after_the_end() -> None:
    called: list[str] = []

    async def program(sim: Simulation) -> None:
        start_ms, timers = sim.clock.now_ms(), BrokerTimers(lambda error: None)
        timers.later(200, lambda: called.append(f"after {sim.clock.now_ms() - start_ms} ms"))
        timers.later(0, lambda: called.append("soon"))
        await asyncio.sleep(0.3)
        timers.later(100, lambda: called.append("never"))
        assert len(timers) == 1
        timers.stop()
        timers.later(0, lambda: called.append("never"))
        assert len(timers) == 0
        await asyncio.sleep(0.3)

    run_simulated(program, 1)
    assert called == ["soon", "after 200 ms"]


def test_errors_are_told(caplog: pytest.LogCaptureFixture) -> None:
    failures: list[BaseException] = []

    def fail() -> None:
        raise ZeroDivisionError

    async def program(_sim: Simulation) -> None:
        timers = BrokerTimers(failures.append)
        timers.later(0, fail)
        await asyncio.sleep(0.01)

    run_simulated(program, 1)
    assert [type(error) for error in failures] == [ZeroDivisionError]
    assert "a timer of a broker failed" in caplog.text
