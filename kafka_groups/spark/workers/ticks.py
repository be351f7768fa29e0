"""A streaming DataFrame without data, which starts one micro-batch of workers after another."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.processes.interpreter import check_driver_python, choose_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["checked_workers", "worker_ticks"]

_ENDING_TRIGGERS = ("availableNow", "once")


def worker_ticks(spark: "SparkSession", *, workers: int) -> "DataFrame":
    """Return a stream whose micro-batches have one partition for each worker.

    Pass `ShareWorkers.run` to its `foreachBatch`. The rows have no meaning, so a restart that repeats a micro-batch
    does not repeat records.

    The stream does not know how many records a group has, so a trigger that ends by itself (`availableNow`, `once`)
    would end after one micro-batch and leave records behind. It is refused: `ShareWorkers.run_until` runs to the end.

    Args:
        spark: The session, classic or of Spark Connect.
        workers: The number of tasks that poll in parallel. If there are more workers than slots, some wait for others.

    Raises:
        ConfigurationError: `workers` is not a positive integer, or Spark's Python lacks this package. `trigger` of the
            stream's writer raises it for a trigger that ends by itself.
    """
    count = checked_workers(workers)
    choose_python(spark)
    check_driver_python(spark)
    source = spark.readStream.format("rate-micro-batch")
    return _endless(source.option("rowsPerBatch", count).option("numPartitions", count).load(), count)


def _endless(frame: Any, workers: int) -> "DataFrame":
    """Return the stream with a writer that refuses triggers that end by themselves.

    Spark tells neither `foreachBatch` nor the source of the rows which trigger a query has.
    """
    kind: Any = type(frame)

    def write_stream(self: Any) -> Any:
        writer = kind.writeStream.fget(self)
        writer.trigger = functools.partial(_trigger, writer.trigger, workers)
        return writer

    members = {"writeStream": property(write_stream, doc=kind.writeStream.__doc__), "__module__": kind.__module__}
    frame.__class__ = type(kind.__name__, (kind,), members)
    checked: DataFrame = frame
    return checked


def _trigger(trigger: Callable[..., Any], workers: int, **how: Any) -> Any:
    for name in _ENDING_TRIGGERS:
        if how.get(name):
            raise ConfigurationError(
                f"trigger({name}=True) ends workers after one micro-batch, however many records are left: call"
                f" run_until(spark, workers={workers}) of the ShareWorkers, which ends when the group has no more"
                " records, or use trigger(processingTime='1 second') for a query that keeps running"
            )
    return trigger(**how)


def checked_workers(workers: object) -> int:
    """Check a number of workers.

    Raises:
        ConfigurationError: It is not a positive integer.
    """
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise ConfigurationError(f"workers={workers!r}: give the number of tasks that poll in parallel, 1 or more")
    return workers
