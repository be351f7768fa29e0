"""The blocking consumer: its thread, its sockets, and every way in which a program can stop using it."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import delay
from kafka_groups.errors import ConcurrentUseError, IllegalStateError, OperationTimeoutError, WakeupError
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.share import KafkaShareConsumer
from tests.unit.share.clusters import GROUP, SETTINGS, TOPIC

ROOT = Path(__file__).parents[3]
NAME = "share-consumer-"


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        cluster.create_topic(TOPIC, 1)
        yield cluster


_groups = iter(range(1_000_000))


@pytest.fixture
def group(cluster: EmbeddedCluster) -> str:
    name = f"g{next(_groups)}"
    cluster.alter_group_configs(name, GROUP)
    return name


def sockets() -> int:
    """How many sockets this process has open."""
    return sum(1 for link in Path("/proc/self/fd").iterdir() if is_socket(link))


def is_socket(link: Path) -> bool:
    try:
        return str(link.readlink()).startswith("socket:")
    except FileNotFoundError:  # closed meanwhile, such as the one that lists the folder
        return False


@pytest.fixture(autouse=True)
def nothing_is_left_behind(cluster: EmbeddedCluster) -> Iterator[None]:
    before = sockets()
    yield
    gc.collect()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith(NAME)] == []
    deadline_ms = SystemClock().now_ms() + 5_000
    while sockets() > before or cluster.open_connections:
        assert SystemClock().now_ms() < deadline_ms, f"{sockets()} sockets, {before} before"


def consumer_of(cluster: EmbeddedCluster, group: str, **config: Any) -> KafkaShareConsumer:
    return KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=group, **config)


def produce(cluster: EmbeddedCluster, count: int, topic: str = TOPIC) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 5})
    for number in range(count):
        producer.produce(topic, value=b"%d" % number)
    assert producer.flush(10) == 0


def take(consumer: KafkaShareConsumer, count: int) -> list[Any]:
    records: list[Any] = []
    while len(records) < count:
        batch = list(consumer.poll(timeout=10))
        assert batch, f"{len(records)} of {count}"
        records += batch
    return records


@pytest.fixture(scope="module", autouse=True)
def records(cluster: EmbeddedCluster) -> None:
    produce(cluster, 30)


# --------------------------------------------------------------------------------------- ordinary life


def test_records_acknowledgements_and_the_end(cluster: EmbeddedCluster, group: str) -> None:
    told: list[Any] = []
    with consumer_of(cluster, group, acknowledgement_mode="explicit") as consumer:
        consumer.set_acknowledgement_callback(told.append)
        consumer.subscribe([TOPIC])
        assert consumer.subscription() == {TOPIC}
        for record in take(consumer, 30):
            consumer.acknowledge(record)
        assert set(consumer.commit_sync().values()) == {None}
        assert consumer.metrics()["records-consumed-total"] == 30
        assert consumer.acquisition_lock_timeout == 30.0
    assert sorted(offset for result in told for offset in result.offsets()) == list(range(30))


def test_records_may_be_held_over_polls(cluster: EmbeddedCluster, group: str) -> None:
    cluster.create_topic("held", 1)
    produce(cluster, 30, "held")
    with (
        consumer_of(cluster, group, acknowledgement_mode="explicit") as consumer,
        consumer_of(cluster, group, acknowledgement_mode="explicit") as other,
    ):
        consumer.subscribe(["held"])
        first = consumer.poll(10)
        assert not consumer.poll(0.2, hold=True), "everything is locked"
        produce(cluster, 5, "held")
        second = consumer.poll(10, hold=True)
        assert (len(first), len(second)) == (30, 5)
        with pytest.raises(IllegalStateError, match="must be acknowledged"):
            consumer.poll(0)
        assert consumer.acknowledge_all(second) == 5
        assert set(consumer.commit_sync().values()) == {None}
        assert consumer.acknowledge_all(first) == 30
        assert set(consumer.commit_sync().values()) == {None}
        other.subscribe(["held"])
        assert not other.poll(0.5)


def test_a_poll_with_no_time_returns_at_once(cluster: EmbeddedCluster, group: str) -> None:
    with consumer_of(cluster, group) as consumer:
        consumer.subscribe([TOPIC])
        assert len(consumer.poll(0)) in (0, 30)


def test_unsubscribing_and_subscribing_in_quick_succession(cluster: EmbeddedCluster, group: str) -> None:
    with consumer_of(cluster, group) as consumer:
        for _ in range(5):
            consumer.subscribe([TOPIC])
            consumer.poll(0)
            consumer.unsubscribe()
        consumer.subscribe([TOPIC])
        assert len(take(consumer, 30)) == 30


def test_closing_at_any_moment_of_the_start_does_not_hang(cluster: EmbeddedCluster, group: str) -> None:
    clock = SystemClock()
    for number in range(12):
        consumer = consumer_of(cluster, group)
        consumer.subscribe([TOPIC])
        if number % 3:
            consumer.poll(timeout=0.02 * number)
        before_ms = clock.now_ms()
        consumer.close()
        assert clock.now_ms() - before_ms < 10_000


def test_another_thread_is_turned_away_and_may_only_wake(cluster: EmbeddedCluster, group: str) -> None:
    with consumer_of(cluster, group) as consumer:
        consumer.subscribe([TOPIC])
        take(consumer, 30)
        consumer.commit_sync()
        outcome: list[BaseException] = []

        def intrude() -> None:
            while not consumer._inbox.is_waiting:
                pass
            for call in (lambda: consumer.poll(0), consumer.commit_sync, consumer.close):
                try:
                    call()
                except ConcurrentUseError as error:
                    outcome.append(error)
            consumer.wakeup()

        thread = threading.Thread(target=intrude)
        thread.start()
        with pytest.raises(WakeupError):
            consumer.poll(timeout=10)
        thread.join()
        assert len(outcome) == 3


def test_no_wake_up_of_another_thread_is_lost() -> None:
    consumer = KafkaShareConsumer(bootstrap_servers="127.0.0.1:1", group_id="g")
    consumer.subscribe([TOPIC])
    rounds, turnstile, woken = 400, threading.Semaphore(0), threading.Semaphore(0)

    def wake() -> None:
        for _ in range(rounds):
            turnstile.acquire()
            consumer.wakeup()
            woken.acquire()

    thread = threading.Thread(target=wake)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(rounds):
            turnstile.release()
            with pytest.raises(WakeupError):
                consumer.poll(timeout=20)
            woken.release()
    finally:
        sys.setswitchinterval(usual)
    thread.join()
    consumer.close(timeout=0)


@pytest.mark.parametrize("how", ["sync", "async", "next poll"])
def test_small_steps_in_quick_succession_never_wait_for_a_long_poll(
    cluster: EmbeddedCluster, group: str, how: str
) -> None:
    # What the application does is not noticed at once if the loop is not told; then it waits for a fetch to end.
    clock = SystemClock()
    started_ms = clock.now_ms()
    seen: list[int] = []
    with consumer_of(
        cluster, group, acknowledgement_mode="explicit", acquire_mode="record_limit", max_poll_records=1,
        fetch_max_wait_ms=40_000,
    ) as consumer:  # fmt: skip
        consumer.subscribe([TOPIC])
        while len(seen) < 30:
            for record in consumer.poll(timeout=10):
                consumer.acknowledge(record)
                seen.append(record.offset)
            if how == "sync":
                assert set(consumer.commit_sync(timeout=5).values()) == {None}
            elif how == "async":
                consumer.commit_async()
        consumer.commit_sync(timeout=5)
    assert seen == list(range(30))
    assert clock.now_ms() - started_ms < 40_000


@pytest.mark.parametrize("with_next_fetch", [False, True])
def test_commit_sync_waits_for_the_commits_before_it(
    cluster: EmbeddedCluster, group: str, with_next_fetch: bool
) -> None:
    with consumer_of(cluster, group, acknowledgement_mode="explicit") as consumer:
        consumer.subscribe([TOPIC])
        (record, *others) = take(consumer, 30)
        consumer.acknowledge(record)
        ticket = consumer.commit_async(with_next_fetch=with_next_fetch)
        assert consumer.commit_sync(timeout=5) == {}  # nothing else was acknowledged
        assert ticket.is_done
        assert list(ticket.results.values()) == [None]
        for other in others:
            consumer.acknowledge(other)


def test_close_is_bounded_when_nobody_can_be_reached() -> None:
    clock = SystemClock()
    consumer = KafkaShareConsumer(bootstrap_servers="127.0.0.1:1", group_id="g", acknowledgement_mode="explicit")
    consumer.subscribe([TOPIC])
    assert not consumer.poll(timeout=0.05)
    before_ms = clock.now_ms()
    consumer.close(timeout=0.2)
    assert clock.now_ms() - before_ms < 10_000


def test_a_commit_that_takes_too_long(cluster: EmbeddedCluster, group: str) -> None:
    with consumer_of(cluster, group, prefetch_batches=0) as consumer:
        consumer.subscribe([TOPIC])
        take(consumer, 30)
        rule = cluster.faults.on(ApiKey.SHARE_ACKNOWLEDGE, delay(500), times=1)
        with pytest.raises(OperationTimeoutError):
            consumer.commit_sync(timeout=0.05)
        assert consumer.commit_sync() == {}
        cluster.faults.remove(rule)


# ------------------------------------------------------------------------------------------ other ends


def test_a_consumer_that_is_forgotten_warns_and_ends_its_thread(cluster: EmbeddedCluster, group: str) -> None:
    consumer = consumer_of(cluster, group)
    consumer.subscribe([TOPIC])
    take(consumer, 30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del consumer
        gc.collect()
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, ResourceWarning)]
    assert messages == [f"<KafkaShareConsumer group {group} active> was not closed"]
    caught.clear()


def test_ctrl_c_in_a_poll_leaves_the_consumer_usable(cluster: EmbeddedCluster, group: str) -> None:
    with consumer_of(cluster, group) as consumer:
        consumer.subscribe([TOPIC])
        take(consumer, 30)
        consumer.commit_sync()

        def interrupt() -> None:
            while not consumer._inbox.is_waiting:
                pass
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(timeout=10)
        thread.join()
        assert not consumer.poll(timeout=0.05)


def run_script(script: str, cluster: EmbeddedCluster, group: str) -> "subprocess.CompletedProcess[str]":
    head = f"""
        import gc, os, signal, sys, threading, warnings
        from kafka_groups.share import KafkaShareConsumer, AsyncKafkaShareConsumer
        def make(**config):
            return KafkaShareConsumer(bootstrap_servers={cluster.bootstrap_servers!r}, group_id={group!r}, **config)
        def take(consumer, count):
            records = []
            while len(records) < count:
                records += consumer.poll(timeout=10)
            return records
    """
    program = textwrap.dedent(head) + textwrap.dedent(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", program],
        capture_output=True, text=True, timeout=60, check=False, env=environment,
    )  # fmt: skip


def test_ctrl_c_ends_a_program_that_waits_in_a_poll(cluster: EmbeddedCluster, group: str) -> None:
    done = run_script(
        f"""
        with make() as consumer:
            consumer.subscribe([{TOPIC!r}])
            take(consumer, 30)
            consumer.commit_sync()
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            consumer.poll()
        """,
        cluster,
        group,
    )
    assert done.returncode == -signal.SIGINT, done.stderr
    assert "ResourceWarning" not in done.stderr
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


def test_a_program_that_ends_without_closing_ends(cluster: EmbeddedCluster, group: str) -> None:
    done = run_script(
        f"""
        consumer = make()
        consumer.subscribe([{TOPIC!r}])
        take(consumer, 30)
        print("last line")
        """,
        cluster,
        group,
    )
    assert (done.returncode, done.stdout) == (0, "last line\n"), done.stderr
    assert "unclosed" not in done.stderr


@pytest.mark.slow
def test_a_forked_child_is_told_so_and_leaves_the_parents_session_alone(cluster: EmbeddedCluster, group: str) -> None:
    done = run_script(
        f"""
        from kafka_groups.errors import IllegalStateError
        consumer = make(acknowledgement_mode="explicit")
        consumer.subscribe([{TOPIC!r}])
        records = take(consumer, 30)
        child = os.fork()
        if child == 0:
            for call in (lambda: consumer.poll(0), consumer.commit_sync, consumer.unsubscribe, consumer.commit_async,
                         lambda: consumer.subscribe(["other"]), consumer.renew):
                try:
                    call()
                except IllegalStateError as error:
                    assert "fork" in str(error), error
                else:
                    os._exit(3)
            consumer.close()
            consumer.close()
            del consumer
            gc.collect()
            sys.exit(7)  # the ordinary way, with all that runs at the end of a process
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status))
        for record in records:
            consumer.acknowledge(record)
        print(set(consumer.commit_sync().values()))
        consumer.close()
        print([thread.name for thread in threading.enumerate()])
        """,
        cluster,
        group,
    )
    assert done.stdout.splitlines() == ["7", "{None}", "['MainThread']"], done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_child_that_forgets_the_consumer_leaves_the_parents_session_alone(
    cluster: EmbeddedCluster, group: str
) -> None:
    done = run_script(
        f"""
        import asyncio
        consumer = make(acknowledgement_mode="explicit")
        consumer.subscribe([{TOPIC!r}])
        records = take(consumer, 30)
        child = os.fork()
        if child == 0:
            del consumer, records
            gc.collect()
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        for record in records:
            consumer.acknowledge(record)
        print(os.waitstatus_to_exitcode(status), set(consumer.commit_sync().values()))
        consumer.close()
        """,
        cluster,
        group,
    )
    assert (done.stdout, done.returncode) == ("0 {None}\n", 0), done.stderr


def test_a_consumer_made_before_a_fork_may_be_used_in_the_child(cluster: EmbeddedCluster, group: str) -> None:
    done = run_script(
        f"""
        consumer = make()
        child = os.fork()
        if child == 0:
            with consumer:
                consumer.subscribe([{TOPIC!r}])
                sys.exit(len(take(consumer, 30)))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status))
        """,
        cluster,
        group,
    )
    assert (done.stdout, done.returncode) == ("30\n", 0), done.stderr


def test_a_blocking_call_from_the_callback_is_refused(cluster: EmbeddedCluster, group: str) -> None:
    refused: list[str] = []
    with consumer_of(cluster, group) as consumer:

        def callback(_fate: object) -> None:
            try:
                consumer.poll(0)
            except IllegalStateError as error:
                refused.append(str(error))

        consumer.set_acknowledgement_callback(callback)
        consumer.subscribe([TOPIC])
        take(consumer, 30)
        consumer.commit_sync()
    assert refused
    assert all("only wakeup()" in text for text in refused)
