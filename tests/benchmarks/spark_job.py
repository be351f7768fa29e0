"""The process with Spark: reads a `Run` a line from standard input, and writes an `Outcome` for each.

One session runs them all, one after the other, so that both sides of a ratio meet the same Java virtual machine.
"""

import itertools
import json
import sys
import tempfile
import threading
import time
from contextlib import suppress
from statistics import median
from typing import Any

import attrs
import psutil
from pyspark.sql import DataFrame, SparkSession

from tests.benchmarks.spark_batch_jobs import BatchJobs
from tests.benchmarks.spark_counting import COUNT_DDL, count_batches
from tests.benchmarks.spark_queries import register, stream_of, workers_of
from tests.benchmarks.spark_runs import BATCH_JOBS, MARK, TASK_TIMES, TASKS, TROUBLES, Outcome, Run

_RUN_TIMEOUT_S = 240.0


class Query:
    """One streaming query, which is stopped when all its batches have been seen."""

    def __init__(self, spark: SparkSession, run: Run) -> None:
        self._spark = spark
        self.run = run
        self._done = threading.Event()
        self._ends: list[float] = []
        self._records: list[int] = []
        self._cpu: list[float] = []
        self._results: list[Any] = []
        self._phases_ms: dict[str, float] = {}
        self._workers = workers_of(run) if run.kind == "workers" else None

    def outcome(self) -> Outcome:
        """Run it to its end."""
        with tempfile.TemporaryDirectory(prefix="kafka-groups-benchmark-") as checkpoint:
            writer = stream_of(self._spark, self.run).writeStream.foreachBatch(self._on_batch)
            query = writer.option("checkpointLocation", checkpoint).trigger(processingTime="0 seconds").start()
            try:
                self._wait_for(query)
                self._phases_ms = _phases_ms(query.recentProgress[-self.run.batches :])
            finally:
                query.stop()
        return self._counted()

    def _on_batch(self, batch: DataFrame, batch_id: int) -> None:
        if self._done.is_set():
            return
        if self._workers is None:
            rows = batch.mapInArrow(count_batches, COUNT_DDL).collect()
            self._end_of_batch(0 if self.run.kind == "ticks" else sum(row.records for row in rows))
        else:
            result = self._workers.run(batch, batch_id)
            self._results.append(result)
            self._end_of_batch(result.total.accepted)

    def _end_of_batch(self, records: int) -> None:
        if not self._ends and not records and self.run.kind != "ticks":
            return  # nothing has been assigned yet
        self._ends.append(time.perf_counter())
        self._records.append(records)
        self._cpu.append(_cpu_seconds() if len(self._ends) in self._edges() else 0.0)
        if len(self._ends) == self.run.warm_up_batches + self.run.batches:
            self._done.set()

    def _edges(self) -> tuple[int, int]:
        return self.run.warm_up_batches, self.run.warm_up_batches + self.run.batches

    def _wait_for(self, query: Any) -> None:
        deadline = time.monotonic() + _RUN_TIMEOUT_S
        while not self._done.wait(0.2):
            error = query.exception()
            assert error is None, error
            assert time.monotonic() < deadline, f"{self._records} records in {_RUN_TIMEOUT_S} s: {self.run}"

    def _counted(self) -> Outcome:
        first = self.run.warm_up_batches
        ends = self._ends[first - 1 :]
        return Outcome(
            records=self._records[first:],
            seconds=[end - start for start, end in itertools.pairwise(ends)],
            cpu_seconds=self._cpu[-1] - self._cpu[first - 1],
            task_seconds=_task_seconds(self._results[-self.run.batches :]),
            notes=_notes(self._results),
            phases_ms=self._phases_ms,
        )


def _phases_ms(progress: list[Any]) -> dict[str, float]:
    durations = [entry["durationMs"] for entry in progress]
    names = sorted({name for duration in durations for name in duration})
    return {name: median(duration.get(name, 0) for duration in durations) for name in names}


def _task_seconds(results: list[Any]) -> dict[str, float]:
    totals = [result.total for result in results]
    return {name: sum(getattr(total, f"{name}_ms") for total in totals) / 1000 for name in TASK_TIMES} if totals else {}


def _notes(results: list[Any]) -> dict[str, int]:
    totals = [result.total for result in results]
    return {name: sum(getattr(total, name) for total in totals) for name in TROUBLES} if totals else {}


def _cpu_seconds() -> float:
    """Of this process and all below it, those that have ended included."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _outcome(spark: SparkSession, run: Run) -> Outcome:
    if run.kind in BATCH_JOBS:
        return BatchJobs(spark, run, _cpu_seconds).outcome()
    return Query(spark, run).outcome()


def main() -> None:
    jars = ",".join(sys.argv[1:])
    spark = (
        SparkSession.builder.master(f"local[{TASKS}]")
        .config("spark.jars", jars)
        .config("spark.driver.memory", "2g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    try:
        register(spark)
        for line in sys.stdin:
            outcome = _outcome(spark, Run(**json.loads(line)))
            print(MARK + json.dumps(attrs.asdict(outcome)), flush=True)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
