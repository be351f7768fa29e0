"""The end of a worker's runtime: its health, and the log of errors that stop it."""

import asyncio
import logging

import pytest

from kafka_groups.errors import BootstrapError
from kafka_groups.share import OnError, Worker
from kafka_groups.share.aio import hooks_of
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.running.driver import HandlerDriver
from kafka_groups.share.workers.running.runtime import WorkerRuntime
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, reach, simulate


def with_two_handlers(world: WorkerWorld) -> Worker:
    """A worker whose first handler stops it for a `LookupError`, which the record `odd` causes."""
    worker = world.worker()

    @worker.handler(TOPIC, errors={LookupError: OnError.STOP})
    async def handle(value: bytes) -> None:
        if value == b"odd":
            raise KeyError("no such tenant")

    @worker.handler(DEAD)
    async def invoice(value: bytes) -> None: ...

    return worker


async def reach_not_live(runtime: WorkerRuntime) -> Health:
    """Wait until the worker is not live. Nobody waits for its end."""
    await reach(lambda: not runtime.health.is_live, 10)
    return runtime.health


def errors_of(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """The errors in the log of workers."""
    return [each for each in caplog.records if each.levelno >= logging.ERROR and each.name == "kafka_groups.worker"]


def test_a_worker_that_an_error_of_its_own_stopped_is_not_live_and_has_logged_the_error_at_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def program(world: WorkerWorld) -> None:
        run = HandlerDriver.run

        async def crash(driver: HandlerDriver) -> None:
            if "invoice" in repr(driver):
                raise ZeroDivisionError("a defect")
            await run(driver)

        monkeypatch.setattr(HandlerDriver, "run", crash)
        runtime = world.runtime(with_two_handlers(world))
        await runtime.start()
        health = await reach_not_live(runtime)
        reason = "handler invoice: the worker was stopped by ZeroDivisionError"
        assert health == Health(is_live=False, is_ready=False, reasons=(reason,))
        [logged] = errors_of(caplog)
        assert logged.getMessage() == "Handler invoice: the worker stops because of an error"
        assert logged.exc_info is not None
        assert isinstance(logged.exc_info[1], ZeroDivisionError)
        with pytest.raises(ZeroDivisionError):
            await runtime.wait()
        assert runtime.health == health

    simulate(program)


def test_a_worker_that_a_rule_stopped_is_not_live_and_has_logged_that_once(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        await world.produce([b"odd"])
        runtime = world.runtime(with_two_handlers(world))
        await runtime.start()
        health = await reach_not_live(runtime)
        assert not health.is_ready
        assert health.reasons == ("handler handle: the worker was stopped by KeyError",)
        assert len(errors_of(caplog)) == 1
        with pytest.raises(KeyError):
            await runtime.wait()

    simulate(program)


def test_a_worker_that_was_told_to_stop_is_live_and_not_ready() -> None:
    async def program(world: WorkerWorld) -> None:
        async with world.running(with_two_handlers(world)) as runtime:
            await reach(lambda: runtime.health.is_ready)
        assert runtime.health == Health(is_live=True, is_ready=False, reasons=("the worker has stopped",))

    simulate(program)


def test_a_start_without_brokers_warns_from_the_first_failure_on(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        runtime = world.runtime(with_two_handlers(world), {"bootstrap_servers": "nobody:9092"})
        starting = asyncio.create_task(runtime.start())
        await asyncio.sleep(1)
        [warning] = [each for each in caplog.records if each.levelno >= logging.WARNING]
        assert warning.name == "kafka_groups.network"
        assert "Cannot reach a broker: Could not resolve the host name of nobody:9092" in warning.getMessage()
        with pytest.raises(BootstrapError, match="No broker has answered for 30000 ms"):
            await starting

    simulate(program)


def test_questions_of_a_program_do_not_warn_because_it_gets_the_error(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        async with world.consumer(bootstrap_servers="nobody:9092") as consumer:
            with hooks_of(consumer).group.logging_warnings():
                pass
            with pytest.raises(BootstrapError):
                await consumer.group_config(timeout=10)
        assert not [each for each in caplog.records if each.levelno >= logging.WARNING]

    simulate(program)
