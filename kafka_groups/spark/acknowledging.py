"""Send the acknowledgements of one worker and count those that the brokers confirm for each partition."""

import logging
import traceback
from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

from attrs import define, fields

from kafka_groups.errors import OperationTimeoutError
from kafka_groups.net.clock import Clock
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.batch import AnyRecords, deliveries_of
from kafka_groups.share.delivery.commits import CommitResult
from kafka_groups.types import TopicIdPartition

__all__ = ["Acknowledger", "Committer", "Tally"]

_LOG = logging.getLogger(__name__)
_ERROR_CHARACTERS = 4_000
_COUNTED = {m.ACCEPT: "accepted", m.RELEASE: "released", m.REJECT: "rejected"}


@define
class Tally:
    """The metrics of a running task; see `WorkerMetrics`."""

    polls: int = 0
    acquired: int = 0
    accepted: int = 0
    released: int = 0
    rejected: int = 0
    lock_lost: int = 0
    dead_lettered: int = 0
    poll_ms: int = 0
    process_ms: int = 0
    ack_ms: int = 0
    max_delivery_count: int = 0
    error: str | None = None
    failed: bool = False

    def note_error(self, error: Exception, *, failed: bool) -> None:
        """Record an error to report; `failed` if the caller of the run must raise it."""
        text = "".join(traceback.format_exception(error))
        self.error = text[-_ERROR_CHARACTERS:]
        self.failed = self.failed or failed

    @property
    def last_error(self) -> str:
        """The last line of the last error; empty without one."""
        return self.error.strip().splitlines()[-1] if self.error else ""

    def values(self) -> dict[str, Any]:
        """Name → value."""
        return {entry.name: getattr(self, entry.name) for entry in fields(Tally)}


class Committer(Protocol):
    """Sends acknowledgements; `Poller` is one."""

    def commit(self) -> CommitResult | None:
        """Send the acknowledgements and wait; None if the result is unknown."""
        ...


class Acknowledger:
    """Sends acknowledgements and counts those that the brokers confirm.

    Args:
        committer: Sends and waits.
        tally: Where it is counted.
        clock: Time.
    """

    def __init__(self, committer: Committer, tally: Tally, clock: Clock) -> None:
        self._committer = committer
        self._tally = tally
        self._clock = clock

    def send(self, records: AnyRecords) -> None:
        """Send the acknowledgements of a poll.

        If a broker refuses them (lock lost, leader moved), they are only counted: it redelivers the records.
        """
        decided = _decided(records)
        if not decided:
            return
        started_ms = self._clock.now_ms()
        results = self._committer.commit()
        self._tally.ack_ms += self._clock.now_ms() - started_ms
        self._count(decided, results or {})

    def _count(self, decided: Mapping[TopicIdPartition, Counter[str]], results: CommitResult) -> None:
        for partition, counts in decided.items():
            error = results.get(partition, _UNANSWERED)
            if error is None:
                for name, count in counts.items():
                    setattr(self._tally, name, getattr(self._tally, name) + count)
            else:
                self._tally.lock_lost += counts.total()
                _LOG.warning("%d records of %s will be delivered again: %s", counts.total(), partition, error)


_UNANSWERED = OperationTimeoutError("the broker's answer is not known")


def _decided(records: AnyRecords) -> dict[TopicIdPartition, Counter[str]]:
    """Count the records of each partition to acknowledge with each type."""
    decided: dict[TopicIdPartition, Counter[str]] = {}
    for delivery in deliveries_of(records):
        counts = {name: delivery.marks.count(mark) for mark, name in _COUNTED.items()}
        if any(counts.values()):
            decided.setdefault(delivery.topic_partition, Counter()).update(counts)
    return decided
