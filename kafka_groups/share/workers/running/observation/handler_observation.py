"""Observations of one handler for people who look at a running worker: its rate, its windows and its last failure."""

from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.record_writes import RecordWrites
from kafka_groups.share.workers.rules.window import RecordWindows, WindowUse
from kafka_groups.share.workers.running.observation.recent_rate import RecentRate
from kafka_groups.share.workers.running.results import RunResult
from kafka_groups.telemetry.handler_details import FullestWindow, HandlerDetails, LastFailure

__all__ = ["HandlerObservation"]


class HandlerObservation:
    """Keeps what the details of a handler need."""

    def __init__(self) -> None:
        self._rate = RecentRate()
        self._last_failure: LastFailure | None = None

    def __repr__(self) -> str:
        return f"<HandlerObservation {self._rate!r}>"

    def finished(self, count: int) -> None:
        """Count records that are finished here: accepted, rejected, or moved to a retry topic."""
        self._rate.add(count)

    def ran(self, result: RunResult, wall_ms: int) -> None:
        """Remember the last failure of a run, if there is one."""
        # A failed batch is the failure of its first record, as the log names it.
        if result.failed is not None:
            self._failed(result.failed, result.run.records[0], wall_ms)
        elif result.failures:
            last = result.failures[-1]
            self._failed(last.error, result.run.records[last.index], wall_ms)

    def _failed(self, error: Exception, record: AnyRecord, wall_ms: int) -> None:
        name = type(error).__name__
        self._last_failure = LastFailure(name, record.topic, record.partition, record.offset, wall_ms)

    def details(self, windows: RecordWindows, writes: RecordWrites[AnyRecord], now_ms: int) -> HandlerDetails:
        """Return the details of this moment."""
        return HandlerDetails(
            rate=self._rate.look(now_ms),
            fullest_window=_fullest(windows),
            unconfirmed_outputs=writes.unconfirmed_outputs,
            unconfirmed_writes=writes.unconfirmed,
            last_failure=self._last_failure,
        )


def _fullest(windows: RecordWindows) -> FullestWindow | None:
    # `windows.fullest` has only partitions that one record holds back, for warnings. Here any partition is of interest.
    use: WindowUse | None = max(windows.uses.values(), key=lambda each: each.used, default=None)
    if use is None:
        return None
    place = use.partition
    return FullestWindow(place.topic or str(place.topic_id), place.partition, use.oldest, use.used)
