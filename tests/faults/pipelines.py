"""The designs under faults: each runs until its board says that it is finished, and starts again when it fails."""

from collections.abc import Callable, Mapping
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING

from attrs import frozen
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.spark import ShareBatch, ShareWorkers, drain, register, worker_ticks
from tests.faults import naive_commit, naive_read
from tests.faults.board import pause
from tests.faults.handling import InjectedError, Job, handle, handle_batch, with_batch_faults
from tests.faults.plan import ONCE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader

_MOST_FAILURES = 20
_LOOK_S = 0.1
_PROCESSING_TIME = "0 seconds"
_AVAILABLE_NOW = "available-now"

Pipeline = Callable[[Job, "SparkSession"], None]


def run_pipeline(job: Job, spark: "SparkSession") -> list[str]:
    """Run a design, again and again until the board is finished, as a supervisor would; the failures.

    Raises:
        RuntimeError: It failed so often that there is no sense in going on.
    """
    failures: list[str] = []
    while not job.board.is_finished:
        try:
            PIPELINES[job.design](job, spark)
        except (InjectedError, KafkaGroupsError, PySparkException, Py4JError) as error:
            failures.append(_last_lines(error))
            if len(failures) >= _MOST_FAILURES:
                raise RuntimeError("\n".join(failures)) from error
        if job.mode == ONCE:
            break
    return failures


def _last_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "Exception" in line]
    return f"{type(error).__name__}: {(telling or lines or ['no word'])[-1]}"[:300]


# ----------------------------------------------------------------------------------------- workers


@frozen
class Process:
    """What the workers do with a batch."""

    job: Job

    def __call__(self, batch: ShareBatch) -> None:
        handle(self.job, batch.to_arrow())


def _workers(job: Job, spark: "SparkSession") -> None:
    workers = ShareWorkers(
        bootstrap_servers=job.bootstrap_servers,
        group_id=job.group_id,
        topics=[job.topic],
        process=Process(job),
        max_records=2 * job.max_records,
        max_seconds=1.0,
        max_poll_records=job.max_records,
        idle_close_seconds=5.0,
        dead_letter_topic=job.dead_letter_topic,
    )
    if job.mode == "run_until":
        workers.run_until(spark, workers=job.tasks, drained_for=0.5)
    else:
        _worker_query(job, spark, workers)


def _worker_query(job: Job, spark: "SparkSession", workers: ShareWorkers) -> None:
    def on_batch(batch: "DataFrame", batch_id: int) -> None:
        with_batch_faults(job, batch, batch_id, lambda frame: _run(workers, frame, batch_id))

    ticks = worker_ticks(spark, workers=job.tasks).writeStream.foreachBatch(on_batch)
    ticks = ticks.option("checkpointLocation", job.checkpoint).trigger(processingTime=_PROCESSING_TIME)
    query = ticks.start()
    _until_finished(job, query, lambda: workers.stop_gracefully(query))


def _run(workers: ShareWorkers, frame: "DataFrame", batch_id: int) -> None:
    workers.run(frame, batch_id)


# ----------------------------------------------------------------------------------------- streams


def _source(job: Job, spark: "SparkSession") -> None:
    register(spark)
    options = {
        "kafka.bootstrap.servers": job.bootstrap_servers,
        "kafka.share.group.id": job.group_id,
        "subscribe": job.topic,
        "numPartitions": str(job.tasks),
        "maxRecordsPerBatch": str(job.max_records),
        "backoffMs": str(job.backoff_ms),
        **({"deadLetterTopic": job.dead_letter_topic} if job.dead_letter_topic else {}),
    }
    _stream(job, spark.readStream.format("kafka-share").options(**options).load())


# ------------------------------------------------------------------------------------------- drain


def _drain(job: Job, spark: "SparkSession") -> None:
    config = {
        "bootstrap.servers": job.bootstrap_servers,
        "group.id": job.group_id,
        "max.poll.records": job.max_records,
    }
    for number in count():
        if job.board.is_finished:
            return
        with drain(spark, config, topics=[job.topic], max_records=job.max_records, idle_seconds=0.5) as batch:
            if len(batch):
                handle_batch(job, batch.df, number)


# ------------------------------------------------------------------------------- the naive designs


def _naive_read(job: Job, spark: "SparkSession") -> None:
    spark.dataSource.register(naive_read.NaiveReadSource)
    _stream(job, _naive_options(job, spark.readStream.format("naive-read")))


def _naive_commit(job: Job, spark: "SparkSession") -> None:
    spark.dataSource.register(naive_commit.NaiveCommitSource)
    _stream(job, _naive_options(job, spark.readStream.format("naive-commit")))


def _naive_options(job: Job, reader: "DataStreamReader") -> "DataFrame":
    options = {
        "servers": job.bootstrap_servers,
        "group": job.group_id,
        "topic": job.topic,
        "tasks": str(job.tasks),
        "records": str(job.max_records),
    }
    return reader.options(**options).load()


def _stream(job: Job, frame: "DataFrame") -> None:
    """A query with the sink of the runs, until it ends or the board is finished."""

    def on_batch(batch: "DataFrame", batch_id: int) -> None:
        handle_batch(job, batch, batch_id)

    writer = frame.writeStream.foreachBatch(on_batch).option("checkpointLocation", job.checkpoint)
    if job.mode in (ONCE, _AVAILABLE_NOW):
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=_PROCESSING_TIME)
    query = writer.start()
    _until_finished(job, query, query.stop)


def _until_finished(job: Job, query: "StreamingQuery", stop: Callable[[], None]) -> None:
    try:
        while not job.board.is_finished:
            if not query.isActive:
                query.awaitTermination()  # raises what ended it
                return
            if job.board.takes_stop():
                return  # and the query is stopped, whatever it does at the moment
            pause(_LOOK_S)
        stop()
    finally:
        query.stop()


PIPELINES: Mapping[str, Pipeline] = MappingProxyType({
    "workers": _workers,
    "source": _source,
    "drain": _drain,
    "naive-read": _naive_read,
    "naive-commit": _naive_commit,
})  # fmt: skip
