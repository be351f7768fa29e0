"""The batch jobs that are compared: blocks of a drain, and Spark's own reads of the same records."""

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_groups.spark import drain
from tests.benchmarks.spark_counting import COUNT_DDL, count_batches
from tests.benchmarks.spark_runs import Outcome, Run

_MAX_SECONDS = 60.0


class BatchJobs:
    """The blocks of a drain, or as many reads of the next offsets: each is a job of its own."""

    def __init__(self, spark: SparkSession, run: Run, cpu_seconds: Callable[[], float]) -> None:
        self._spark = spark
        self._run = run
        self._cpu_seconds = cpu_seconds
        self._drain = drain(
            spark,
            {"bootstrap.servers": run.bootstrap_servers, "group.id": run.group_id or "unused"},
            topics=[run.topic],
            max_records=run.records_per_batch,
            max_seconds=_MAX_SECONDS,
        )

    def outcome(self) -> Outcome:
        """Run all of them."""
        run, one = self._run, self._drained if self._run.kind == "drain" else self._read
        ends, records, cpu_started = [time.perf_counter()], [], 0.0
        for number in range(run.warm_up_batches + run.batches):
            if number == run.warm_up_batches:
                cpu_started = self._cpu_seconds()
            records.append(one(number))
            ends.append(time.perf_counter())
        return Outcome(
            records=records[run.warm_up_batches :],
            seconds=[end - start for start, end in itertools.pairwise(ends)][run.warm_up_batches :],
            cpu_seconds=self._cpu_seconds() - cpu_started,
        )

    def _drained(self, _number: int) -> int:
        with self._drain as batch:
            assert batch.stopped_by == "records", f"{len(batch)} records, then it stopped by {batch.stopped_by}"
            assert _count(batch.df) == len(batch)
        return len(batch)

    def _read(self, number: int) -> int:
        each = self._run.records_per_batch // self._run.partitions
        options = {
            "kafka.bootstrap.servers": self._run.bootstrap_servers,
            "subscribe": self._run.topic,
            "startingOffsets": self._offsets(number * each),
            "endingOffsets": self._offsets((number + 1) * each),
        }
        count = _count(self._spark.read.format("kafka").options(**options).load())
        assert count == each * self._run.partitions, f"{count} records of {each} in {self._run.partitions} partitions"
        return count

    def _offsets(self, offset: int) -> str:
        return json.dumps({self._run.topic: {str(partition): offset for partition in range(self._run.partitions)}})


def _count(frame: DataFrame) -> int:
    rows: list[Any] = frame.mapInArrow(count_batches, COUNT_DDL).collect()
    return sum(row.records for row in rows)
