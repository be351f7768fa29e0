"""Applications for asyncio on the embedded broker."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from kafka_groups.streams import (
    AsyncKafkaStreams,
    StreamsBuilder,
    StreamsError,
    StreamsState,
    Topology,
    serdes,
    stores,
)
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from tests.support.conditions import until

COUNTS = stores.key_value("counts", serdes.string, serdes.int64)
WAIT_S = 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    settings = {**FAST_SETTINGS, "group.streams.heartbeat.interval.ms": 100}
    with EmbeddedCluster(settings=settings) as cluster:
        cluster.create_topic("posts")
        cluster.produce("posts", ["hello", "goodbye"], keys=["ann", "ann"])
        yield cluster


def counting() -> Topology:
    builder = StreamsBuilder()
    builder.stream("posts", key=serdes.string, value=serdes.string).group_by_key().count(store=COUNTS)
    return builder.build()


def failing() -> Topology:
    builder = StreamsBuilder()
    builder.stream("posts", key=serdes.string, value=serdes.string).map_values(int).to("posts", value=serdes.int64)
    return builder.build()


async def test_counts_are_read_and_states_are_told_on_the_event_loop(cluster: EmbeddedCluster) -> None:
    states, threads = [], set()

    def on_state(state: StreamsState, _before: StreamsState) -> None:
        states.append(state)
        threads.add(threading.current_thread())

    app = AsyncKafkaStreams(
        counting,
        application_id="counts",
        bootstrap_servers=cluster.bootstrap_servers,
        commit_interval_ms=100,
        on_state=on_state,
    )
    async with app:
        await app.wait_until_running(WAIT_S)

        async def counted() -> int | None:
            return app.store(COUNTS).get("ann")

        await until(counted, lambda count: count == 2, WAIT_S)
    assert app.state is StreamsState.NOT_RUNNING
    assert app.error is None
    assert states[0] is StreamsState.REBALANCING
    assert states[-2:] == [StreamsState.PENDING_SHUTDOWN, StreamsState.NOT_RUNNING]
    assert threads == {threading.current_thread()}


async def test_a_run_that_is_cancelled_closes_the_application(cluster: EmbeddedCluster) -> None:
    app = AsyncKafkaStreams(counting, application_id="cancelled", bootstrap_servers=cluster.bootstrap_servers)
    running = asyncio.create_task(app.run())
    await app.wait_until_running(WAIT_S)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert app.state is StreamsState.NOT_RUNNING


async def test_a_run_ends_with_the_error_of_the_topology(cluster: EmbeddedCluster) -> None:
    app = AsyncKafkaStreams(failing, application_id="failing", bootstrap_servers=cluster.bootstrap_servers)
    with pytest.raises(StreamsError, match=r"invalid literal for int.*hello"):
        await app.run()
    assert app.state is StreamsState.ERROR
    assert isinstance(app.error, StreamsError)
