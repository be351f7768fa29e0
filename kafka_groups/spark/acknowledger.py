"""Send the acknowledgements of one worker and count those that the brokers confirm for each partition."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from attrs import define, fields

from kafka_groups.errors import OperationTimeoutError
from kafka_groups.errors.texts import counted, traceback_of
from kafka_groups.net.clock import Clock
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.commits import CommitResult, CommitTicket
from kafka_groups.share.delivery.share_records import AnyRecords, deliveries_of
from kafka_groups.types import TopicIdPartition

__all__ = ["Acknowledger", "Committer", "Tally"]

_LOG = logging.getLogger(__name__)
_ERROR_CHARACTERS = 4_000
Decided = Mapping[TopicIdPartition, Counter[str]]
"""The number of records per partition and type of acknowledgement."""

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
        text = traceback_of(error)
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

    def begin_commit(self) -> CommitTicket | None:
        """Send the acknowledgements with the next fetch; None if nothing could be sent."""
        ...

    def commit(self) -> CommitResult | None:
        """Send the acknowledgements and wait for those of all commits; None if they are not answered in time."""
        ...


class Acknowledger:
    """Sends acknowledgements and counts those that the brokers confirm.

    The acknowledgements of a poll travel with the next fetch, while the next records are processed.

    Args:
        committer: Sends and waits.
        tally: The counter to update.
        clock: Time.
    """

    def __init__(self, committer: Committer, tally: Tally, clock: Clock) -> None:
        self._committer = committer
        self._tally = tally
        self._clock = clock
        self._sent: list[tuple[CommitTicket, Decided]] = []

    def send(self, records: AnyRecords) -> None:
        """Send the acknowledgements of a poll without waiting for the brokers.

        If a broker refuses them (lock lost, leader moved), they are only counted: it redelivers the records.
        """
        decided = _decided(records)
        # If nothing could be sent, an empty ticket stands for it, and the records count as not answered in the end.
        if decided:
            self._sent.append((self._committer.begin_commit() or CommitTicket(), decided))
        answered, self._sent = _parted(self._sent)
        self._count_all(answered)

    def finish(self) -> None:
        """Wait until the brokers have answered everything that was sent."""
        if not self._sent:
            return
        started_ms = self._clock.now_ms()
        self._committer.commit()
        self._tally.ack_ms += self._clock.now_ms() - started_ms
        sent, self._sent = self._sent, []
        self._count_all(sent)

    def _count_all(self, commits: Iterable[tuple[CommitTicket, Decided]]) -> None:
        for ticket, decided in commits:
            self._count(decided, ticket.results)

    def _count(self, decided: Decided, results: CommitResult) -> None:
        for partition, counts in decided.items():
            error = results.get(partition, _UNANSWERED)
            # A record counts as accepted only if the broker has confirmed it. Without an answer it may be redelivered,
            # and counts as a lost lock.
            if error is None:
                for name, count in counts.items():
                    setattr(self._tally, name, getattr(self._tally, name) + count)
            else:
                self._tally.lock_lost += counts.total()
                _LOG.warning(
                    "%s of %s will be delivered again: %s", counted(counts.total(), "record"), partition, error
                )


_UNANSWERED = OperationTimeoutError("the broker's answer is not known")


def _parted(
    sent: Iterable[tuple[CommitTicket, Decided]],
) -> tuple[list[tuple[CommitTicket, Decided]], list[tuple[CommitTicket, Decided]]]:
    """Return the commits that brokers have answered, and the others."""
    answered: list[tuple[CommitTicket, Decided]] = []
    others: list[tuple[CommitTicket, Decided]] = []
    for commit in sent:
        (answered if commit[0].is_done else others).append(commit)
    return answered, others


def _decided(records: AnyRecords) -> Decided:
    """Count the records of each partition to acknowledge with each type."""
    decided: dict[TopicIdPartition, Counter[str]] = {}
    for delivery in deliveries_of(records):
        counts = {name: delivery.marks.count(mark) for mark, name in _COUNTED.items()}
        if any(counts.values()):
            decided.setdefault(delivery.topic_partition, Counter()).update(counts)
    return decided
