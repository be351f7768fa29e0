"""The body of a task: poll, process, acknowledge, again and again, in one Python worker of Spark.

Nothing leaves the task but figures. A record is accepted after `process` returned, by the process that ran it, so that
a worker may be killed at any moment: what it had not accepted is delivered again.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from kafka_groups.errors import CorruptRecordError, KafkaGroupsError
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.share.delivery.records import AnyRecords, ShareRecords
from kafka_groups.spark.acknowledging import Acknowledger, Tally
from kafka_groups.spark.batch import ShareBatch
from kafka_groups.spark.budget import BudgetLimits, PollBudget
from kafka_groups.spark.consumers import ConsumerSpec, HeldConsumer, leased
from kafka_groups.spark.group_configs import DEFAULT_DELIVERY_LIMIT, notes_on
from kafka_groups.spark.group_queries import group_lag
from kafka_groups.spark.handling import Handling, PollHandler
from kafka_groups.spark.policy import DeliveryPolicy, OnError
from kafka_groups.spark.result import WorkerMetrics, metrics_batch

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TaskBody", "WorkerTask", "run_worker", "task_body"]

TaskBody = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

_FETCHES = "fetch-total"
_BYTES = "bytes-consumed-total"
_RENEWALS = "renewals-send-total"


@frozen(kw_only=True)
class WorkerTask:
    """What a task has to do; travels to the executors.

    Attributes:
        spec: The consumer.
        limits: When the task ends.
        on_error: What becomes of a batch that fails.
    """

    spec: ConsumerSpec
    limits: BudgetLimits
    on_error: OnError


def task_body(task: WorkerTask) -> TaskBody:
    """The function for `mapInArrow`: takes no notice of its input and yields one row of figures."""

    def body(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        from pyspark import TaskContext  # noqa: PLC0415 - there is one in Spark's workers only

        for _ in batches:
            pass
        context = TaskContext.get()
        yield metrics_batch(run_worker(task, 0 if context is None else context.partitionId()))

    return body


def run_worker(task: WorkerTask, number: int) -> WorkerMetrics:
    """Poll, process and acknowledge until the task's limits are reached; holds no record afterwards.

    Args:
        task: What to do.
        number: The number of the worker in its run.
    """
    with leased(task.spec) as held:
        worker = _Worker(held, task, SystemClock())
        worker.run()
        held.is_broken = worker.is_broken
        return worker.metrics(number)


class _Worker:
    def __init__(self, held: HeldConsumer, task: WorkerTask, clock: Clock) -> None:
        self._held = held
        self._task = task
        self._clock = clock
        self._consumer = held.consumer
        self._tally = Tally()
        self._budget = PollBudget(task.limits, clock.now_ms())
        limit = held.settings.delivery_limit or DEFAULT_DELIVERY_LIMIT
        self._pause = threading.Event()
        handling = Handling(
            process=held.process,
            on_error=task.on_error,
            policy=DeliveryPolicy(limit),
            dead_letters=held.dead_letters,
            wait=self._pause.wait,
        )
        self._handler = PollHandler(handling, Acknowledger(self._consumer, self._tally, clock), self._tally, clock)
        self._before = held.consumer.metrics()
        self.is_broken = False

    def run(self) -> None:
        self._back_off()
        while not self.is_broken and (timeout_ms := self._budget.next_timeout_ms(self._clock.now_ms())) is not None:
            records = self._poll(timeout_ms)
            if records:
                self._handle(ShareBatch(records, self._consumer.renew))
        self._consumer.pause()

    def _handle(self, batch: ShareBatch) -> None:
        if self._handler.handle(batch):
            self._held.backoff.succeeded()
        else:
            self._held.backoff.failed(self._clock.now_ms())
        self.is_broken = not self._handler.is_fit
        if self._tally.failed:
            self._budget.spend()
        else:
            self._back_off()

    def _poll(self, timeout_ms: int) -> AnyRecords:
        started_ms = self._clock.now_ms()
        self._consumer.fetches_ahead = self._budget.expects_another(started_ms)
        records = self._polled(timeout_ms / 1000)
        self._tally.polls += 1
        self._tally.poll_ms += self._clock.now_ms() - started_ms
        self._tally.acquired += len(records)
        self._budget.polled(len(records), is_answered=self._is_answered)
        return records

    @property
    def _is_answered(self) -> bool:
        return bool(self._consumer.assignment()) and self._consumer.metrics()[_FETCHES] > self._before[_FETCHES]

    def _polled(self, timeout_s: float) -> AnyRecords:
        try:
            return self._consumer.poll(timeout_s)
        except CorruptRecordError as error:  # the batch is rejected, and what follows it comes with the next poll
            self._tally.note_error(error, failed=False)
        except KafkaGroupsError as error:
            self._tally.note_error(error, failed=True)
            self.is_broken = True
        return _NOTHING

    def _back_off(self) -> None:
        """After failures in a row wait; what was fetched ahead keeps its locks meanwhile."""
        wait_ms = self._held.backoff.remaining_ms(self._clock.now_ms())
        if wait_ms and not self.is_broken:
            self._pause.wait(wait_ms / 1000)

    def metrics(self, number: int) -> WorkerMetrics:
        now, spec = self._consumer.metrics(), self._task.spec
        empty_ms = self._budget.empty_ms(self._clock.now_ms())
        return WorkerMetrics(
            worker=number,
            host=socket.gethostname(),
            pid=os.getpid(),
            member_id=self._consumer.member_id,
            empty_ms=empty_ms,
            lag=group_lag(spec.config, spec.topics) if self._budget.is_drained(empty_ms) else None,
            notes=tuple(notes_on(self._held.settings, spec.config.group_id, spec.dead_letter_topic)),
            bytes=round(now[_BYTES] - self._before[_BYTES]),
            renewed=round(now[_RENEWALS] - self._before[_RENEWALS]),
            **self._tally.values(),
        )


_NOTHING: AnyRecords = ShareRecords()
