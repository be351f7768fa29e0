"""Jobs of a user: each function gets a session, classic or of Spark Connect, and returns what JSON can say."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark import ShareBatch, ShareWorkers, drain, register, worker_ticks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["DRAINED", "drained", "sourced", "worked"]

Answer = dict[str, Any]
T = TypeVar("T")
_TRIES = 5

DRAINED: Answer = {
    "rejected": 5,
    "released": 1,
    "accepted": 4,
    "values": [f"v{number}" for number in range(10)],
    "left": [[0, 2]],
    "size": 1,
    "failed": "mine",
}
"""What `drained` is to return for one partition with the values v0 to v9."""


def drained(spark: "SparkSession", config: dict[str, object], topic: str, path: str) -> Answer:
    """Drain into Parquet, reject some by a DataFrame, and then fail while draining what is left."""
    draining = drain(spark, config, topics=[topic], max_records=10, idle_seconds=30)
    with draining as batch:
        odd = batch.df.where("offset % 2 = 1")
        rejected = batch.reject(odd)
        released = batch.release(batch.df.where("offset = 0"))
        batch.df.write.mode("append").parquet(path)
    failed = ""
    try:
        with drain(spark, config, topics=[topic], max_records=1, idle_seconds=30) as again:
            left, empty = again.df.select("offset", "delivery_count").collect(), len(again)
            raise ValueError("mine")
    except ValueError as error:
        failed = str(error)
    total = draining.result.total
    return {
        "rejected": rejected,
        "released": released,
        "accepted": total.accepted,
        "values": sorted(row.value.decode() for row in spark.read.parquet(path).collect()),
        "left": [list(row) for row in left],
        "size": empty,
        "failed": failed,
    }


class SqlProcess:
    """Stores records by their key, as often as they come."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, batch: ShareBatch) -> None:
        """Insert or replace."""
        rows = [(record.topic, record.partition, record.offset) for record in batch]
        with closing(sqlite3.connect(self.path, timeout=30)) as database, database:
            database.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", rows)


def worked(spark: "SparkSession", config: dict[str, object], topic: str, path: str) -> Answer:
    """Workers drain a topic in rounds of their own, and then within foreachBatch."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE records (topic, partition, offset, PRIMARY KEY (topic, partition, offset))")
    workers = ShareWorkers(config, topics=[topic], process=SqlProcess(path), max_records=50, max_seconds=1.0)
    result = workers.run_until(spark, workers=2, drained_for=1.0, timeout=60)

    def on_batch(df: "DataFrame", batch_id: int) -> None:
        workers.run(df, batch_id)

    ticks = worker_ticks(spark, workers=1)
    query = _patiently(lambda: ticks.writeStream.foreachBatch(on_batch).start())
    workers.stop_gracefully(query)
    with closing(sqlite3.connect(path)) as database:
        (count,) = database.execute("SELECT count(*) FROM records").fetchone()
    return {"accepted": result.total.accepted, "stored": count, "active": query.isActive}


def sourced(spark: "SparkSession", options: dict[str, str], path: str) -> Answer:
    """The streaming source, once through what is available, into Parquet; or why it refuses this Spark."""
    try:
        register(spark)
    except ConfigurationError as error:
        return {"refused": str(error)}
    frame = spark.readStream.format("kafka-share").options(**options).load()
    writer = frame.writeStream.format("parquet").option("checkpointLocation", f"{path}-checkpoint")
    finished = _patiently(lambda: writer.trigger(availableNow=True).start(path).awaitTermination(60))
    rows = spark.read.parquet(path)
    return {"finished": finished, "rows": rows.count(), "keys": rows.select("partition", "offset").distinct().count()}


def _patiently(action: Callable[[], T]) -> T:
    """Do something that starts a Python process of Spark, which has ten seconds for it, too few on a busy machine."""
    for _ in range(_TRIES - 1):
        try:
            return action()
        except Exception as error:
            if "connect back" not in str(error):  # Spark's own classes differ between classic and Connect
                raise
    return action()
