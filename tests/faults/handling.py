"""What the pipelines do with a batch, in tasks and in the driver, and the faults that meet them there."""

import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from tests.faults.board import Board, pause
from tests.faults.ledger import Ledger
from tests.faults.plan import REQUESTED, SLOW_BATCH_MS, Fault, Kind, Point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OF_THE_PLAN_OF_A_BATCH = (Kind.DOUBLE_ACTION, Kind.STAGE_RERUN)
_ELSEWHERE = tuple(kind for kind in Kind if kind not in _OF_THE_PLAN_OF_A_BATCH)


class InjectedError(Exception):
    """A fault of the plan."""


class TaskFails(BaseException):
    """A fault of the plan that ends a task, whatever the code in it does about errors."""


@frozen
class Job:
    """What a driver is told to run; every process of the run has it.

    Attributes:
        design: See `Plan`.
        mode: See `Plan`.
        directory: Of the run: board, ledger, checkpoint.
        local_directory: Where Spark keeps its shuffle files.
        bootstrap_servers: Of the broker.
        topic: To consume.
        group_id: As a member of this group.
        tasks: See `Plan`.
        max_records: See `Plan`.
        backoff_ms: See `Plan`.
        dead_letter_topic: Where copies go; None for nowhere.
        poison: The value of a record that kills the worker that reads it; None for none.
        once_per_batch: Whether the sink skips a micro-batch whose number it has, as some sinks of Spark do.
    """

    design: str
    mode: str
    directory: str
    local_directory: str
    bootstrap_servers: str
    topic: str
    group_id: str
    tasks: int
    max_records: int
    backoff_ms: int = 5_000
    dead_letter_topic: str | None = None
    poison: str | None = None
    once_per_batch: bool = False

    @property
    def board(self) -> Board:
        """Faults, requests and counts."""
        return Board(Path(self.directory) / "board")

    @property
    def ledger(self) -> Ledger:
        """The sink."""
        return Ledger(Path(self.directory) / "ledger.db")

    @property
    def checkpoint(self) -> str:
        """Where a streaming query keeps its offsets."""
        return str(Path(self.directory) / "checkpoint")


# ---------------------------------------------------------------------------------------- in tasks


def handle(job: Job, records: Any) -> None:
    """Write the records of an Arrow table to the sink, with the faults that are due."""
    board, ledger = job.board, job.ledger
    if not records.num_rows:
        return
    board.count_call()
    _note_retry(board)
    ledger.saw(records)
    _lose_shuffle_files(job)
    if job.poison is not None and job.poison.encode() in records["value"].to_pylist():
        board.note(Kind.POISON)
        os.kill(os.getpid(), signal.SIGKILL)
    if board.is_sink_away:
        raise InjectedError(Kind.SINK_AWAY)
    strike(board, Point.BEFORE)
    half = records.num_rows // 2
    ledger.write(records.slice(0, half))
    strike(board, Point.INSIDE)
    ledger.write(records.slice(half))
    strike(board, Point.BETWEEN)


def sink_partition(job: Job, batches: Iterator[Any]) -> Iterator[Any]:
    """The task of a sink that runs on the executors: for mapInArrow, one row with the number of records."""
    import pyarrow as pa  # noqa: PLC0415 - only where Spark is

    records = list(batches)
    if records:
        handle(job, pa.Table.from_batches(records))
    yield pa.RecordBatch.from_pydict({"handled": [sum(batch.num_rows for batch in records)]})


def _note_retry(board: Board) -> None:
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        board.note(Kind.TASK_RETRY)


def _lose_shuffle_files(job: Job) -> None:
    """As a disk that is gone: the next task that reads them fails to, and so their stage is run again."""
    wanted = job.board.directory / "lose-shuffle-files"
    try:
        wanted.rename(wanted.with_suffix(".lost"))
    except FileNotFoundError:
        return
    for file in Path(job.local_directory).rglob("shuffle_*"):
        file.unlink(missing_ok=True)
    raise TaskFails("the shuffle files are lost")


# ----------------------------------------------------------------------------------- in the driver


def handle_batch(job: Job, frame: "DataFrame", batch_id: int) -> None:
    """Write the rows of a batch to the sink by a job of Spark, with the faults that are due in the driver."""
    if job.once_per_batch and not job.ledger.begin_batch(batch_id):
        return
    with_batch_faults(job, frame, batch_id, partial(_write, job))


def with_batch_faults(job: Job, frame: "DataFrame", batch_id: int, act: Callable[["DataFrame"], None]) -> None:
    """Act upon the DataFrame of a batch, with the faults that are due in the driver."""
    board = job.board
    strike(board, Point.BATCH)
    rerun = board.claim(Point.BATCH, Kind.STAGE_RERUN)
    if rerun is not None:
        frame = _shuffled(job, frame, batch_id)
    actions = [act]
    if board.claim(Point.BATCH, Kind.DOUBLE_ACTION) is not None:
        actions = [_count, act, act]
        board.note(Kind.DOUBLE_ACTION)
    for action in actions:
        action(frame)
    if rerun is not None:
        _note_rerun(job, batch_id, len(actions))
    strike(board, Point.AFTER)


def _count(frame: "DataFrame") -> None:
    frame.count()


def _write(job: Job, frame: "DataFrame") -> None:
    frame.mapInArrow(partial(sink_partition, job), "handled long").collect()


def _shuffled(job: Job, frame: "DataFrame", batch_id: int) -> "DataFrame":
    """The frame behind a shuffle whose files will be lost, in one partition: an empty one would read no file."""
    runs = _map_runs(job, batch_id)
    runs.mkdir(parents=True, exist_ok=True)
    (job.board.directory / "lose-shuffle-files").touch()
    return frame.mapInArrow(partial(_count_run, str(runs)), frame.schema).repartition(1)


def _count_run(directory: str, batches: Iterator[Any]) -> Iterator[Any]:
    from pyspark import TaskContext  # noqa: PLC0415

    context = TaskContext.get()
    assert context is not None
    (Path(directory) / f"{context.partitionId()}-{context.taskAttemptId()}").touch()
    yield from batches


def _note_rerun(job: Job, batch_id: int, actions: int) -> None:
    """Counted if a partition before the shuffle was computed more often than there were actions."""
    runs = Counter(path.name.split("-")[0] for path in _map_runs(job, batch_id).iterdir())
    if any(count > actions for count in runs.values()):
        job.board.note(Kind.STAGE_RERUN)
    shutil.rmtree(_map_runs(job, batch_id))


def _map_runs(job: Job, batch_id: int) -> Path:
    return job.board.directory / "map-runs" / str(batch_id)


# -------------------------------------------------------------------------------------- the faults


def strike(board: Board, point: Point) -> None:
    """Let the next fault that is due at this point happen, if there is one.

    Raises:
        InjectedError: It is an exception.
    """
    fault = board.claim(point, *_ELSEWHERE)
    if fault is not None:
        _strike(board, fault)


def _strike(board: Board, fault: Fault) -> None:
    if fault.kind in REQUESTED:
        board.request(fault)
    elif fault.kind is Kind.SLOW_BATCH:
        pause(SLOW_BATCH_MS / 1000)
        board.note(fault.kind)
    elif fault.kind is Kind.WORKER_KILLED:
        board.note(fault.kind)
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault.kind is Kind.TASK_RETRY:  # noted when the task comes again
        raise TaskFails(fault.kind)
    elif fault.kind is Kind.QUERY_STOPPED:
        board.note(fault.kind)
        board.ask_to_stop()
    else:
        board.note(fault.kind)
        if fault.kind is Kind.SINK_AWAY:
            board.begin_outage(fault.lasts_ms)
        raise InjectedError(fault.kind)
