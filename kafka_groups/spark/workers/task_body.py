"""The body of a task: poll, process and acknowledge repeatedly in one Python worker of Spark.

A task returns only metrics. The Python worker that ran `process` accepts the records after it has returned. So a worker
may be killed at any moment: records that it had not accepted are redelivered.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.processes.parent import exit_when_orphaned
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords
from kafka_groups.share.workers.group_settings import DEFAULT_DELIVERY_LIMIT, notes_on
from kafka_groups.share.workers.polling import Poller, is_answered
from kafka_groups.share.workers.rules.failures.outages import HELD_BACKOFF_MS, Waits
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.spark.acknowledger import Acknowledger, Tally
from kafka_groups.spark.failures.outage_server import HeldRecords, OutageAddress, OutageAnswer, OutageClient
from kafka_groups.spark.groups.group_remaining import group_remaining
from kafka_groups.spark.processes.process_logs import set_up_logging
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.result import WorkerMetrics, metrics_batch
from kafka_groups.spark.workers.budget import BudgetLimits, PollBudget
from kafka_groups.spark.workers.consumers import ConsumerSpec, HeldConsumer, leased
from kafka_groups.spark.workers.sub_batch_driver import SubBatchDriver, SubBatchWork
from kafka_groups.spark.workers.worker_options import FailureOption
from kafka_groups.types import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TaskBody", "WorkerTask", "run_worker", "task_body"]

TaskBody = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

_LOG = logging.getLogger(__name__)
_REPORT_MS = 500
"""The interval at which a waiting worker reports to the driver and checks whether to end."""
_PROBE_RECORDS = 1
"""The number of records to acquire at a time until the sink is known to work."""


@frozen(kw_only=True)
class WorkerTask:
    """The function that runs as a Spark task; it is pickled and sent to the executors.

    Attributes:
        spec: The consumer.
        limits: The limits at which the task ends.
        on_error: What to do with records that fail while others succeed.
        backoff_ms: The longest wait between two tries; 0 releases failing records at once.
        hold_ms: The longest time to hold failing records that may be redelivered; None for no limit.
        outages: The address to which the task reports held records.
        log_level: The lowest level that the worker's process logs.
        unread: Where the group began at the earliest in partitions that no member had before the run (`group_unread`).
    """

    spec: ConsumerSpec
    limits: BudgetLimits
    on_error: FailureOption
    backoff_ms: int = HELD_BACKOFF_MS
    hold_ms: int | None = None
    outages: OutageAddress | None = None
    log_level: str = "INFO"
    unread: Mapping[TopicPartition, int] = field(factory=dict, repr=False)


def task_body(task: WorkerTask) -> TaskBody:
    """Return the function for `mapInArrow`, which ignores its input and yields one row of metrics."""

    def body(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        from pyspark import TaskContext  # noqa: PLC0415 - there is one in Spark's workers only

        set_up_logging(task.log_level)
        for _ in batches:
            pass
        exit_when_orphaned(os.getppid())
        context = TaskContext.get()
        yield metrics_batch(run_worker(task, 0 if context is None else context.partitionId()))

    return body


def run_worker(task: WorkerTask, number: int) -> WorkerMetrics:
    """Poll, process and acknowledge until the task's limits are reached; no record is held afterwards.

    Args:
        task: The task.
        number: The number of the worker in its run.
    """
    with leased(task.spec) as held:
        worker = _Worker(held, task, SystemClock(), OutageClient(task.outages, number))
        worker.run()
        held.is_broken = worker.is_broken
        return worker.metrics(number)


class _Worker:
    def __init__(self, held: HeldConsumer, task: WorkerTask, clock: Clock, line: OutageClient) -> None:
        self._held = held
        self._line = line
        self._answer: OutageAnswer | None = None
        self._began_ms = clock.now_ms()
        self._task = task
        self._clock = clock
        self._consumer = held.consumer
        self._tally = Tally()
        self._budget = PollBudget(task.limits, clock.now_ms())
        self._pause = threading.Event()
        self._poller = Poller(held.consumer, self._notice)
        self._acknowledger = Acknowledger(self._poller, self._tally, clock)
        self._driver = self._driver_of(DeliveryPolicy(held.settings.delivery_limit or DEFAULT_DELIVERY_LIMIT))
        self._before = held.consumer.counts()
        self.is_broken = False

    def _driver_of(self, policy: DeliveryPolicy) -> SubBatchDriver:
        task, held = self._task, self._held
        held.outage.waits = Waits.of_tries_in_hand(task.backoff_ms or HELD_BACKOFF_MS)
        work = SubBatchWork(
            process=held.process,
            on_error=task.on_error,
            policy=policy,
            is_patient=task.backoff_ms > 0,
            dead_letters=held.dead_letters,
            pause=self._wait,
            outage=held.outage,
            proof=held.proof,
            is_ending=self._is_ending,
        )
        return SubBatchDriver(work, self._acknowledger, self._tally, self._clock)

    def run(self) -> None:
        # The last task of this process has ended during an outage. This one waits before it acquires anything: a wait
        # without records costs nothing, even if the task is killed.
        if self._held.outage.is_suspected:
            self._wait(self._held.outage.remaining_ms(self._clock.now_ms()), may_poll=False)
        while not self.is_broken and (timeout_ms := self._budget.next_timeout_ms(self._clock.now_ms())) is not None:
            # Until something has succeeded, one record for each fetch, so that a sink that is down costs few records a
            # delivery.
            is_unproven = self._held.outage.is_unproven
            self._consumer.fetch_limit = _PROBE_RECORDS if is_unproven else None
            self._consumer.fetches_ahead = not is_unproven and self._budget.expects_another(self._clock.now_ms())
            records = self._poll(timeout_ms)
            self._budget.polled(len(records), is_answered=self._is_answered)
            if records:
                self._handle(ShareBatch(records, self._consumer.renew))
        # What would be prefetched from now on had to be released by the end of the task.
        self._consumer.pause()
        self._acknowledger.finish()

    def _handle(self, batch: ShareBatch) -> None:
        # Records still fail, or the run has to raise. Only what is prefetched is processed, as releasing it would cost
        # deliveries.
        if not self._driver.handle(batch) or self._tally.failed:
            self._budget.spend()
        if self._answer is not None:  # what the driver shows ends with the outage
            self._answer = self._line.tell(None)

    def _wait(self, wait_ms: int, *, may_poll: bool, held: int = 0) -> ShareBatch | None:
        """Wait between two tries of `process`; with `may_poll`, return other records as soon as some come.

        The records in hand stay locked: the consumer renews them. An operator may end the wait, and so may the driver
        if it wants the run to end.
        """
        self._acknowledger.finish()  # acknowledgements must not wait for the sink
        until_ms = self._clock.now_ms() + wait_ms
        self._consumer.fetches_ahead = False
        self._consumer.fetch_limit = _PROBE_RECORDS
        while (left_ms := until_ms - self._clock.now_ms()) > 0 and not self._is_wait_over(held, until_ms):
            if not may_poll or self.is_broken:
                self._pause.wait(min(left_ms, _REPORT_MS) / 1000)
            elif records := self._poll(min(left_ms, _REPORT_MS), hold=True):
                return ShareBatch(records, self._consumer.renew)
        return None

    def _is_wait_over(self, held: int, until_ms: int) -> bool:
        """Report the held records, and return whether the wait should end."""
        if not held:
            return False
        before, self._answer = self._answer, self._line.tell(self._report(held, until_ms)) or self._answer
        # The driver cannot be reached, or has not answered yet.
        if self._answer is None:
            return self._is_ending()
        return self._is_ending() or (before is not None and self._answer.go_on > before.go_on)

    def _is_ending(self) -> bool:
        """Return whether records that may be redelivered are released instead of held."""
        is_late = self._task.hold_ms is not None and self._clock.now_ms() - self._began_ms >= self._task.hold_ms
        return is_late or (self._answer is not None and self._answer.is_ending)

    def _report(self, held: int, until_ms: int) -> HeldRecords:
        worker, error = self._line.worker, self._tally.last_error
        return HeldRecords.of(
            self._held.outage, self._clock, worker=worker, held=held, next_try_ms=until_ms, error=error
        )

    def _poll(self, timeout_ms: int, *, hold: bool = False) -> AnyRecords:
        started_ms = self._clock.now_ms()
        records: AnyRecords = ShareRecords()
        try:
            records = self._poller.poll(timeout_ms, hold=hold)
        except KafkaGroupsError as error:
            # The group can no longer be read. The task settles what it has, and reports the error with its figures
            # instead of raising it: an exception would make Spark run the task again.
            self._tally.note_error(error, failed=True)
            self.is_broken = True
        self._tally.polls += 1
        self._tally.poll_ms += self._clock.now_ms() - started_ms
        self._tally.acquired += len(records)
        return records

    @property
    def _is_answered(self) -> bool:
        return is_answered(self._consumer) and self._consumer.counts().fetches > self._before.fetches

    def _notice(self, error: KafkaGroupsError) -> None:
        """Log and count an error after which the worker continues."""
        _LOG.warning("%r continues after an error: %s", self._consumer, error)
        self._tally.note_error(error, failed=False)

    def metrics(self, number: int) -> WorkerMetrics:
        now, spec = self._consumer.counts(), self._task.spec
        empty_ms = self._budget.empty_ms(self._clock.now_ms())
        return WorkerMetrics(
            worker=number,
            host=socket.gethostname(),
            pid=os.getpid(),
            member_id=self._consumer.member_id,
            empty_ms=empty_ms,
            **(self._lag() if self._budget.is_drained(empty_ms) else {}),
            notes=tuple(notes_on(self._held.settings, spec.config.group_id, spec.dead_letter_topic)),
            bytes=now.fetched_bytes - self._before.fetched_bytes,
            renewed=now.renewed - self._before.renewed,
            **self._tally.values(),
        )

    def _lag(self) -> dict[str, Any]:
        """Return the figures about the records that are left for the group."""
        spec = self._task.spec
        left = group_remaining(spec.config, spec.topics, self._task.unread)
        # A group that certainly has records left is not drained, however many more there may be.
        if left.is_known or left.least > 0:
            return {"lag": left.least}
        return {"lag_unknown": left.doubt, "patience_ms": left.patience_ms}
