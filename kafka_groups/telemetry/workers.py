"""The metrics of handler workers: what a worker reports, how processes combine it, and how exporters read it.

Nothing here needs a library of metrics. A worker reports runs of records, so the cost is one call for each run. Metrics
are plain values: a worker process sends a snapshot to its parent, which exports those of all processes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from attrs import evolve, field, frozen

from kafka_groups.telemetry.families import HANDLER_FAMILIES
from kafka_groups.telemetry.handler_details import HandlerDetails
from kafka_groups.telemetry.handler_sensors import HandlerSensors, HandlerSnapshot
from kafka_groups.telemetry.sources import MetricSample, TelemetrySource

__all__ = ["NoSensors", "ProcessSnapshot", "WorkerObserver", "WorkerTelemetry"]

ProcessSnapshot = Mapping[str, HandlerSnapshot]
"""The metrics of a process by handler."""

_RESTARTS = HANDLER_FAMILIES["process_restarts"]


class WorkerObserver(Protocol):
    """Takes what happens to the records of one handler, in runs of records.

    All methods return at once. Call them from one thread; others may read the metrics at any time.
    """

    def settled(self, outcome: str, count: int) -> None:
        """Count records that the brokers confirmed.

        Args:
            outcome: `accepted`, `rejected`, `released`, or `moved` to a retry topic.
            count: How many.
        """

    def ran(self, results: Mapping[tuple[str, str], int], calls: int, seconds: float) -> None:
        """Count calls of the handler that ended.

        Args:
            results: How many had each result, `succeeded` or `failed`, and class of error, which is empty after a
                success.
            calls: How many calls there were. A value that cannot be parsed is a failure without a call.
            seconds: How long each of them took.
        """

    def waited(self, records: int, seconds: float) -> None:
        """Note how long each of some records waited for its first call, from its timestamp on."""

    def in_hand(self, states: Mapping[str, int]) -> None:
        """Set how many records are in each state. A state that is left out has 0."""

    def oldest(self, age_s: float) -> None:
        """Set for how long the oldest record has been in hand; 0 if there is none."""

    def windows(self, used: Mapping[tuple[str, int], float]) -> None:
        """Set how much of the window of each topic and partition is used, from 0 to 1. Forget other partitions."""

    def breaker(self, *, is_open: bool) -> None:
        """Set whether failures are treated as an outage."""

    def outputs(self, unconfirmed: int) -> None:
        """Set how many outputs are not confirmed."""

    def locks_lost(self, count: int) -> None:
        """Count records whose locks were lost."""

    def dead_letters(self, reason: str, count: int) -> None:
        """Count confirmed copies of records in the dead-letter topic."""

    def rate_limited(self, seconds: float) -> None:
        """Add a time in which the rate limit kept records from starting."""

    def details(self, details: HandlerDetails) -> None:
        """Set details that are shown and not exported."""


class NoSensors:
    """Ignores all reports, for workers without metrics."""

    def settled(self, outcome: str, count: int) -> None:
        """Ignore it."""

    def ran(self, results: Mapping[tuple[str, str], int], calls: int, seconds: float) -> None:
        """Ignore it."""

    def waited(self, records: int, seconds: float) -> None:
        """Ignore it."""

    def in_hand(self, states: Mapping[str, int]) -> None:
        """Ignore it."""

    def oldest(self, age_s: float) -> None:
        """Ignore it."""

    def windows(self, used: Mapping[tuple[str, int], float]) -> None:
        """Ignore it."""

    def breaker(self, *, is_open: bool) -> None:
        """Ignore it."""

    def outputs(self, unconfirmed: int) -> None:
        """Ignore it."""

    def locks_lost(self, count: int) -> None:
        """Ignore it."""

    def dead_letters(self, reason: str, count: int) -> None:
        """Ignore it."""

    def rate_limited(self, seconds: float) -> None:
        """Ignore it."""

    def details(self, details: HandlerDetails) -> None:
        """Ignore them."""


class WorkerTelemetry:
    """The metrics of a worker: of all handlers, in this process and in others.

    Each process has one. Those of child processes send `snapshot()` to the parent, which calls `received`. Call the
    methods from one thread; any thread may call `snapshot` and read `telemetry`.

    Args:
        group: The share group.
        process: The name of this process, such as its number. A name that is reused after a restart continues the
            time series; a new name begins others.
    """

    def __init__(self, group: str, process: str = "0") -> None:
        self._group = group
        self._process = process
        self._handlers: dict[str, HandlerSensors] = {}
        self._others: dict[str, _OtherProcess] = {}

    def __repr__(self) -> str:
        return f"<WorkerTelemetry group {self._group} handlers {', '.join(self._handlers) or 'none'}>"

    def handler(self, name: str) -> HandlerSensors:
        """Return the metrics of a handler in this process, to report to."""
        return self._handlers.setdefault(name, HandlerSensors())

    def snapshot(self) -> ProcessSnapshot:
        """Return the metrics of this process by handler. They can be pickled."""
        return {name: metrics.snapshot() for name, metrics in dict(self._handlers).items()}

    def received(self, process: str, metrics: ProcessSnapshot) -> None:
        """Take the latest snapshot of another process, which replaces the one before.

        Raises:
            ValueError: It has the name of this process, which has handlers itself.
        """
        if process == self._process and self._handlers:
            raise ValueError(f"Process {process!r} sent metrics, but that is the name of this process. Rename one.")
        self._others[process] = evolve(self._others.get(process, _OtherProcess()), latest=metrics)

    def restarted(self, process: str) -> None:
        """Note that another process was replaced. Its counts stay, and those of its successor are added to them."""
        self._others[process] = self._others.get(process, _OtherProcess()).replaced()

    @property
    def group(self) -> str:
        """The share group."""
        return self._group

    def snapshots(self) -> Sequence[ProcessSnapshot]:
        """Return the metrics of each process, as far as they are known. Any thread may call it."""
        others = [other.metrics for other in dict(self._others).values()]
        return [self.snapshot(), *others] if self._handlers else others

    @property
    def restarts(self) -> int:
        """The number of times that other processes were replaced."""
        return sum(other.restarts for other in dict(self._others).values())

    @property
    def telemetry(self) -> TelemetrySource:
        """The metrics of all handlers and processes, for exporters."""
        return TelemetrySource((("group", self._group),), tuple(HANDLER_FAMILIES.values()), self._samples)

    def _samples(self) -> Iterator[MetricSample]:
        yield from _samples_of(self._process, self.snapshot())
        for process, other in dict(self._others).items():
            yield from _samples_of(process, other.metrics)
            yield MetricSample(_RESTARTS, (process,), other.restarts)


@frozen
class _OtherProcess:
    """The metrics of another process and of those that it has replaced. A new one replaces it, for other threads."""

    earlier: ProcessSnapshot = field(factory=dict)
    latest: ProcessSnapshot = field(factory=dict)
    restarts: int = 0

    @property
    def metrics(self) -> ProcessSnapshot:
        both = self.earlier.keys() & self.latest.keys()
        return {**self.earlier, **self.latest, **{name: self.earlier[name].plus(self.latest[name]) for name in both}}

    def replaced(self) -> "_OtherProcess":
        ended = {name: metrics.without_gauges() for name, metrics in self.metrics.items()}
        return _OtherProcess(ended, {}, self.restarts + 1)


def _samples_of(process: str, snapshot: ProcessSnapshot) -> Iterator[MetricSample]:
    for handler, metrics in snapshot.items():
        yield from metrics.samples(handler, process)
