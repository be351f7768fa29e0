"""A plain model of which failures use a retry, to judge the records that are given up."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from attrs import define, field

from kafka_groups.share.workers.handlers import DEFAULT_OUTAGES
from kafka_groups.share.workers.rules.failures.breaker import OPENS_AT
from kafka_groups.share.workers.rules.failures.signals import AttemptTimeoutError, Reject, Retry, WorkerStoppedError
from kafka_groups.share.workers.rules.runs import RunningRecords
from kafka_groups.share.workers.rules.steps import FailedRecord, InvokeHandler
from kafka_groups.testing.simulation.checks.ledger import shown
from kafka_groups.types import RecordId
from tests.simulation.workers.jobs import ERROR_RULES, FLAKY, FlakyError
from tests.simulation.workers.lifetime import WorkerLifetime

__all__ = ["RetryBook"]

Key = tuple[int, RecordId, int]


@define(eq=False)
class RetryBook:
    """Counts the failures that use a retry: none while different records fail one after the other.

    Attributes:
        violations: Receives what must not happen.
    """

    violations: list[str]
    _counted: Counter[Key] = field(factory=Counter)
    _errors: dict[Key, Exception] = field(factory=dict)
    _in_a_row: defaultdict[int, set[RecordId]] = field(factory=lambda: defaultdict(set))
    _successes: Counter[int] = field(factory=Counter)
    _first_failed: dict[Key, int] = field(factory=dict)
    _runs: list[object] = field(factory=list)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at all results of single records while the block runs."""
        ran, book = RunningRecords.ran, self

        def look(runs: Any, run: Any, failures: Any, now_ms: int, **more: Any) -> None:
            book._note(runs, run, failures)
            ran(runs, run, failures, now_ms, **more)

        with patch.object(RunningRecords, "ran", look):
            yield

    def _note(self, runs: object, run: InvokeHandler[Any], failures: Sequence[FailedRecord[Any]]) -> None:
        self._runs.append(runs)  # so that no other has its id
        errors = {failure.index: failure.error for failure in failures}
        for index, record in enumerate(run.records):
            place = runs._rules.record_id(record)  # type: ignore[attr-defined]
            if index not in errors:
                self._in_a_row[id(runs)].clear()
                self._successes[id(runs)] += 1
            elif place not in run.lost:
                self._failed((id(runs), place, record.delivery_count), errors[index])

    def _failed(self, key: Key, error: Exception) -> None:
        runs_id, place, _ = key
        row = self._in_a_row[runs_id]
        self._errors[key] = error
        self._first_failed.setdefault(key, self._successes[runs_id])
        if isinstance(error, WorkerStoppedError):
            return
        if not isinstance(error, (Reject, Retry, *ERROR_RULES)):
            if len(row) >= OPENS_AT or not self._is_bad(key):
                row.add(place)
            self._counted[key] += len(row) < OPENS_AT and not _is_outage(error)
        elif isinstance(error, Retry | FlakyError):
            self._counted[key] += len(row) < OPENS_AT

    def _is_bad(self, key: Key) -> bool:
        """Return whether others have succeeded between two failures of a record."""
        return self._first_failed[key] < self._successes[key[0]]

    def judge(self, lifetime: WorkerLifetime, place: RecordId, reason: str, delivery_count: int) -> None:
        """Check that a record that was given up has used all its retries."""
        key = id(None if lifetime.handling is None else lifetime.handling.runs), place, delivery_count
        error = self._errors.get(key)
        if lifetime.options.batch is not None or isinstance(error, Reject) or reason.startswith("it has held back"):
            return
        times = (FLAKY if isinstance(error, FlakyError) else lifetime.options.retries).times
        if self._counted[key] <= times:
            self.violations.append(
                f"{lifetime.name}: gave up {shown(place)} after {self._counted[key]} failures that count, and {times}"
                f" retries: {reason}"
            )


def _is_outage(error: Exception) -> bool:
    return isinstance(error, DEFAULT_OUTAGES) and not isinstance(error, AttemptTimeoutError)
