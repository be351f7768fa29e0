"""Applications end to end, on the embedded broker and a real Kafka: counts go on after restarts, moves and kills."""

import multiprocessing
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from attrs import frozen

from kafka_groups.data_plane.deliveries import OutgoingRecord
from kafka_groups.data_plane.topics import create_topics
from kafka_groups.data_plane.writing import RecordWriter
from kafka_groups.streams import KafkaStreams, StreamsBuilder, StreamsError, StreamsState, Topology, serdes, stores
from kafka_groups.testing import EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

COUNTS = stores.key_value("counts", serdes.string, serdes.int64)
TEXT = "to be or not to be"
FAST = {
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.min.heartbeat.interval.ms": 100,
    "group.streams.min.session.timeout.ms": 1_000,
    "group.streams.heartbeat.interval.ms": 200,
    "group.streams.session.timeout.ms": 3_000,
}
IS_REAL = [pytest.mark.real_kafka, pytest.mark.slow]


def word_count(posts: str) -> Topology:
    builder = StreamsBuilder()
    words = builder.stream(posts, key=serdes.string, value=serdes.string).flat_map_values(str.split)
    words.group_by(lambda _, word: word, key=serdes.string, value=serdes.string).count(store=COUNTS)
    return builder.build()


@frozen
class Scene:
    """A broker, and an application of its own for each test."""

    servers: str
    posts: str

    def publish(self, count: int) -> None:
        writer = RecordWriter({"bootstrap.servers": self.servers})
        for at in range(count):
            writer.write(OutgoingRecord(self.posts, f"user{at}".encode(), TEXT.encode()))
        writer.flush(30)

    def app(self) -> KafkaStreams:
        return KafkaStreams(
            word_count(self.posts), application_id=f"{self.posts}-app", bootstrap_servers=self.servers,
            commit_interval_ms=100,
        )  # fmt: skip


@pytest.fixture(params=["embedded", pytest.param("real", marks=IS_REAL)])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with ExitStack() as stack:
        if request.param == "real":
            kafka: KafkaProcess = request.getfixturevalue("real_kafka")
            servers = kafka.bootstrap_servers
        else:
            servers = stack.enter_context(EmbeddedCluster(settings=FAST)).bootstrap_servers
        posts = unique("posts")
        create_topics({"bootstrap.servers": servers}, {posts: 2})
        yield Scene(servers, posts)


def counted(*apps: KafkaStreams) -> Counter[str]:
    """What the running tasks of all processes have committed."""
    found: Counter[str] = Counter()
    for app in apps:
        try:
            found.update(dict(app.store(COUNTS).all()))
        except StreamsError:
            continue  # a process without tasks of the store, for now
    return found


def times(posts: int) -> Counter[str]:
    return Counter(TEXT.split() * posts)


def test_words_are_counted_and_a_restart_continues_the_counts(scene: Scene) -> None:
    scene.publish(100)
    with scene.app() as app:
        app.wait_until_running(60)
        wait_until(lambda: counted(app) == times(100))
    assert app.state is StreamsState.NOT_RUNNING
    scene.publish(50)
    with scene.app() as again:
        again.wait_until_running(60)
        wait_until(lambda: counted(again) == times(150))
        metrics = {(each.name, each.tags.get("topic")): each.value for each in again.metrics()}
        assert metrics["state", None] == "RUNNING"
        assert metrics["alive-stream-threads", None] == 1
    consumed = [each for each in again.metrics() if each.name == "records-consumed-total"]
    assert consumed == []  # the tasks are closed
    totals = {each.name: each.value for each in again.metrics() if each.group == "stream-thread-metrics"}
    assert totals["process-total"] == 50 + 50 * len(TEXT.split())
    assert totals["state"] == "DEAD"


def test_two_processes_share_the_tasks_and_the_stores_move(scene: Scene) -> None:
    scene.publish(100)
    with scene.app() as first:
        first.wait_until_running(60)
        wait_until(lambda: counted(first) == times(100))
        with scene.app() as second:
            wait_until(lambda: second.state is StreamsState.RUNNING and has_tasks(second), 60)
            scene.publish(100)
            wait_until(lambda: counted(first, second) == times(200), 60)
            assert counted(second)
            assert counted(first) != times(200)
        scene.publish(10)
        wait_until(lambda: counted(first) == times(210), 60)


def has_tasks(app: KafkaStreams) -> bool:
    try:
        app.store(COUNTS)
    except StreamsError:
        return False
    return True


def work(scene: Scene) -> None:
    scene.app().run()


@pytest.mark.slow
def test_the_tasks_of_a_process_that_is_killed_are_restored_by_another_one(scene: Scene) -> None:
    scene.publish(100)
    victim = multiprocessing.get_context("spawn").Process(target=work, args=(scene,))
    with scene.app() as app:
        wait_until(lambda: counted(app) == times(100), 60)
        victim.start()
        try:
            wait_until(lambda: len(counted(app)) < len(times(1)), 60)
            scene.publish(100)
            victim.kill()
            scene.publish(100)
            wait_until(lambda: counted(app) >= times(300), 90)
        finally:
            victim.kill()
            victim.join()


def test_an_application_continues_after_its_broker_was_away(caplog: pytest.LogCaptureFixture) -> None:
    with EmbeddedCluster(settings=FAST) as cluster:
        scene = Scene(cluster.bootstrap_servers, "posts")
        cluster.create_topic(scene.posts, 2)
        scene.publish(100)
        with scene.app() as app:
            wait_until(lambda: counted(app) == times(100), 60)
            scene.publish(100)
            (broker,) = cluster.running_brokers
            cluster.stop_broker(broker)
            wait_until(lambda: "Cannot reach a broker" in caplog.text, 60)
            assert app.error is None
            cluster.start_broker(broker)
            scene.publish(100)
            wait_until(lambda: counted(app) >= times(300), 60)
            assert app.error is None


def test_a_request_to_shut_down_ends_all_processes_with_a_commit(scene: Scene) -> None:
    scene.publish(100)
    with scene.app() as first, scene.app() as second:
        wait_until(lambda: counted(first, second) == times(100), 60)
        first.request_shutdown()
        wait_until(lambda: {first.state, second.state} == {StreamsState.NOT_RUNNING}, 60)
        assert (first.error, second.error) == (None, None)
    with scene.app() as again:
        again.wait_until_running(60)
        wait_until(lambda: counted(again) == times(100), 60)


def test_topics_of_a_join_with_different_numbers_of_partitions_end_the_application(scene: Scene) -> None:
    names = unique("names")
    create_topics({"bootstrap.servers": scene.servers}, {names: 3})
    builder = StreamsBuilder()
    posts = builder.stream(scene.posts, key=serdes.string, value=serdes.string)
    table = builder.table(names, key=serdes.string, value=serdes.string)
    posts.join(table, lambda post, name: f"{post} of {name}").foreach(print)
    app = KafkaStreams(builder.build(), application_id=f"{scene.posts}-join", bootstrap_servers=scene.servers)
    app.start()
    wait_until(lambda: app.state is StreamsState.ERROR, 60)
    with pytest.raises(StreamsError, match=r"INCORRECTLY_PARTITIONED_TOPICS.*numbers of partitions that match"):
        app.wait_until_running(1)
    app.close()


def test_an_exception_of_the_topology_ends_the_application_with_its_place(scene: Scene) -> None:
    builder = StreamsBuilder()
    builder.stream(scene.posts, key=serdes.string, value=serdes.string).map_values(int).to(
        scene.posts, value=serdes.int64
    )
    scene.publish(1)
    app = KafkaStreams(builder.build(), application_id=f"{scene.posts}-bad", bootstrap_servers=scene.servers)
    app.start()
    wait_until(lambda: app.state is StreamsState.ERROR, 60)
    with pytest.raises(StreamsError, match=f"invalid literal for int.*{TEXT}"):
        app.wait_until_running(1)
    app.close()
    assert app.state is StreamsState.ERROR
