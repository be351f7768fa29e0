"""The metrics of one handler in one process: counted where the handler runs, and sent to where they are exported."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Self, TypeVar

from attrs import define, evolve, field, frozen

from kafka_groups.telemetry.families import HANDLER_FAMILIES
from kafka_groups.telemetry.handler_details import NO_DETAILS, HandlerDetails
from kafka_groups.telemetry.histograms import Histogram, HistogramValue
from kafka_groups.telemetry.sources import MetricSample

__all__ = ["HandlerSensors", "HandlerSnapshot"]

K = TypeVar("K", bound=Hashable)
L = TypeVar("L", bound=tuple[str, ...])


@frozen
class HandlerSnapshot:
    """The metrics of one handler in one process at one moment. It can be pickled.

    Attributes:
        records: Confirmed records by outcome.
        attempts: Calls by result and class of error.
        handler_seconds: How long calls took.
        waiting_seconds: How long records waited.
        records_in_hand: Records by state.
        oldest_record_seconds: For how long the oldest record has been in hand.
        window_used: The used part of the window by topic and partition.
        is_breaker_open: Whether failures are treated as an outage.
        locks_lost: Records whose locks were lost.
        dead_letters: Copies by reason.
        rate_limited_seconds: For how long the rate limit has kept records from starting.
        unconfirmed_outputs: Outputs that are not confirmed.
        details: Details that are not exported.
    """

    records: Mapping[str, int]
    attempts: Mapping[tuple[str, str], int]
    handler_seconds: HistogramValue
    waiting_seconds: HistogramValue
    records_in_hand: Mapping[str, int]
    oldest_record_seconds: float
    window_used: Mapping[tuple[str, int], float]
    is_breaker_open: bool
    locks_lost: int
    dead_letters: Mapping[str, int]
    rate_limited_seconds: float
    unconfirmed_outputs: int
    details: HandlerDetails = NO_DETAILS

    def plus(self, later: Self) -> Self:
        """Add the metrics of a process that has replaced this one: counts are summed, gauges are the later ones."""
        return evolve(
            later,
            records=_sum(self.records, later.records),
            attempts=_sum(self.attempts, later.attempts),
            handler_seconds=self.handler_seconds.plus(later.handler_seconds),
            waiting_seconds=self.waiting_seconds.plus(later.waiting_seconds),
            locks_lost=self.locks_lost + later.locks_lost,
            dead_letters=_sum(self.dead_letters, later.dead_letters),
            rate_limited_seconds=self.rate_limited_seconds + later.rate_limited_seconds,
            details=self.details.then(later.details),
        )

    def without_gauges(self) -> Self:
        """Return the counts alone, as the process has ended and holds no records."""
        return evolve(
            self,
            records_in_hand={},
            oldest_record_seconds=0.0,
            window_used={},
            is_breaker_open=False,
            details=HandlerDetails(last_failure=self.details.last_failure),
            unconfirmed_outputs=0,
        )

    def samples(self, handler: str, process: str) -> Iterator[MetricSample]:
        """Yield the values of all metrics except the number of restarts.

        Args:
            handler: The name of the handler.
            process: The name of the process.
        """
        place = (handler, process)
        yield from _samples("records", place, {(outcome,): count for outcome, count in self.records.items()})
        yield from _samples("attempts", place, self.attempts)
        yield from _samples("handler_seconds", place, {(): self.handler_seconds})
        yield from _samples("waiting_seconds", place, {(): self.waiting_seconds})
        yield from _samples(
            "records_in_hand", place, {(state,): count for state, count in self.records_in_hand.items()}
        )
        yield from _samples("oldest_record_seconds", place, {(): self.oldest_record_seconds})
        yield from _samples(
            "window_used", place, {(topic, str(p)): used for (topic, p), used in self.window_used.items()}
        )
        yield from _samples("breaker_open", place, {(): float(self.is_breaker_open)})
        yield from _samples("unconfirmed_outputs", place, {(): self.unconfirmed_outputs})
        yield from _samples("locks_lost", place, {(): self.locks_lost})
        yield from _samples("dead_letters", place, {(reason,): count for reason, count in self.dead_letters.items()})
        yield from _samples("rate_limited", place, {(): self.rate_limited_seconds})


@define
class HandlerSensors:
    """The metrics of one handler in this process; a `WorkerObserver`."""

    _records: Counter[str] = field(init=False, factory=Counter)
    _attempts: Counter[tuple[str, str]] = field(init=False, factory=Counter)
    _handler_seconds: Histogram = field(init=False, factory=lambda: _histogram("handler_seconds"))
    _waiting_seconds: Histogram = field(init=False, factory=lambda: _histogram("waiting_seconds"))
    _in_hand: Mapping[str, int] = field(init=False, factory=dict)
    _oldest_s: float = field(init=False, default=0.0)
    _window_used: Mapping[tuple[str, int], float] = field(init=False, factory=dict)
    _is_breaker_open: bool = field(init=False, default=False)
    _locks_lost: int = field(init=False, default=0)
    _dead_letters: Counter[str] = field(init=False, factory=Counter)
    _rate_limited_s: float = field(init=False, default=0.0)
    _details: HandlerDetails = field(init=False, default=NO_DETAILS)
    _unconfirmed_outputs: int = field(init=False, default=0)

    def settled(self, outcome: str, count: int) -> None:
        """Count records that the brokers confirmed."""
        self._records[outcome] += count

    def ran(self, results: Mapping[tuple[str, str], int], calls: int, seconds: float) -> None:
        """Count calls of the handler that ended."""
        for result, count in results.items():
            self._attempts[result] += count
        self._handler_seconds.add(seconds, calls)

    def waited(self, records: int, seconds: float) -> None:
        """Note how long records waited for their first call."""
        self._waiting_seconds.add(seconds, records)

    def in_hand(self, states: Mapping[str, int]) -> None:
        """Set how many records are in each state. A state that was there before stays, with 0."""
        self._in_hand = {**dict.fromkeys(self._in_hand, 0), **states}

    def oldest(self, age_s: float) -> None:
        """Set for how long the oldest record has been in hand."""
        self._oldest_s = age_s

    def windows(self, used: Mapping[tuple[str, int], float]) -> None:
        """Set how much of the window of each topic and partition is used."""
        self._window_used = dict(used)

    def breaker(self, *, is_open: bool) -> None:
        """Set whether failures are treated as an outage."""
        self._is_breaker_open = is_open

    def outputs(self, unconfirmed: int) -> None:
        """Set how many outputs are not confirmed."""
        self._unconfirmed_outputs = unconfirmed

    def locks_lost(self, count: int) -> None:
        """Count records whose locks were lost."""
        self._locks_lost += count

    def dead_letters(self, reason: str, count: int) -> None:
        """Count confirmed copies of records in the dead-letter topic."""
        self._dead_letters[reason] += count

    def rate_limited(self, seconds: float) -> None:
        """Add a time in which the rate limit kept records from starting."""
        self._rate_limited_s += seconds

    def details(self, details: HandlerDetails) -> None:
        """Set the details."""
        self._details = details

    def snapshot(self) -> HandlerSnapshot:
        """Return the metrics of this moment. Any thread may call it."""
        return HandlerSnapshot(
            records=dict(self._records),
            attempts=dict(self._attempts),
            handler_seconds=self._handler_seconds.value,
            waiting_seconds=self._waiting_seconds.value,
            records_in_hand=self._in_hand,
            oldest_record_seconds=self._oldest_s,
            window_used=self._window_used,
            is_breaker_open=self._is_breaker_open,
            locks_lost=self._locks_lost,
            dead_letters=dict(self._dead_letters),
            rate_limited_seconds=self._rate_limited_s,
            details=self._details,
            unconfirmed_outputs=self._unconfirmed_outputs,
        )


def _sum(first: Mapping[K, int], second: Mapping[K, int]) -> dict[K, int]:
    return {key: first.get(key, 0) + second.get(key, 0) for key in (*first, *(second.keys() - first.keys()))}


def _histogram(name: str) -> Histogram:
    return Histogram(HANDLER_FAMILIES[name].bounds)


def _samples(name: str, place: tuple[str, str], values: Mapping[L, float | HistogramValue]) -> Iterable[MetricSample]:
    handler, process = place
    family = HANDLER_FAMILIES[name]
    return [MetricSample(family, (handler, process, *labels), value) for labels, value in values.items()]
