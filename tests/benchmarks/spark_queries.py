"""The streams that are compared, and the workers."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_groups.spark import ShareWorkers, register, worker_ticks
from tests.benchmarks.spark_counting import count_table
from tests.benchmarks.spark_runs import TASKS, Run

__all__ = ["register", "stream_of", "workers_of"]


def stream_of(spark: SparkSession, run: Run) -> DataFrame:
    """The stream whose micro-batches are counted."""
    if run.kind == "workers":
        return worker_ticks(spark, workers=TASKS)
    formats = {"kafka": "kafka", "share": "kafka-share", "ticks": "rate-micro-batch"}
    return spark.readStream.format(formats[run.kind]).options(**_options(run)).load()


def _options(run: Run) -> dict[str, Any]:
    topic = {"kafka.bootstrap.servers": run.bootstrap_servers, "subscribe": run.topic}
    match run.kind:
        case "kafka":
            return topic | {"startingOffsets": "earliest", "maxOffsetsPerTrigger": run.records_per_batch}
        case "share":
            limits = {"maxRecordsPerBatch": run.records_per_batch, "numPartitions": TASKS}
            return topic | limits | {"kafka.group.id": run.group_id}
        case _:
            return {"rowsPerBatch": TASKS, "numPartitions": TASKS}


def workers_of(run: Run) -> ShareWorkers:
    """Workers that take as many records in a micro-batch, all tasks together."""
    return ShareWorkers(
        {"bootstrap.servers": run.bootstrap_servers, "group.id": run.group_id},
        topics=[run.topic],
        process=count_table,
        max_poll_records=min(2_000, run.records_per_batch // TASKS),
        max_records=run.records_per_batch // TASKS,
        max_seconds=60.0,
    )
