"""Watch runs: attempts that exceed the timeout, or outlast the worker, are cancelled, or reported."""

import logging
from collections.abc import Iterable, Sequence

from attrs import define

from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.rules.dead_letter_headers import record_id
from kafka_groups.share.workers.rules.failures.signals import AttemptTimeoutError, WorkerStoppedError
from kafka_groups.share.workers.running.handler_report import HandlerReport
from kafka_groups.share.workers.running.slots import AnyRun, HandlerSlots

__all__ = ["RunWatch"]

_LOG = logging.getLogger("kafka_groups.worker")

_TIME_TO_CANCEL_MS = 5_000
"""A task that is still running this long after it was cancelled ignores the cancellation."""


_TIME_TO_END_MS = 1_000
"""Attempts that outlast the time to stop have this much longer to end. Tasks are cancelled; threads cannot be."""


class LostLockError(Exception):
    """The lock of the record was lost while its handler ran, so the attempt was cancelled."""


@define
class _Watched:
    unstarted: int
    since_ms: int
    cancelled_ms: int | None = None
    is_lost: bool = False


class RunWatch:
    """The runs of one handler.

    Args:
        spec: The handler.
        slots: Where they run.
        report: Takes what hangs.

    Attributes:
        hung: The runs whose attempts cannot be stopped.
        left: The runs that the worker does not wait for any longer.
    """

    def __init__(self, spec: HandlerSpec, slots: HandlerSlots, report: HandlerReport) -> None:
        self._spec = spec
        self._slots = slots
        self._report = report
        self._watched: dict[AnyRun, _Watched] = {}
        self.hung: Sequence[AnyRun] = ()
        self.left: Sequence[AnyRun] = ()
        self._ending: dict[AnyRun, tuple[int, int]] = {}

    @property
    def is_full(self) -> bool:
        """True if each slot has an attempt that cannot be stopped."""
        return len(self.hung) >= self._spec.concurrency

    def ended(self, run: AnyRun) -> None:
        """Forget a run that has ended."""
        self._watched.pop(run, None)
        if run in self.hung:
            self.hung = [other for other in self.hung if other is not run]

    def lost(self, runs: Iterable[AnyRun]) -> None:
        """Cancel the attempts of asynchronous handlers whose locks were lost."""
        for run in runs:
            watched = self._watched.setdefault(run, _Watched(run.unstarted, 0))
            # Its record may be in the hands of another worker, so the attempt has no use any more. A thread cannot be
            # cancelled, and its handler can ask `current_attempt().lock_lost`.
            if run.lost and not watched.is_lost:
                watched.is_lost = True
                self._slots.cancel(run, LostLockError("the lock of the record was lost"))

    def look(self, runs: Iterable[AnyRun], now_ms: int) -> None:
        """Cancel attempts that have exceeded the timeout."""
        if self._spec.timeout_ms is None:
            return
        for run in runs:
            watched = self._watched.setdefault(run, _Watched(run.unstarted, now_ms))
            # The timeout is for an attempt and not for a run: it begins anew when the slot takes the next record. A run
            # that `lost` has entered has no time yet.
            if watched.unstarted != run.unstarted or watched.since_ms == 0:
                watched.unstarted, watched.since_ms, watched.cancelled_ms = run.unstarted, now_ms, None
            elif now_ms - watched.since_ms >= self._spec.timeout_ms:
                self._exceeded(run, watched, now_ms)

    def end(self, runs: Iterable[AnyRun], now_ms: int) -> None:
        """Cancel the attempts under way: the worker has stopped, and their time is over.

        It does not wait for threads, which cannot be cancelled, nor for tasks that ignore it.
        """
        for run in runs:
            unstarted, until_ms = self._ending.get(run, (None, 0))
            # A cancelled run goes on with its next record, which is cancelled as well, with a second of its own.
            if unstarted != run.unstarted:
                self._slots.cancel(run, WorkerStoppedError())
                until_ms = now_ms + _TIME_TO_END_MS
                self._ending[run] = run.unstarted, until_ms
            if now_ms >= until_ms and run not in self.left:
                self._leave(run, "still runs after shutdown_timeout")

    def leave_hung(self) -> None:
        """End without the attempts that cannot be stopped: the worker has stopped."""
        for run in self.hung:
            if run not in self.left:
                self._leave(run, "cannot be stopped")

    def _leave(self, run: AnyRun, why: str) -> None:
        self.left = [*self.left, run]
        self._slots.leave(run)
        if not run.records:  # it has started none, and all were taken back
            return
        _LOG.warning(
            "Handler %s: the attempt for %s@%d %s, so the worker ends without it. Its record is delivered again",
            self._spec.name,
            *record_id(run.records[max(0, len(run.records) - run.unstarted - 1)]),
            why,
        )

    def _exceeded(self, run: AnyRun, watched: _Watched, now_ms: int) -> None:
        # There are three cases. A task is cancelled, and its attempt fails with the timeout. A thread cannot be, so it
        # hangs at once. A task that is still running five seconds after it was cancelled ignores that, and hangs as
        # well.
        if watched.cancelled_ms is None:
            watched.cancelled_ms = now_ms
            if self._slots.cancel(run, AttemptTimeoutError((self._spec.timeout_ms or 0) / 1000)):
                return
        elif now_ms - watched.cancelled_ms < _TIME_TO_CANCEL_MS:
            return
        if run not in self.hung:
            self.hung = [*self.hung, run]
            self._report.hangs(run, self._slots.stack_of(run))
