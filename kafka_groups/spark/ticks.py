"""A streaming DataFrame without data, which starts one micro-batch of workers after another."""

from typing import TYPE_CHECKING

from kafka_groups.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["checked_workers", "worker_ticks"]


def worker_ticks(spark: "SparkSession", *, workers: int) -> "DataFrame":
    """Return a stream whose micro-batches have one partition for each worker.

    Pass `ShareWorkers.run` to its `foreachBatch`. The rows have no meaning, so a restart that repeats a micro-batch
    does not repeat records.

    Args:
        spark: The session, classic or of Spark Connect.
        workers: How many tasks poll in parallel. If there are more workers than slots, they wait for one another.

    Raises:
        ConfigurationError: `workers` is not a positive integer.
    """
    count = checked_workers(workers)
    source = spark.readStream.format("rate-micro-batch")
    return source.option("rowsPerBatch", count).option("numPartitions", count).load()


def checked_workers(workers: object) -> int:
    """Check a number of workers.

    Raises:
        ConfigurationError: It is not a positive integer.
    """
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise ConfigurationError(f"workers={workers!r}: give how many tasks are to poll side by side, 1 or more")
    return workers
