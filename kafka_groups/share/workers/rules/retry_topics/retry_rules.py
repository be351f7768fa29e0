"""The way of a record into a retry topic: what is written for it there."""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from attrs import frozen

from kafka_groups.errors.texts import named
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.delays import RetryTopic, RetryTopics
from kafka_groups.share.workers.rules.retry_topics.retried_records import origin_of
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState
from kafka_groups.types import Header

__all__ = ["MovingRecord", "RetryRules", "WallClock", "retry_rules"]

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class MovingRecord(Protocol[R_co]):
    """A record in hand that moves to a retry topic; `OpenRecord` has its attributes and their meaning."""

    @property
    def record(self) -> R_co: ...  # noqa: D102

    @property
    def delivery_count(self) -> int: ...  # noqa: D102

    @property
    def all_attempts(self) -> int: ...  # noqa: D102

    @property
    def all_retries(self) -> int: ...  # noqa: D102

    @property
    def deaths(self) -> int: ...  # noqa: D102

    @property
    def failing_since_ms(self) -> int | None: ...  # noqa: D102

    @property
    def error(self) -> Exception | None: ...  # noqa: D102

    @property
    def state(self) -> RetryState | None: ...  # noqa: D102


class WallClock(Protocol):
    """Two clocks, both in milliseconds."""

    def now_ms(self) -> int:
        """Return the time that `now_ms` arguments have."""
        ...

    def wall_ms(self) -> int:
        """Return the time since the epoch."""
        ...


@frozen(kw_only=True)
class RetryRules(Generic[R]):
    """The retry topics of a handler, in which its records spend long waits, and what is written there.

    Attributes:
        topics: The retry topics.
        group: The share group of the worker.
        handler: The name of the handler.
        origin_of: Returns the place of the first record.
        copy_of: Returns a record with its own headers, followed by others, for a topic.
        timestamp_of: Returns the timestamp of a record in milliseconds since the epoch; None for a record without one.
        wall_ms: Returns the time since the epoch for a time that `now_ms` arguments have.
    """

    topics: RetryTopics
    group: str
    handler: str
    origin_of: Callable[[R], RecordOrigin]
    copy_of: Callable[[R, str, Sequence[Header]], RecordToWrite]
    timestamp_of: Callable[[R], int | None]
    wall_ms: Callable[[int], int]

    @property
    def longest_ms(self) -> int:
        """The largest delay, for records that are held."""
        return self.topics.topics[-1].delay_ms

    def moved(self, opened: MovingRecord[R], topic: RetryTopic, due_ms: int) -> RecordToWrite:
        """Return what is written to a retry topic for a record whose next attempt is due at a time."""
        return self.copy_of(opened.record, topic.topic, self._state(opened, due_ms).headers())

    def _state(self, opened: MovingRecord[R], due_ms: int) -> RetryState:
        return RetryState(
            group=self.group,
            handler=self.handler,
            origin=self.origin_of(opened.record),
            attempts=opened.all_attempts,
            retries=opened.all_retries,
            deaths=opened.deaths,
            first_failure_ms=self._first_failure_ms(opened, due_ms),
            due_ms=self.wall_ms(due_ms),
            error="" if opened.error is None else named(opened.error),
            is_possible_duplicate=self._is_possible_duplicate(opened),
        )

    def _first_failure_ms(self, opened: MovingRecord[R], due_ms: int) -> int:
        if opened.state is not None:
            return opened.state.first_failure_ms
        return self.wall_ms(due_ms if opened.failing_since_ms is None else opened.failing_since_ms)

    def _is_possible_duplicate(self, opened: MovingRecord[R]) -> bool:
        # Whoever had an earlier delivery may have written the record, and ended before its acknowledgement.
        return opened.delivery_count > 1 or (opened.state is not None and opened.state.is_possible_duplicate)

    def failing_since_ms(self, opened: MovingRecord[R], now_ms: int) -> int:
        """Return when a record failed first, as `now_ms` arguments have it, if this is its first failure here."""
        # It may have been long before the start of this process, so the time may be negative.
        return now_ms if opened.state is None else now_ms - self.wall_ms(now_ms) + opened.state.first_failure_ms

    def moved_here_ms(self, opened: MovingRecord[R], now_ms: int) -> int | None:
        """Return when a record came to its retry topic, as `now_ms` arguments have it; None for any other record."""
        timestamp_ms = None if opened.state is None else self.timestamp_of(opened.record)
        return None if timestamp_ms is None else now_ms - self.wall_ms(now_ms) + timestamp_ms


def retry_rules(topics: RetryTopics, group: str, handler: str, clock: WallClock) -> RetryRules[AnyRecord]:
    """Return the rules for the records of a worker's consumers.

    Args:
        topics: The retry topics of the handler.
        group: The share group of the worker, not the group that reads the retry topics.
        handler: The name of the handler.
        clock: Says how far the time since the epoch is ahead of the time that `now_ms` arguments have.
    """
    return RetryRules(
        topics=topics,
        group=group,
        handler=handler,
        origin_of=origin_of,
        copy_of=_copy_of,
        timestamp_of=lambda record: record.timestamp,
        wall_ms=lambda now_ms: now_ms - clock.now_ms() + clock.wall_ms(),
    )


def _copy_of(record: AnyRecord, topic: str, headers: Sequence[Header]) -> RecordToWrite:
    return RecordToWrite(topic, record.raw_key, record.raw_value, (*record.headers, *headers))
