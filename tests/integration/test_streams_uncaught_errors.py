"""Errors that end a worker of a running application, on the embedded broker."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import (
    KafkaStreams,
    StreamsBuilder,
    StreamsState,
    Topology,
    UncaughtErrorResponse,
    serdes,
    stores,
)
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from tests.support.conditions import wait_until

Handler = Callable[[Exception], UncaughtErrorResponse]
COUNTS = stores.key_value("counts", serdes.string, serdes.int64)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={**FAST_SETTINGS, "group.streams.heartbeat.interval.ms": 100}) as cluster:
        cluster.create_topic("words")
        cluster.create_topic("counted")
        yield cluster


class Counting:
    """Counts words. The first so many attempts to process the word `bad` fail."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def build(self) -> Topology:
        builder = StreamsBuilder()
        words = builder.stream("words", key=serdes.string, value=serdes.string)
        checked = words.map_values(self.check, value=serdes.string)
        checked.group_by_key().count(store=COUNTS).to_stream().to("counted")
        return builder.build()

    def check(self, word: str) -> str:
        if word == "bad" and self.failures:
            self.failures -= 1
            raise ValueError(f"the word {word!r}")
        return word


def words() -> Topology:
    """Fails once, in whichever process that is."""
    builder = StreamsBuilder()
    read = builder.stream("words", key=serdes.string, value=serdes.string)
    read.map_values(fail_once, value=serdes.string).to("counted")
    return builder.build()


def fail_once(word: str) -> str:
    mark = Path(os.environ["FAILED_ONCE"])
    if not mark.exists():
        mark.touch()
        raise ValueError(word)
    return word


def replace(_error: Exception) -> UncaughtErrorResponse:
    return UncaughtErrorResponse.REPLACE_WORKER


def shut_all_down(_error: Exception) -> UncaughtErrorResponse:
    return UncaughtErrorResponse.SHUTDOWN_APPLICATION


def application(cluster: EmbeddedCluster, counting: Counting, handler: Handler | None = None) -> KafkaStreams:
    return KafkaStreams(
        counting.build,
        application_id="app",
        bootstrap_servers=cluster.bootstrap_servers,
        commit_interval_ms=100,
        uncaught_exception_handler=handler,
    )


def test_a_worker_is_replaced_until_the_record_can_be_processed(cluster: EmbeddedCluster) -> None:
    with application(cluster, Counting(2), replace) as app:
        cluster.produce("words", ["good", "bad", "good"], keys=["k"] * 3)
        wait_until(lambda: [int.from_bytes(each.value or b"") for each in cluster.records("counted")][-1:] == [3], 60)
        wait_until(lambda: app.store(COUNTS).get("k") == 3, 60)  # its commit ends after that of the output
    assert (app.state, app.error) == (StreamsState.NOT_RUNNING, None)


def test_an_error_of_one_process_shuts_all_of_them_down(cluster: EmbeddedCluster) -> None:
    with application(cluster, Counting(99), shut_all_down) as failing:
        failing.wait_until_running(60)
        with application(cluster, Counting(0)) as other:
            other.wait_until_running(60)
            cluster.produce("words", ["bad"], keys=["k"])
            wait_until(lambda: failing.state is StreamsState.ERROR, 60)
            wait_until(lambda: other.state is StreamsState.NOT_RUNNING, 60)
    assert (other.error, "the word 'bad'" in str(failing.error)) == (None, True)


def test_worker_processes_need_a_handler_that_they_can_import(cluster: EmbeddedCluster) -> None:
    with pytest.raises(ConfigurationError, match=r"uncaught_exception_handler cannot be pickled.*at the top level"):
        KafkaStreams(
            words,
            application_id="app",
            bootstrap_servers=cluster.bootstrap_servers,
            num_workers=2,
            uncaught_exception_handler=lambda _: UncaughtErrorResponse.REPLACE_WORKER,
        )


@pytest.mark.slow
def test_a_worker_process_replaces_its_worker(
    cluster: EmbeddedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILED_ONCE", str(tmp_path / "failed"))
    cluster.produce("words", ["bad"], keys=["k"])
    with KafkaStreams(
        words,
        application_id="app",
        bootstrap_servers=cluster.bootstrap_servers,
        num_workers=2,
        state_dir=str(tmp_path),
        uncaught_exception_handler=replace,
    ) as app:
        wait_until(lambda: len(cluster.records("counted")) == 1, 60)
        assert (tmp_path / "failed").exists()
    assert (app.state, app.error) == (StreamsState.NOT_RUNNING, None)
