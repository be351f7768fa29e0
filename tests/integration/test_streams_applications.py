"""Applications end to end, on the embedded broker and a real Kafka: counts go on after restarts, moves and kills."""

import json
import multiprocessing
import os
import signal
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from attrs import frozen

from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.librdkafka.record_writer import RecordWriter
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams import (
    GroupMembershipOperation,
    InvalidStateStoreError,
    KafkaStreams,
    KeyValueStore,
    Position,
    StateRestoreListener,
    StateServer,
    StateStoreMigratedError,
    StoreNotAvailableError,
    StreamsBuilder,
    StreamsError,
    StreamsState,
    Topology,
    UserEndpoint,
    VersionedRecord,
    serdes,
    stores,
)
from kafka_groups.testing import EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.members.counted_application import DefaultStore
from tests.support.workers.worker_programs import free_port

Test = TypeVar("Test", bound=Callable[..., None])
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
            settings = {**FAST, **getattr(request.function, "settings", {})}
            servers = stack.enter_context(EmbeddedCluster(settings=settings)).bootstrap_servers
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
    assert not any(each.group == "stream-topic-metrics" for each in again.metrics())  # the tasks are closed
    totals = {each.name: each.value for each in again.metrics() if each.group == "stream-thread-metrics"}
    assert totals["process-total"] == 50 + 50 * len(TEXT.split())
    assert totals["state"] == "DEAD"


def test_two_processes_share_the_tasks_and_the_stores_move(scene: Scene) -> None:
    scene.publish(100)
    with scene.app() as first:
        first.wait_until_running(60)
        wait_until(lambda: counted(first) == times(100))
        before = first.store(COUNTS)
        with scene.app() as second:
            wait_until(lambda: second.state is StreamsState.RUNNING and has_tasks(second), 60)
            scene.publish(100)
            wait_until(lambda: counted(first, second) == times(200), 60)
            assert counted(second)
            assert counted(first) != times(200)
            with pytest.raises(InvalidStateStoreError, match=r"has moved to another process.*Ask app\.store again"):
                list(before.all())
            kept = first.store(COUNTS)
            assert Counter(dict(kept.all())) == counted(first)
        scene.publish(10)
        wait_until(lambda: counted(first) == times(210), 60)
        assert Counter(dict(kept.all())) == times(210)  # it has got the tasks of the second process, too
        after = first.store(COUNTS)
    with pytest.raises(InvalidStateStoreError, match=r"or has ended\. Ask app\.store again"):
        after.get("to")
    with pytest.raises(InvalidStateStoreError, match="No task of this process has store 'counts' now"):
        first.store(COUNTS)


class Reading(StateRestoreListener):
    """Notes how many records each restoration has to read."""

    def __init__(self) -> None:
        self.reads: dict[int, int] = {}

    def on_restore_start(self, place: TopicPartition, store: str, start: int, end: int) -> None:
        self.reads[place.partition] = end - start


def with_settings(settings: Mapping[str, object]) -> Callable[[Test], Test]:
    """Give the embedded broker of a test settings of its own."""

    def note(test: Test) -> Test:
        test.settings = settings  # type: ignore[attr-defined]
        return test

    return note


@pytest.mark.slow
# Both must be there again before the first one expires, or the second one gets all tasks, and gives up those of the
# highest partitions later on. On a busy machine, their start takes longer than 10 s.
@with_settings({"group.streams.session.timeout.ms": 30_000})
@pytest.mark.timeout(300)
def test_tasks_go_back_to_the_process_that_has_their_files(scene: Scene, tmp_path: Path) -> None:
    """Both processes end without leaving, and are there again in the other order when their sessions have expired."""
    scene.publish(100)

    def kept(name: str, listener: Reading) -> KafkaStreams:
        return KafkaStreams(
            word_count(scene.posts), application_id=f"{scene.posts}-app", bootstrap_servers=scene.servers,
            commit_interval_ms=100, state_dir=str(tmp_path / name), default_dsl_store="lmdb",
            state_restore_listener=listener,
        )  # fmt: skip

    with kept("first", Reading()) as first, kept("second", Reading()) as second:
        wait_until(lambda: counted(first, second) == times(100) and counted(first) and counted(second), 60)
        before = {"first": counted(first), "second": counted(second)}
        had = {name: partitions_of(app) for name, app in (("first", first), ("second", second))}
        for app in (first, second):
            assert app.close(60, operation=GroupMembershipOperation.REMAIN_IN_GROUP)
    listeners = {name: Reading() for name in ("second", "first")}
    with ExitStack() as stack:
        again = {name: stack.enter_context(kept(name, listener)) for name, listener in listeners.items()}
        wait_until(
            lambda: {name: counted(app) for name, app in again.items()} == before,
            150,
            lambda: (had, {name: partitions_of(app) for name, app in again.items()}),
        )
    for name, listener in listeners.items():
        assert [listener.reads[partition] for partition in had[name]] == [0] * len(had[name])


USERS = stores.key_value("users", serdes.string, serdes.string, persistent=True)


def with_users(posts: str) -> Topology:
    builder = StreamsBuilder()
    users = builder.global_table(posts, key=serdes.string, value=serdes.string, store=USERS)
    others = builder.stream(f"{posts}-others", key=serdes.string, value=serdes.string)
    others.join(users, lambda _, text: text, on=lambda key, _: key).to(f"{posts}-joined", value=serdes.string)
    return builder.build()


def has_users(app: KafkaStreams, count: int) -> bool:
    return len(list(app.store(USERS).all())) == count


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_global_table_on_disk_is_there_after_a_restart(scene: Scene, tmp_path: Path, workers: int) -> None:
    create_topics({"bootstrap.servers": scene.servers}, {f"{scene.posts}-others": 1, f"{scene.posts}-joined": 1})
    for count in (20, 30):
        scene.publish(count)
        listener = Reading()
        app = KafkaStreams(
            partial(with_users, scene.posts), application_id=f"{scene.posts}-app", bootstrap_servers=scene.servers,
            num_workers=workers, state_dir=str(tmp_path), state_restore_listener=listener,
        )  # fmt: skip
        with app:
            app.wait_until_running(60)
            wait_until(partial(has_users, app, count))
        if workers == 1:
            assert sum(listener.reads.values()) == count
        folders = [each.name for each in (next(tmp_path.glob("app-*")) / "global").iterdir()]
        assert sorted(folders) == [str(number + 1) for number in range(workers)]


PRICES = stores.versioned("prices", serdes.string, serdes.string, history=timedelta(hours=1), persistent=True)


def with_prices(posts: str) -> Topology:
    builder = StreamsBuilder()
    prices = builder.table(posts, key=serdes.string, value=serdes.string, store=PRICES)
    orders = builder.stream(f"{posts}-others", key=serdes.string, value=serdes.string)
    orders.join(prices, lambda order, price: f"{order}+{price}").to(f"{posts}-joined", value=serdes.string)
    return builder.build()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_versioned_table_on_disk_is_there_after_a_restart(scene: Scene, tmp_path: Path, workers: int) -> None:
    topics = {f"{scene.posts}-others": 2, f"{scene.posts}-joined": 2}
    create_topics({"bootstrap.servers": scene.servers}, topics)
    base_ms = SystemClock().wall_ms() - 100_000
    writer = RecordWriter({"bootstrap.servers": scene.servers})
    for value, age_ms in (("new", 5_000), ("old", 3_000), ("oldest", 1_000)):
        writer.write(OutgoingRecord(scene.posts, b"tea", value.encode(), timestamp_ms=base_ms + age_ms))
    writer.flush(30)
    reads = []
    for _ in range(2):
        listener = Reading()
        app = KafkaStreams(
            partial(with_prices, scene.posts), application_id=f"{scene.posts}-app", bootstrap_servers=scene.servers,
            num_workers=workers, state_dir=str(tmp_path), state_restore_listener=listener, commit_interval_ms=100,
        )  # fmt: skip
        with app:
            app.wait_until_running(60)
            first = VersionedRecord("oldest", base_ms + 1_000, base_ms + 3_000)
            wait_until(partial(has_version, app, base_ms + 1_500, first))
            prices = app.store(PRICES)
            assert prices.get("tea", base_ms + 4_999) == VersionedRecord("old", base_ms + 3_000, base_ms + 5_000)
            assert prices.get("tea") == VersionedRecord("new", base_ms + 5_000, None)
            assert prices.get("tea", base_ms + 999) is None
        reads.append(sum(listener.reads.values()))
    if workers == 1:  # worker processes have listeners of their own
        assert reads == [0, 0]


def has_version(app: KafkaStreams, as_of_ms: int, wanted: VersionedRecord[str]) -> bool:
    with suppress(InvalidStateStoreError):
        return app.store(PRICES).get("tea", as_of_ms) == wanted
    return False


def partitions_of(app: KafkaStreams) -> list[int]:
    """The partitions of the counts that a process has."""
    found = []
    for partition in range(2):
        with suppress(StoreNotAvailableError):
            app.store(COUNTS, partition)
            found.append(partition)
    return found


@pytest.mark.parametrize("default_store", ["in_memory", pytest.param("lmdb", marks=pytest.mark.slow)])
def test_the_stores_of_worker_processes_are_read(scene: Scene, tmp_path: Path, default_store: DefaultStore) -> None:
    scene.publish(100)
    app = KafkaStreams(
        partial(word_count, scene.posts), application_id=f"{scene.posts}-app", bootstrap_servers=scene.servers,
        commit_interval_ms=100, num_workers=2, state_dir=str(tmp_path), default_dsl_store=default_store,
    )  # fmt: skip
    with app:
        app.wait_until_running(60)
        wait_until(lambda: counted(app) == times(100), 60, lambda: counted(app))
        view = wait_for_all(app)
        assert {word: view.get(word) for word in {*TEXT.split(), "absent"}} == {**times(100), "absent": None}
        assert list(view.range("b", "o")) == [("be", 200), ("not", 100)]
        parts = [dict(app.store(COUNTS, partition).all()) for partition in range(2)]
        assert sum(map(len, parts)) == len(times(1))
        with pytest.raises(StoreNotAvailableError, match="has no partition 7"):
            app.store(COUNTS, 7)
        if default_store == "lmdb":
            with standing_still(app):
                assert Counter(dict(view.all())) == times(100)
        stale = app.store(COUNTS, allow_stale=True)
        assert Counter(dict(stale.all())) == times(100)
        os.kill(worker_of(view), signal.SIGKILL)
        wait_until(lambda: has_gone(view), 60)
        if default_store == "lmdb":  # from the files of the dead worker, and of the next one
            assert Counter(dict(stale.all())) == times(100)
        wait_until(lambda: counted(app) == times(100), 60, lambda: counted(app))
    with pytest.raises(InvalidStateStoreError):
        view.get("to")


def users(posts: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(posts, key=serdes.string, value=serdes.string).group_by_key().count(store=COUNTS)
    return builder.build()


@pytest.mark.slow
def test_any_process_answers_over_http_whoever_has_the_key(scene: Scene, tmp_path: Path) -> None:
    ports = free_port(), free_port()

    def at(port: int, workers: int) -> KafkaStreams:
        return KafkaStreams(
            partial(word_count, scene.posts), application_id=f"{scene.posts}-app", bootstrap_servers=scene.servers,
            commit_interval_ms=100, application_server=f"localhost:{port}", num_workers=workers,
            state_dir=str(tmp_path / str(port)),
        )  # fmt: skip

    def asked(port: int, word: str) -> tuple[int, object]:
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/stores/counts/get?key={word}", timeout=60) as answer:
                return answer.status, json.load(answer).get("value")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, None

    scene.publish(100)
    wanted = {word: (200, count) for word, count in times(100).items()} | {"nowhere": (404, None)}
    found: dict[int, dict[str, tuple[int, object]]] = {}

    def all_are_right() -> bool:
        found.update({port: {word: asked(port, word) for word in wanted} for port in ports})
        return found == dict.fromkeys(ports, wanted)

    first, second = at(ports[0], 1), at(ports[1], 2)
    # They listen before the applications open connections, which might get one of the ports.
    with StateServer(first, f"localhost:{ports[0]}"), StateServer(second, f"localhost:{ports[1]}"), first, second:
        wait_until(lambda: counted(first) and counted(second) and all_are_right(), 60, lambda: found)
        second.close(60)
        wait_until(lambda: {word: asked(ports[0], word) for word in wanted} == wanted, 60)
        assert asked(ports[1], "be")[0] == 503


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_store_is_read_as_soon_as_it_has_what_was_written(scene: Scene, tmp_path: Path, workers: int) -> None:
    app = KafkaStreams(
        partial(users, scene.posts), application_id=f"{scene.posts}-app", bootstrap_servers=scene.servers,
        commit_interval_ms=100, num_workers=workers, state_dir=str(tmp_path),
    )  # fmt: skip
    with app:
        app.wait_until_running(60)
        scene.publish(20)
        wait_until(lambda: counted(app) == Counter({f"user{at}": 1 for at in range(20)}), 60)
        counts = app.store(COUNTS).position.offsets[scene.posts]
        assert sum(offset + 1 for offset in counts.values()) == 20
        twice = Position({scene.posts: {partition: 2 * offset + 1 for partition, offset in counts.items()}})
        with pytest.raises(StoreNotAvailableError, match=f"of {scene.posts}-. here, and at_least asks for offset"):
            app.store(COUNTS, at_least=twice)
        scene.publish(20)
        view = app.store(COUNTS, at_least=twice, timeout=60)
        assert dict(view.all()) == {f"user{at}": 2 for at in range(20)}
        assert view.position == twice
        for partition, offset in counts.items():
            assert app.store(COUNTS, partition).position == Position({scene.posts: {partition: 2 * offset + 1}})
    with pytest.raises(ValueError, match=r"topic 'post', which the tasks of store 'counts' do not read"):
        app.store(COUNTS, at_least=Position({"post": {0: 1}}))


def active_of(app: KafkaStreams, word: str) -> UserEndpoint | None:
    """The process that has a word, as a process tells it that does not have it."""
    try:
        app.store(COUNTS).get(word)
    except StateStoreMigratedError as error:
        return error.active
    return None


@pytest.mark.parametrize("protocol", ["streams", pytest.param("classic", marks=pytest.mark.slow)])
def test_the_process_that_has_a_key_is_found(
    scene: Scene, tmp_path: Path, protocol: Literal["streams", "classic"]
) -> None:
    def at(port: int, workers: int = 1) -> KafkaStreams:
        return KafkaStreams(
            partial(word_count, scene.posts) if workers > 1 else word_count(scene.posts),
            application_id=f"{scene.posts}-app", bootstrap_servers=scene.servers, commit_interval_ms=100,
            application_server=f"localhost:{port}", num_workers=workers, state_dir=str(tmp_path / str(port)),
            group_protocol=protocol,
        )  # fmt: skip

    scene.publish(100)
    with at(7001) as first, at(7002, workers=2) as second:
        apps = {7001: first, 7002: second}
        for app in apps.values():
            app.wait_until_running(60)
            app.key_query_metadata(COUNTS, "to")  # known at once, also where workers have to tell their parent
        wait_until(lambda: counted(first, second) == times(100) and counted(first) and counted(second), 60)

        def is_told() -> bool:
            """Whether both tell of each word the process whose store has it. Tasks may still move."""
            try:
                return are_all_told()
            except InvalidStateStoreError:
                return False

        def are_all_told() -> bool:
            for word in TEXT.split():
                having = [port for port, app in apps.items() if counted(app)[word]]
                told = [app.key_query_metadata(COUNTS, word) for app in apps.values()]
                if [[each.active and each.active.port] for each in told] != [having, having]:
                    return False
                partition = told[0].partition
                if apps[having[0]].store(COUNTS, partition).get(word) != times(100)[word]:
                    return False
                (other,) = apps.keys() - set(having)
                if active_of(apps[other], word) != told[0].active:
                    return False
            return True

        wait_until(is_told, 60, lambda: [app.streams_metadata_for_all_clients() for app in apps.values()])


def wait_for_all(app: KafkaStreams) -> KeyValueStore[str, int]:
    """Return a view whose tasks stay where they are: at the start they may move to the worker that joins last."""
    found: list[KeyValueStore[str, int]] = []

    def is_still() -> bool:
        try:
            for partition in range(2):
                app.store(COUNTS, partition)
            view = app.store(COUNTS)
            found.append(view)
            return Counter(dict(view.all())) == Counter(dict(view.all())) == times(100)
        except InvalidStateStoreError:
            return False

    wait_until(is_still, 60)
    return found[-1]


@contextmanager
def standing_still(app: KafkaStreams) -> Iterator[None]:
    """Let the workers of an application do nothing within the block."""
    slots: Any = app._worker._slots  # type: ignore[union-attr]
    for slot in slots:
        os.kill(slot.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for slot in slots:
            os.kill(slot.process.pid, signal.SIGCONT)


def has_gone(view: KeyValueStore[str, int]) -> bool:
    try:
        view.get("to")
    except InvalidStateStoreError:
        return True
    return False


def worker_of(view: Any) -> int:
    """The process of a worker that a view reads."""
    known: frozenset[tuple[int, int]] = view._state._known
    return min(process for process, _ in known)


@pytest.mark.slow
def test_standby_tasks_log_when_they_have_caught_up(caplog: pytest.LogCaptureFixture) -> None:
    settings = {**FAST, "group.streams.num.standby.replicas": 1}
    with EmbeddedCluster(settings=settings) as cluster, caplog.at_level("INFO"):
        scene = Scene(cluster.bootstrap_servers, "posts")
        cluster.create_topic(scene.posts, 2)
        scene.publish(100)
        with scene.app() as first:
            wait_until(lambda: counted(first) == times(100), 60)
            with scene.app() as second:
                wait_until(lambda: "Restored standby task 1_" in caplog.text, 60)
                wait_until(lambda: second.state is StreamsState.RUNNING, 60)
    assert "Restoring standby task 1_" in caplog.text


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


@pytest.mark.slow
def test_an_idle_application_ends_when_no_broker_has_answered_for_the_task_timeout() -> None:
    """Java's waits for ever. Here state and probes tell what the guide promises for all outages."""
    with EmbeddedCluster(settings=FAST) as cluster:
        cluster.create_topic("posts")
        app = KafkaStreams(
            word_count("posts"), application_id="idle", bootstrap_servers=cluster.bootstrap_servers,
            task_timeout_ms=1_000,
        )  # fmt: skip
        with app:
            app.wait_until_running(60)
            (broker,) = cluster.running_brokers
            cluster.stop_broker(broker)
            with pytest.raises(StreamsError, match="No broker answers"):
                wait_for_end(app)
            assert app.state is StreamsState.ERROR


def wait_for_end(app: KafkaStreams) -> None:
    wait_until(lambda: app.state is not StreamsState.RUNNING, 60)
    app.wait_until_running(60)


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
