"""Applications for asyncio that do not reach a broker."""

import asyncio

import pytest

from kafka_groups.errors import ClosedError, IllegalStateError, OperationTimeoutError
from kafka_groups.streams import AsyncKafkaStreams, StreamsBuilder, StreamsState, Topology, serdes

States = list[tuple[StreamsState, StreamsState]]


def copying() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string, value=serdes.string).to("out")
    return builder.build()


def unstarted(states: States) -> AsyncKafkaStreams:
    return AsyncKafkaStreams(
        copying,
        application_id="copies",
        bootstrap_servers="localhost:1",
        on_state=lambda state, before: states.append((state, before)),
    )


async def test_an_application_that_was_not_started_closes_at_once_and_cannot_be_started() -> None:
    states: States = []
    app = unstarted(states)
    assert app.state is StreamsState.CREATED
    assert await app.close()
    assert repr(app) == "<AsyncKafkaStreams 'copies': NOT_RUNNING>"
    with pytest.raises(IllegalStateError, match="started before"):
        await app.start()
    with pytest.raises(ClosedError):
        await app.wait_until_running()
    await asyncio.sleep(0)  # the loop calls on_state
    assert states == [(StreamsState.NOT_RUNNING, StreamsState.CREATED)]


async def test_the_event_loop_works_while_a_call_waits_and_the_time_is_up() -> None:
    app = unstarted([])
    worked = asyncio.create_task(asyncio.sleep(0, "worked"))
    with pytest.raises(OperationTimeoutError, match=r"is not running after 0\.01 s"):
        await app.wait_until_running(0.01)
    assert worked.done()
    await app.close()


def test_an_application_belongs_to_one_event_loop() -> None:
    app = unstarted([])
    with pytest.raises(OperationTimeoutError):
        asyncio.run(app.wait_until_running(0.01))
    with pytest.raises(IllegalStateError, match="belongs to another event loop, which is closed"):
        asyncio.run(app.start())
    assert app.state is StreamsState.CREATED
