"""The metrics of workers: one row for each task, and the result of a run."""

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import asdict, evolve, fields, frozen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["METRICS_DDL", "ShareRunResult", "WorkerMetrics", "metrics_batch"]


@frozen(kw_only=True)
class WorkerMetrics:
    """Metrics of one task of a Python worker.

    Every acquired record is in exactly one of the counts `accepted`, `released`, `rejected` and `lock_lost`.

    Attributes:
        worker: Number of the task's partition.
        host: The host on which it ran.
        pid: The process.
        member_id: The member of the share group.
        polls: Polls, including empty ones.
        acquired: Records that polls returned.
        accepted: Records that the brokers confirmed as accepted.
        released: Records that were released, to be redelivered.
        rejected: Records that were rejected, and are not redelivered.
        lock_lost: Records whose acknowledgement the broker refused or did not answer; they are redelivered.
        dead_lettered: Copies written to the dead-letter topic.
        renewed: Lock renewals, counted per partition and fetch.
        bytes: Bytes fetched, as counted on the wire.
        poll_ms: Time spent in polls, including waiting.
        process_ms: Time spent in `process`.
        ack_ms: Time spent waiting for brokers to confirm.
        empty_ms: Time without new records before the task ended, while there were partitions to fetch from.
        lag: The number of records left for the group when this worker found no more (`run_until`); None if it was not
            asked for or is unknown.
        lag_unknown: Why it is unknown whether records are left, with the remedy; None if it is known or was not asked
            for.
        patience_ms: For how long no record must arrive before a run ends although `lag` is unknown; 0 if waiting does
            not help, so that `drained_for` decides.
        max_delivery_count: The highest delivery count seen.
        error: The last error with its traceback, or None.
        failed: Whether the run raises because of the error.
        notes: Warnings about the group's configuration.
    """

    worker: int
    host: str = ""
    pid: int = 0
    member_id: str = ""
    polls: int = 0
    acquired: int = 0
    accepted: int = 0
    released: int = 0
    rejected: int = 0
    lock_lost: int = 0
    dead_lettered: int = 0
    renewed: int = 0
    bytes: int = 0
    poll_ms: int = 0
    process_ms: int = 0
    ack_ms: int = 0
    empty_ms: int = 0
    lag: int | None = None
    lag_unknown: str | None = None
    patience_ms: int = 0
    max_delivery_count: int = 0
    error: str | None = None
    failed: bool = False
    notes: tuple[str, ...] = ()

    @property
    def error_summary(self) -> str:
        """The last line of the error; empty if there is none."""
        return self.error.strip().splitlines()[-1] if self.error else ""

    def row(self) -> dict[str, Any]:
        """Return the metrics as a row of `METRICS_DDL`."""
        return {**asdict(self), "notes": list(self.notes)}

    def plus(self, later: "WorkerMetrics") -> "WorkerMetrics":
        """Add what the same process did in a later task: counts and times are summed."""
        sums = {name: getattr(self, name) + getattr(later, name) for name in _SUMMED}
        return evolve(
            later,
            **sums,
            max_delivery_count=max(self.max_delivery_count, later.max_delivery_count),
            error=later.error or self.error,
            failed=later.failed or self.failed,
            notes=tuple(dict.fromkeys((*self.notes, *later.notes))),
        )


_SUMMED = (
    "polls",
    "acquired",
    "accepted",
    "released",
    "rejected",
    "lock_lost",
    "dead_lettered",
    "renewed",
    "bytes",
    "poll_ms",
    "process_ms",
    "ack_ms",
)

METRICS_DDL = (
    "worker int, host string, pid int, member_id string, polls bigint, acquired bigint, accepted bigint,"
    " released bigint, rejected bigint, lock_lost bigint, dead_lettered bigint, renewed bigint, bytes bigint,"
    " poll_ms bigint, process_ms bigint, ack_ms bigint, empty_ms bigint, lag bigint, lag_unknown string,"
    " patience_ms bigint, max_delivery_count int,"
    " error string, failed boolean, notes array<string>"
)
"""The columns of `WorkerMetrics` as a Spark schema."""

_SHOWN = ("worker", "pid", *_SUMMED, "max_delivery_count")
_NAMES = tuple(field.name for field in fields(WorkerMetrics))


@frozen
class ShareRunResult:
    """Metrics of all workers of a run; `str(result)` is a table.

    Attributes:
        workers: The metrics of each worker.
        lag_unknown: Why the run ended without knowing whether the group has records left, with the remedy. None if it
            knows that none are left, or did not ask: only `run_until` does.
    """

    workers: tuple[WorkerMetrics, ...] = ()
    lag_unknown: str | None = None

    @classmethod
    def of_rows(cls, rows: Iterable[Any]) -> "ShareRunResult":
        """Create a result from Spark's rows with the columns of `METRICS_DDL`."""
        values = ({name: row[name] for name in _NAMES} for row in rows)
        workers = (WorkerMetrics(**{**named, "notes": tuple(named["notes"] or ())}) for named in values)
        found = tuple(sorted(workers, key=lambda worker: worker.worker))
        return cls(found, _unknown(found))

    def __str__(self) -> str:
        lines = [_SHOWN, *map(_cells, self.workers), _cells(self.total, name="total")]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        errors = [f"worker {w.worker} (pid {w.pid}): {w.error_summary}" for w in self.workers if w.error]
        doubt = [] if self.lag_unknown is None else [self.lag_unknown]
        return "\n".join((*table, *errors, *doubt))

    @property
    def total(self) -> WorkerMetrics:
        """The sums of counts and times over all workers, and the highest delivery count."""
        return reduce(WorkerMetrics.plus, self.workers, WorkerMetrics(worker=_ALL))

    @property
    def errors(self) -> tuple[str, ...]:
        """The last error of each worker that had one, with its traceback."""
        return tuple(worker.error for worker in self.workers if worker.error)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the group's configuration, each one once."""
        return tuple(dict.fromkeys(note for worker in self.workers for note in worker.notes))

    @property
    def failed(self) -> bool:
        """True if a worker had an error because of which the run raises."""
        return any(worker.failed for worker in self.workers)

    def plus(self, later: "ShareRunResult") -> "ShareRunResult":
        """Add what the same workers did in a later run, process by process."""
        merged = {(worker.host, worker.pid): worker for worker in self.workers}
        for worker in later.workers:
            place = (worker.host, worker.pid)
            merged[place] = merged[place].plus(worker) if place in merged else worker
        return ShareRunResult(tuple(merged.values()), later.lag_unknown)

    def to_dataframe(self, spark: "SparkSession") -> "DataFrame":
        """Return a DataFrame with one row for each worker and the columns of `METRICS_DDL`."""
        return spark.createDataFrame([worker.row() for worker in self.workers], METRICS_DDL)


_ALL = -1


def _unknown(workers: Iterable[WorkerMetrics]) -> str | None:
    """Return why the lag is unknown, unless a worker knows that records are left."""
    reasons = [worker.lag_unknown for worker in workers if worker.lag_unknown is not None]
    return reasons[-1] if reasons and not any(worker.lag for worker in workers) else None


def _cells(worker: WorkerMetrics, name: str | None = None) -> tuple[str, ...]:
    cells = tuple(str(getattr(worker, column)) for column in _SHOWN)
    return cells if name is None else (name, "", *cells[2:])


def metrics_batch(metrics: WorkerMetrics) -> pa.RecordBatch:
    """Return the metrics as the one row that a task gives to Spark."""
    return pa.RecordBatch.from_pylist([metrics.row()], schema=_SCHEMA)


_ARROW_TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "array<string>": pa.list_(pa.string()),
}
_SCHEMA = pa.schema([
    (name, _ARROW_TYPES[spelled]) for name, spelled in (column.split() for column in METRICS_DDL.split(","))
])  # fmt: skip
