"""Applications for asyncio on the embedded broker."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.streams import (
    AsyncKafkaStreams,
    Position,
    StoreNotAvailableError,
    StreamsBuilder,
    StreamsError,
    StreamsState,
    Topology,
    serdes,
    stores,
)
from kafka_groups.streams.workers.application_state import StateListener
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


def copying() -> Topology:
    builder = StreamsBuilder()
    builder.stream("lines", key=serdes.string, value=serdes.string).to("copies")
    return builder.build()


def posting() -> Topology:
    builder = StreamsBuilder()
    builder.stream("letters", key=serdes.string, value=serdes.string).to("post")
    return builder.build()


def counting_app(
    cluster: EmbeddedCluster, application_id: str, on_state: StateListener | None = None
) -> AsyncKafkaStreams:
    return AsyncKafkaStreams(
        counting,
        application_id=application_id,
        bootstrap_servers=cluster.bootstrap_servers,
        commit_interval_ms=100,
        on_state=on_state,
    )


async def until_counted(app: AsyncKafkaStreams, key: str, expected: int) -> None:
    async def counted() -> int | None:
        return app.store(COUNTS).get(key)

    await until(counted, lambda count: count == expected, WAIT_S)


async def test_counts_are_read_and_states_are_told_on_the_event_loop(cluster: EmbeddedCluster) -> None:
    states, threads = [], set()

    def on_state(state: StreamsState, _before: StreamsState) -> None:
        states.append(state)
        threads.add(threading.current_thread())

    app = counting_app(cluster, "counts", on_state)
    async with app:
        await app.wait_until_running(WAIT_S)
        await until_counted(app, "ann", 2)
        read = Position({"posts": {0: 1}})
        view = await asyncio.to_thread(app.store, COUNTS, at_least=read, timeout=WAIT_S)
        assert view.position == read
        with pytest.raises(StoreNotAvailableError, match="has processed offset 1 of posts-0 here"):
            app.store(COUNTS, at_least=Position({"posts": {0: 2}}))
        with pytest.raises(StoreNotAvailableError, match=r"'counts' has no partition 7: .* have \w+ partition"):
            app.store(COUNTS, 7)
    assert app.state is StreamsState.NOT_RUNNING
    assert app.error is None
    assert states[0] is StreamsState.REBALANCING
    assert states[-2:] == [StreamsState.PENDING_SHUTDOWN, StreamsState.NOT_RUNNING]
    assert threads == {threading.current_thread()}


async def test_a_paused_application_keeps_its_tasks_and_processes_nothing(cluster: EmbeddedCluster) -> None:
    paused, other = counting_app(cluster, "paused"), counting_app(cluster, "other")
    paused.pause()
    async with paused, other:
        await paused.wait_until_running(WAIT_S)
        await other.wait_until_running(WAIT_S)
        cluster.produce("posts", ["again"], keys=["ben"])
        await until_counted(other, "ben", 1)
        assert (paused.is_paused, other.is_paused) == (True, False)
        assert paused.state is StreamsState.RUNNING
        assert list(paused.store(COUNTS).all()) == []
        paused.resume()
        await until_counted(paused, "ben", 1)


@pytest.mark.slow
async def test_worker_processes_are_paused_and_resumed(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("lines", 2)
    cluster.create_topic("copies")
    both = AsyncKafkaStreams(copying, application_id="both", bootstrap_servers=cluster.bootstrap_servers, num_workers=2)
    both.pause()

    async def consumed() -> dict[str, float | str]:
        of_topics = [each for each in both.metrics() if each.group == "stream-topic-metrics"]
        return {each.tags["thread-id"]: each.value for each in of_topics if each.name == "records-consumed-total"}

    async with both, counting_app(cluster, "beside") as other:
        await both.wait_until_running(WAIT_S)
        await other.wait_until_running(WAIT_S)
        workers = {"kafka-groups-StreamThread-1", "kafka-groups-StreamThread-2"}
        await until(consumed, lambda found: found.keys() == workers, WAIT_S)  # each has a task
        cluster.produce("lines", ["hello"], keys=["eve"])
        cluster.produce("posts", ["hello"], keys=["eve"])
        await until_counted(other, "eve", 1)
        assert cluster.records("copies") == []
        both.resume()

        async def copied() -> bool:
            return any(record.key == b"eve" for record in cluster.records("copies"))

        await until(copied, bool, WAIT_S)

        await until(consumed, lambda found: sum(map(float, found.values())) == 1, WAIT_S)
        [alive] = [each.value for each in both.metrics() if each.name == "alive-stream-threads"]
        assert alive == 2
    assert both.state is StreamsState.NOT_RUNNING
    assert [each.group for each in both.metrics() if each.group != "stream-metrics"] == []


@pytest.mark.slow
async def test_workers_are_added_and_removed_while_records_come(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    cluster.create_topic("letters", 4)
    cluster.create_topic("post")

    async def until_copied(*keys: str) -> None:
        cluster.produce("letters", keys, keys=keys)

        async def copied() -> bool:
            return {record.key for record in cluster.records("post")} >= {key.encode() for key in keys}

        await until(copied, bool, WAIT_S)

    async with AsyncKafkaStreams(
        posting,
        application_id="team",
        bootstrap_servers=cluster.bootstrap_servers,
        num_workers=2,
        state_dir=str(tmp_path),
    ) as app:
        await app.wait_until_running(WAIT_S)
        await until_copied(*"abcdefgh")
        assert await app.add_worker() == "streams-team-3"
        await app.wait_until_running(WAIT_S)
        await until_copied(*"ijklmnop")
        assert [await app.remove_worker(WAIT_S), await app.remove_worker(WAIT_S)] == [
            "streams-team-3",
            "streams-team-2",
        ]
        await until_copied(*"qrstuvwx")
    assert (app.state, app.error) == (StreamsState.NOT_RUNNING, None)
    assert await app.add_worker() is None


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


async def test_applications_without_a_task_are_running(cluster: EmbeddedCluster) -> None:
    """The topic has one partition, so there is a task for one of both."""
    async with counting_app(cluster, "spare") as first, counting_app(cluster, "spare") as second:
        await first.wait_until_running(WAIT_S)
        await second.wait_until_running(WAIT_S)
