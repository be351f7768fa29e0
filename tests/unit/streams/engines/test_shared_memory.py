"""The engines of tasks, which views of their stores read: open as long as the worker has the tasks."""

from collections.abc import Callable

import pytest

from kafka_groups.errors import TransactionFailedError
from kafka_groups.types import TaskId
from tests.unit.streams.runtime.counting import Process, brokers
from tests.unit.streams.runtime.test_global_stores import joining

TASK = TaskId("0", 0)


async def running(*, is_exactly_once: bool = False) -> Process:
    process = Process(brokers(), is_exactly_once=is_exactly_once)
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.engines("counts"))
    return process


@pytest.mark.parametrize(
    "end", [lambda member: member.revoke("0_0"), lambda member: member.lose("0_0")], ids=["revoked", "lost"]
)
async def test_the_engine_of_a_task_that_goes_is_closed(end: Callable[[object], object]) -> None:
    process = await running()
    (engine,) = process.worker.engines("counts")
    assert engine.is_open
    end(process.member)
    await process.turn_until(lambda: not process.worker.tasks)
    assert not engine.is_open


async def test_the_engines_of_a_worker_that_ends_are_closed() -> None:
    process = await running()
    (engine,) = process.worker.engines("counts")
    await process.worker.close()
    assert not engine.is_open
    assert not process.worker.engines("counts")


async def test_the_engine_of_a_task_that_begins_again_stays_open() -> None:
    process = await running(is_exactly_once=True)
    (engine,) = process.worker.engines("counts")
    await process.worker._begin_again(TransactionFailedError("fenced"))
    await process.turn_until(lambda: process.worker.engines("counts"))
    assert process.worker.engines("counts") == [engine]
    assert engine.is_open


async def test_the_engines_of_global_stores_are_closed_with_the_worker() -> None:
    process = joining()
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    (name,) = [each for each, place in process.worker.stores.items() if place.is_global]
    (engine,) = process.worker.engines(name)
    await process.worker.close()
    assert not engine.is_open
    assert not process.worker.engines(name)
