"""Workers in Spark, on an embedded broker and on a real Kafka."""

import functools
import logging
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from attrs import frozen
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.spark import ShareBatch, ShareRunResult, ShareWorkers, ShareWorkersError, worker_ticks
from kafka_groups.spark.workers.consumers import close_idle
from kafka_groups.spark.workers.task_body import run_worker
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.targets import EMBEDDED_PROPERTIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

GROUP_CONFIGS = {
    "share.auto.offset.reset": "earliest",
    "share.session.timeout.ms": "2000",
    "share.heartbeat.interval.ms": "500",
    "share.assignment.interval.ms": "0",
}


@pytest.fixture(scope="module")
def embedded() -> Iterator[str]:
    with EmbeddedCluster(settings=dict(EMBEDDED_PROPERTIES)) as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture(params=["embedded", pytest.param("real_kafka", marks=[pytest.mark.real_kafka, pytest.mark.slow])])
def bootstrap_servers(request: pytest.FixtureRequest) -> str:
    broker = request.getfixturevalue(request.param)
    return str(getattr(broker, "bootstrap_servers", broker))


def filled(bootstrap_servers: str, name: str, records: int, **configs: str | None) -> dict[str, object]:
    """A topic of four partitions with the values v0, v1 …, and the configuration for a group of the same name.

    A group configuration that is None keeps the broker's value.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(name, 4, 1)])[name].result(60)
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        for key, value in {**GROUP_CONFIGS, **configs}.items()
        if value is not None
    ]
    (altered,) = admin.incremental_alter_configs(
        [ConfigResource(ResourceType.GROUP, name, incremental_configs=entries)]
    ).values()
    altered.result(60)
    produce(bootstrap_servers, name, records)
    return {"bootstrap.servers": bootstrap_servers, "group.id": name, "request.timeout.ms": 10_000}


def produce(bootstrap_servers: str, name: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "batch.num.messages": 50})
    for number in range(records):
        producer.produce(name, b"v%d" % number, partition=number % 4)
    assert producer.flush(20) == 0


@frozen
class Store:
    """Stores records by their key, in SQLite, and dies in the middle of it when it is told to.

    Attributes:
        path: The database.
    """

    path: Path

    def create(self) -> "Store":
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("CREATE TABLE stored (partition, offset, PRIMARY KEY (partition, offset))")
        return self

    def keys(self) -> set[tuple[int, int]]:
        with closing(sqlite3.connect(self.path)) as database:
            return set(database.execute("SELECT partition, offset FROM stored").fetchall())

    @property
    def fatal(self) -> Path:
        """While this file is there, the next one who sees it takes it away and dies."""
        return self.path.with_suffix(".fatal")

    def __call__(self, batch: ShareBatch) -> None:
        rows = batch.to_arrow(["partition", "offset"]).to_pylist()
        with closing(sqlite3.connect(self.path, timeout=30)) as database, database:
            database.executemany("INSERT OR REPLACE INTO stored VALUES (:partition, :offset)", rows)
        if self.fatal.exists():
            self.fatal.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


def everything(records: int) -> set[tuple[int, int]]:
    return {(number % 4, number // 4) for number in range(records)}


@pytest.mark.slow
@pytest.mark.spark_versions
def test_nothing_is_lost_when_a_worker_is_killed_and_the_query_starts_again(
    spark: "SparkSession", bootstrap_servers: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = unique("killed")
    config = filled(bootstrap_servers, name, 2_000)
    store = Store(tmp_path / "stored.db").create()
    workers = ShareWorkers(config, topics=[name], process=store, max_seconds=1.0, max_records=600)
    results: list[ShareRunResult] = []
    all_results: list[ShareRunResult] = []

    def on_batch(df: "DataFrame", batch_id: int) -> None:
        results.append(workers.run(df, batch_id))
        all_results.append(results[-1])

    def start() -> "StreamingQuery":
        ticks = worker_ticks(spark, workers=2).writeStream.foreachBatch(on_batch)
        return ticks.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    store.fatal.touch()
    query = start()
    wait_until(lambda: not query.isActive, 120)
    assert "Python worker exited unexpectedly" in str(query.exception())
    results.clear()
    produce(bootstrap_servers, name, 400)
    with caplog.at_level(logging.INFO, "kafka_groups.spark"):
        query = start()
        wait_until(lambda: store.keys() == everything(2_400) and results and results[-1].total.acquired == 0, 120)
        workers.stop_gracefully(query)
    assert query.exception() is None
    assert str(results[0]) in caplog.text
    recent = [result for result in all_results if result.workers]  # runs after the stop do nothing
    assert list(workers.recent_progress) == recent[-100:]
    assert sum(result.total.lock_lost for result in results) == 0
    assert max(result.total.max_delivery_count for result in results) <= 3
    assert workers.run(spark.range(1), 0) == ShareRunResult()
    rest = ShareWorkers(config, topics=[name], process=nothing).run_until(spark, workers=1, drained_for=0.5, timeout=60)
    assert (rest.total.acquired, rest.total.lag) == (0, 0)


def nothing(batch: ShareBatch) -> None:
    pass


def fail_on_v7(batch: ShareBatch) -> None:
    if b"v7" in batch.to_arrow(["value"]).column(0).to_pylist():
        raise ValueError("cannot bear v7")


def test_what_process_raises_is_raised_where_the_run_began_with_what_all_workers_did(
    spark: "SparkSession", embedded: str
) -> None:
    name = unique("failing")
    workers = ShareWorkers(filled(embedded, name, 40), topics=[name], process=fail_on_v7, max_seconds=2.0)
    with pytest.raises(ShareWorkersError, match="ValueError: cannot bear v7") as raised:
        workers.run_until(spark, workers=2, drained_for=0.5)
    result = raised.value.result
    assert result.total.released > 0
    assert result.failed
    assert "cannot bear v7" in str(result)
    frame = result.to_dataframe(spark)
    assert frame.selectExpr("sum(released)").first() == (result.total.released,)
    assert frame.where("error is not null").count() == len(result.errors)


def test_what_is_worth_saying_is_said_once(
    spark: "SparkSession", embedded: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = unique("latest")
    config = filled(embedded, name, 4, **{"share.auto.offset.reset": "latest"})
    workers = ShareWorkers(config, topics=[name], process=nothing, max_seconds=0.5)
    with caplog.at_level(logging.WARNING, "kafka_groups.spark"):
        workers.run_until(spark, workers=2, drained_for=0.1, timeout=60)
    assert caplog.text.count("share.auto.offset.reset=earliest") == 1


_POOL = ThreadPoolExecutor(1)
UNFINISHED: dict[str, Callable[[ShareBatch], object]] = {
    "map": lambda batch: map(print, batch),
    "future": lambda batch: _POOL.submit(_fail),
    "partial": lambda batch: functools.partial(print, batch),
    "false": lambda batch: False,
}


def _fail() -> None:
    raise ConnectionError("the sink is away")


@pytest.mark.parametrize("what", UNFINISHED)
def test_work_that_nobody_finished_is_not_accepted(bootstrap_servers: str, what: str) -> None:
    name = unique(f"unfinished-{what}")
    config = filled(bootstrap_servers, name, 100)
    made = ShareWorkers(config, topics=[name], process=_Unfinished(what), max_poll_records=100)
    result = run_worker(made.task(), 0)
    assert result.failed
    assert result.acquired == result.released > 0
    assert (result.accepted, result.rejected) == (0, 0)
    assert "Records are accepted only if process returns None" in result.error_summary
    close_idle()  # or its consumer keeps half of the partitions for a while
    stored: list[bytes] = []

    def is_complete() -> bool:
        stored.extend(record.raw_value or b"" for record in reader.poll(1.0))
        return len(stored) >= 100

    with KafkaShareConsumer(config) as reader:
        reader.subscribe([name])
        wait_until(is_complete)
    assert sorted(stored) == sorted(b"v%d" % number for number in range(100))


@frozen
class _Unfinished:
    """Looks up what it returns where it is called: a pool of threads cannot be pickled."""

    what: str

    def __call__(self, batch: ShareBatch) -> object:
        return UNFINISHED[self.what](batch)
