"""Counts records that were delivered, accepted, redelivered and lost, and checks the counts."""

from collections.abc import Iterator, Mapping

from attrs import define, frozen

from kafka_groups.cli.demo.flights import Delays
from kafka_groups.cli.demo.plain.events import EventKind, WorkerEvent

__all__ = ["PlainOutcome", "PlainTally", "WorkerCount"]


@define
class WorkerCount:
    """The counts of one worker."""

    delivered: int = 0
    redelivered: int = 0
    accepted: int = 0
    failed: int = 0
    last: EventKind | None = None
    killed: bool = False

    @property
    def in_flight(self) -> int:
        """Records that the worker holds: delivered, but their acknowledgement is not complete."""
        return 0 if self.killed else self.delivered - self.accepted - self.failed

    @property
    def holds_unacknowledged(self) -> bool:
        """Whether the worker has a batch that it has not started to acknowledge."""
        return self.last is EventKind.RECEIVED

    def add(self, event: WorkerEvent) -> None:
        """Count one event."""
        self.last = event.kind
        if event.kind is EventKind.RECEIVED:
            self.delivered += event.records
            self.redelivered += event.redelivered
        elif event.kind is EventKind.ACCEPTED:
            self.accepted += event.records
        elif event.kind is EventKind.FAILED:
            self.failed += event.records


class PlainTally:
    """The counts of all workers."""

    def __init__(self) -> None:
        self._workers: dict[int, WorkerCount] = {}

    def __repr__(self) -> str:
        return f"<PlainTally delivered={self.delivered} accepted={self.accepted} redelivered={self.redelivered}>"

    def worker(self, number: int) -> WorkerCount:
        """Return the counts of one worker."""
        return self._workers.setdefault(number, WorkerCount())

    @property
    def delivered(self) -> int:
        """Deliveries of records to workers. A record that was delivered twice counts twice."""
        return sum(worker.delivered for worker in self._workers.values())

    @property
    def redelivered(self) -> int:
        """Deliveries of records that had been delivered before."""
        return sum(worker.redelivered for worker in self._workers.values())

    @property
    def accepted(self) -> int:
        """Records whose acceptance the broker confirmed."""
        return sum(worker.accepted for worker in self._workers.values())

    @property
    def failed(self) -> int:
        """Acknowledgements that the broker refused, or whose result is unknown."""
        return sum(worker.failed for worker in self._workers.values())

    @property
    def in_flight(self) -> int:
        """Records that the running workers hold."""
        return sum(worker.in_flight for worker in self._workers.values())


@frozen(kw_only=True)
class PlainOutcome:
    """The results of a run: the counts, and the delays as computed by the workers and as expected."""

    published: int
    stored: int
    delivered: int
    accepted: int
    redelivered: int
    computed: tuple[Mapping[str, Delays], Mapping[str, Delays]]
    expected: tuple[Mapping[str, Delays], Mapping[str, Delays]]

    @property
    def lost(self) -> int:
        """Published records that no worker stored."""
        return self.published - self.stored

    @property
    def holds(self) -> bool:
        """Whether every record is accounted for, the kill took place, and the delays are exactly right."""
        return not any(self.faults())

    def faults(self) -> Iterator[str]:
        """Return what is wrong, in words."""
        if self.lost:
            yield f"{self.lost:,} published records were not stored"
        if self.accepted != self.published:
            yield f"{self.accepted:,} of {self.published:,} published records were accepted"
        if not self.redelivered:
            yield "no record was redelivered, so the kill had no effect"
        if self.computed != self.expected:
            yield "the delays differ from those of the plain computation"
