"""The status of a running worker, as its probe address tells it: JSON whose fields are those of these classes.

Fields are added, never renamed. Times are integers that end in `_ms`. There are neither keys nor values of records, nor
texts of a handler's errors, which may contain them. The size is bounded, whatever names and numbers there are.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from attrs import frozen

from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.member_names import retry_member_name
from kafka_groups.telemetry.handler_details import FullestWindow, HandlerDetails, LastFailure
from kafka_groups.telemetry.handler_sensors import HandlerSnapshot
from kafka_groups.telemetry.workers import ProcessSnapshot, WorkerTelemetry

__all__ = [
    "MOST_HANDLERS",
    "MOST_REASONS",
    "FailureStatus",
    "HandlerStatus",
    "RecordsInFlight",
    "RetryTopicStatus",
    "WindowStatus",
    "WorkerStatus",
    "worker_status",
]

T = TypeVar("T")

MOST_HANDLERS: Final = 200
MOST_REASONS: Final = 50
_MOST_TOPICS: Final = 20
_LONGEST_NAME: Final = 250
_LONGEST_REASON: Final = 1_000
_CUT: Final = "…"


@frozen
class RecordsInFlight:
    """The records that a handler has in hand, by state.

    Attributes:
        held: Those that could run now, or wait for a record with the same key.
        running: Those that run.
        waiting: Those that wait for a retry in the process.
        delayed: Those whose time has not come, in topics with a delay and in retry topics.
        writing: Those for which records are written that brokers have not confirmed.
    """

    held: int
    running: int
    waiting: int
    delayed: int
    writing: int


@frozen
class WindowStatus:
    """The fullest window of a handler's partitions.

    Attributes:
        topic: The topic.
        partition: The partition.
        oldest_offset: The oldest offset that is not finished, which holds back the others.
        used: The used part of `share.partition.max.record.locks`. At 1 the partition stops.
    """

    topic: str
    partition: int
    oldest_offset: int
    used: float


@frozen
class RetryTopicStatus:
    """The records of a retry topic that the worker has in hand.

    Attributes:
        topic: The topic.
        waiting: Those whose time has not come.
        due: Those that could run now.
    """

    topic: str
    waiting: int
    due: int


@frozen
class FailureStatus:
    """The class of the last error.

    Attributes:
        error_type: The class.
        count: How many attempts have failed with it since the worker started.
        topic: The topic of the last of these records.
        partition: Its partition.
        offset: Its offset.
        at_ms: When that attempt failed, in milliseconds since 1970.
    """

    error_type: str
    count: int
    topic: str
    partition: int
    offset: int
    at_ms: int


@frozen
class HandlerStatus:
    """A handler, in all processes of the worker.

    Attributes:
        name: Its name.
        topics: Its topics.
        rate: How many records a second were accepted, rejected or moved to a retry topic in the last ten seconds.
        rate_limit: How many attempts a second its rate limit allows to the whole worker, or null without a limit.
        in_flight: The records that it has in hand, those of its retry topics included.
        is_breaker_open: Whether its breaker is open in a process: failures are treated as an outage.
        fullest_window: The fullest window of its topics' partitions, or null if no record is in hand.
        retry_topics: Its retry topics.
        unconfirmed_outputs: Records that were written to its output topics, and that brokers have not confirmed.
        unconfirmed_writes: All records that brokers have not confirmed: outputs, retries and dead letters.
        last_error: The last error, or null.
    """

    name: str
    topics: tuple[str, ...]
    rate: float
    rate_limit: float | None
    in_flight: RecordsInFlight
    is_breaker_open: bool
    fullest_window: WindowStatus | None
    retry_topics: tuple[RetryTopicStatus, ...]
    unconfirmed_outputs: int
    unconfirmed_writes: int
    last_error: FailureStatus | None


@frozen
class WorkerStatus:
    """A worker.

    Attributes:
        group: Its share group.
        at_ms: When this was, in milliseconds since 1970. Numbers are up to two seconds older.
        is_live: Whether no restart is needed.
        is_ready: Whether all handlers make progress.
        reasons: The reasons why it is not ready, 50 at most.
        processes: The number of processes with numbers.
        restarts: How often processes were replaced because they died.
        handlers: Its handlers, 200 at most.
        left_out: The number of handlers and reasons that are left out.
    """

    group: str
    at_ms: int
    is_live: bool
    is_ready: bool
    reasons: tuple[str, ...]
    processes: int
    restarts: int
    handlers: tuple[HandlerStatus, ...]
    left_out: int


def worker_status(
    handlers: Sequence[HandlerSpec], reports: WorkerTelemetry, health: Health, wall_ms: int
) -> WorkerStatus:
    """Return the status of a worker.

    Args:
        handlers: Its handlers.
        reports: What its processes have reported.
        health: Its health.
        wall_ms: The time of day.
    """
    processes = reports.snapshots()
    left_out = max(0, len(handlers) - MOST_HANDLERS) + max(0, len(health.reasons) - MOST_REASONS)
    return WorkerStatus(
        group=_cut(reports.group),
        at_ms=wall_ms,
        is_live=health.is_live,
        is_ready=health.is_ready,
        reasons=tuple(_cut(reason, _LONGEST_REASON) for reason in health.reasons[:MOST_REASONS]),
        processes=len(processes),
        restarts=reports.restarts,
        handlers=tuple(_handler(each, processes) for each in handlers[:MOST_HANDLERS]),
        left_out=left_out,
    )


def _handler(handler: HandlerSpec, processes: Sequence[ProcessSnapshot]) -> HandlerStatus:
    own = _reports(processes, handler.name)
    topics = () if handler.retry_topics is None else [each.topic for each in handler.retry_topics.topics]
    retries = {topic: _reports(processes, retry_member_name(handler, topic)) for topic in topics}
    every = [*own, *(report for reports in retries.values() for report in reports)]
    details = [report.details for report in every]
    return HandlerStatus(
        name=_cut(handler.name),
        topics=tuple(map(_cut, handler.topics[:_MOST_TOPICS])),
        rate=round(sum(each.rate for each in details), 3),
        rate_limit=None if handler.rate_limit is None else handler.rate_limit.count / handler.rate_limit.per,
        in_flight=_in_flight(every),
        is_breaker_open=any(report.is_breaker_open for report in every),
        fullest_window=_window([report.details for report in own]),
        retry_topics=tuple(_retry_topic(topic, reports) for topic, reports in retries.items()),
        unconfirmed_outputs=sum(each.unconfirmed_outputs for each in details),
        unconfirmed_writes=sum(each.unconfirmed_writes for each in details),
        last_error=_last_error(every),
    )


def _reports(processes: Sequence[ProcessSnapshot], name: str) -> Sequence[HandlerSnapshot]:
    return [snapshot[name] for snapshot in processes if name in snapshot]


def _in_flight(reports: Sequence[HandlerSnapshot]) -> RecordsInFlight:
    return RecordsInFlight(
        held=_count(reports, "held"),
        running=_count(reports, "running"),
        waiting=_count(reports, "waiting"),
        delayed=_count(reports, "delayed"),
        writing=_count(reports, "writing"),
    )


def _count(reports: Sequence[HandlerSnapshot], state: str) -> int:
    return sum(report.records_in_hand.get(state, 0) for report in reports)


def _window(details: Iterable[HandlerDetails]) -> WindowStatus | None:
    found = _largest((each.fullest_window for each in details), lambda each: each.used)
    return None if found is None else _window_status(found)


def _window_status(window: FullestWindow) -> WindowStatus:
    return WindowStatus(_cut(window.topic), window.partition, window.oldest_offset, round(window.used, 4))


def _retry_topic(topic: str, reports: Sequence[HandlerSnapshot]) -> RetryTopicStatus:
    return RetryTopicStatus(_cut(topic), _count(reports, "delayed"), _count(reports, "held"))


def _last_error(reports: Sequence[HandlerSnapshot]) -> FailureStatus | None:
    last: LastFailure | None = _largest((each.details.last_failure for each in reports), lambda each: each.at_ms)
    if last is None:
        return None
    count = sum(report.attempts.get(("failed", last.error_type), 0) for report in reports)
    place = _cut(last.topic), last.partition, last.offset
    return FailureStatus(_cut(last.error_type), count, *place, last.at_ms)


def _largest(several: Iterable[T | None], size: Callable[[T], float]) -> T | None:
    return max((each for each in several if each is not None), key=size, default=None)


def _cut(text: str, longest: int = _LONGEST_NAME) -> str:
    return text if len(text) <= longest else text[: longest - 1] + _CUT
