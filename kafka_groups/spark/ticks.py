"""A streaming DataFrame without data of its own: what starts one micro-batch of workers after the other."""

from typing import TYPE_CHECKING

from kafka_groups.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["checked_workers", "worker_ticks"]


def worker_ticks(spark: "SparkSession", *, workers: int) -> "DataFrame":
    """A stream whose micro-batches have one partition for each worker.

    Its rows mean nothing; a restart that repeats a micro-batch repeats no records. Give `ShareWorkers.run` what
    `foreachBatch` makes of it.

    Args:
        spark: The session; also one of Spark Connect.
        workers: How many tasks poll side by side. More than the cluster has slots wait for one another.

    Raises:
        ConfigurationError: Not a positive number.
    """
    count = checked_workers(workers)
    source = spark.readStream.format("rate-micro-batch")
    return source.option("rowsPerBatch", count).option("numPartitions", count).load()


def checked_workers(workers: object) -> int:
    """A number of workers.

    Raises:
        ConfigurationError: It is not a positive integer.
    """
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise ConfigurationError(f"workers={workers!r}: give how many tasks are to poll side by side, 1 or more")
    return workers
