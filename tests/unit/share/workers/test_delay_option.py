"""The option `delay`: records run so long after they were written."""

import asyncio
import logging

import pytest

from kafka_groups import Worker
from kafka_groups.errors import ConfigurationError
from kafka_groups.testing import DeliveryState, Outcome, WorkerTestDriver
from tests.unit.share.workers.retry_worlds import LOG_APPEND_TIME, RetryStage
from tests.unit.share.workers.worlds import WorkerWorld, has, reach, simulate

LATER = "reminders"


@pytest.mark.parametrize("wrong", [0, 0.5, -1, 604_801, float("nan"), True, "600"])
def test_other_values_are_refused(wrong: object) -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    with pytest.raises(ConfigurationError, match=r"delay=.*: give the seconds that records wait .* 1 to 604,800"):
        worker.handler("reminders", delay=wrong)(lambda value: None)  # type: ignore[call-overload]


def test_a_record_waits_for_its_time_in_the_test_driver() -> None:
    worker = Worker("g", bootstrap_servers="x:1")
    worker.handler("reminders", delay=600)(lambda value: None)
    with WorkerTestDriver(worker) as test:
        reminder = test.deliver("reminders", b"call ann")
        test.advance(seconds=599)
        assert (reminder.state, reminder.next_attempt_in, reminder.attempts) == (DeliveryState.WAITING, 1.0, 0)
        test.advance(seconds=1)
        assert (reminder.outcome, reminder.attempts) == (Outcome.ACCEPTED, 1)


def test_records_run_when_their_delay_is_over(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic(LATER, 2, configs=LOG_APPEND_TIME)
        worker, started = world.worker(), dict[bytes, float]()
        loop = asyncio.get_running_loop()

        @worker.handler(LATER, delay=30)
        async def remind(value: bytes) -> None:
            started[value] = loop.time()

        due: dict[bytes, float] = {}
        async with world.running(worker) as runtime:
            for number in range(20):
                value = str(number).encode()
                world.cluster.produce(LATER, [value])
                due[value] = loop.time() + 30
                await asyncio.sleep(0.5)
            assert len(runtime._running[0].handling.holdings.early) == 4
            await reach(lambda: has(started, 20))
        assert all(-0.001 < started[value] - due[value] < 0.2 for value in due)

    with caplog.at_level(logging.WARNING):
        simulate(program)
    assert not [text for text in caplog.messages if "delay" in text]


def test_producers_clocks_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic(LATER, 1)
        worker = world.worker()
        worker.handler(LATER, name="remind", delay=30)(lambda value: None)
        async with world.running(worker):
            pass

    simulate(program)
    (note,) = [text for text in caplog.messages if "delay" in text]
    assert note.startswith("Handler remind: The delay of 30 seconds counts from the times that producers set in remin")
    assert "Set message.timestamp.type=LogAppendTime on the topic" in note


@pytest.mark.slow
def test_a_waiting_record_moves_to_the_retry_topics_before_deployments_use_up_its_deliveries() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic(LATER, 1, configs=LOG_APPEND_TIME)
        stage, started, loop = RetryStage(world, delays=(10, 60)), list[float](), asyncio.get_running_loop()

        async def remind(value: bytes) -> None:
            started.append(loop.time())

        world.cluster.produce(LATER, [b"call ann"])
        due_s = loop.time() + 500
        for _ in range(8):
            worker = world.worker()
            worker.handler(LATER, **stage.options(delay=500))(remind)
            async with world.running(worker):
                await asyncio.sleep(50)
        worker = world.worker()
        worker.handler(LATER, **stage.options(delay=500))(remind)
        async with world.running(worker):
            await reach(lambda: started)
        assert due_s - 0.001 <= started[0] < due_s + 1
        assert stage.letters.forwarded
        assert not stage.letters.written

    simulate(program)
