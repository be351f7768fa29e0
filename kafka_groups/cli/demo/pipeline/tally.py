"""Counts records that were delivered, stored, redelivered and lost, and checks the counts."""

import enum
from collections.abc import Iterator, Mapping

from attrs import define, field, frozen

from kafka_groups.cli.demo.pipeline.delays import DelayTable
from kafka_groups.cli.demo.pipeline.messages import Message, MessageKind
from kafka_groups.cli.demo.pipeline.sources import FLIGHTS

__all__ = ["Files", "PipelineOutcome", "PipelineTally", "Verdict"]

_WORKER_AFTER = 0.25
_QUERY_AFTER = 0.6


class Verdict(enum.Enum):
    """The demo's decision about a worker that has stored a batch and waits."""

    GO_ON = "go on"
    KILL_WORKER = "kill the worker"
    KILL_QUERY = "kill the query"


@define
class PipelineTally:
    """The counts of all workers, and which of the two kills have happened.

    Attributes:
        total: How many flights there are.
    """

    total: int
    delivered: int = 0
    redelivered: int = 0
    stored: int = 0
    accepted: int = 0
    batches: int = 0
    kills: dict[Verdict, int] = field(factory=dict)

    def add(self, message: Message) -> Verdict:
        """Count a message, and return what to do with the worker that sent it."""
        if message.kind is MessageKind.RECEIVED:
            self.delivered += message.records
            self.redelivered += message.redelivered
        elif message.kind is MessageKind.ACCEPTED:
            self.accepted += message.records
            self.batches += 1
        elif message.kind is MessageKind.STORED and message.table == FLIGHTS:
            self.stored += message.records
            return self._verdict(message.records)
        return Verdict.GO_ON

    @property
    def both_killed(self) -> bool:
        """True if a worker and the query were killed."""
        return len(self.kills) == 2

    def _verdict(self, records: int) -> Verdict:
        for verdict, after in ((Verdict.KILL_WORKER, _WORKER_AFTER), (Verdict.KILL_QUERY, _QUERY_AFTER)):
            if verdict not in self.kills:
                if self.stored < self.total * after:
                    return Verdict.GO_ON
                self.kills[verdict] = records
                return verdict
        return Verdict.GO_ON


@frozen
class Files:
    """The size of a table in files.

    Attributes:
        rows: Number of rows.
        records: Number of distinct records in these rows.
    """

    rows: int
    records: int

    @property
    def duplicates(self) -> int:
        """Number of rows that repeat a record."""
        return self.rows - self.records


@frozen(kw_only=True)
class PipelineOutcome:
    """The results of a run.

    Attributes:
        published: Records that the broker confirmed, of all tables.
        delivered: Deliveries to workers. A record that was delivered twice counts twice.
        redelivered: Deliveries of records that had been delivered before.
        killed: How many records the killed worker had stored but not acknowledged, for each kill.
        reference: The records of the reference tables, as the workers wrote them.
        written: The flights, as the workers wrote them.
        removed: Rows that the compaction removed, as counted by Spark.
        left: The flights after the compaction.
        flights_equal: Whether all enriched flights equal those of the plain computation.
        delays: The final table.
        expected: The final table of the plain computation.
    """

    published: int
    delivered: int
    redelivered: int
    killed: Mapping[Verdict, int]
    reference: Files
    written: Files
    removed: int
    left: Files
    flights_equal: bool
    delays: DelayTable
    expected: DelayTable

    @property
    def lost(self) -> int:
        """Published records that are missing from the tables."""
        return self.published - self.reference.records - self.left.records

    @property
    def holds(self) -> bool:
        """True if every record is accounted for, both kills took place, and the result is exactly right."""
        return not any(self.faults())

    def faults(self) -> Iterator[str]:
        """Return what is wrong, in words."""
        for verdict, what in ((Verdict.KILL_WORKER, "Python worker"), (Verdict.KILL_QUERY, "query")):
            if verdict not in self.killed:
                yield f"no {what} was killed, so the run proves nothing"
        if self.lost:
            yield f"{self.lost:,} published records are missing from the tables"
        if not self.redelivered:
            yield "no record was redelivered, so the kills had no effect"
        if not self.written.duplicates:
            yield "no row was written twice, so there was nothing to deduplicate"
        if self.removed != self.written.duplicates:
            yield f"{self.removed:,} of {self.written.duplicates:,} duplicates were removed"
        if self.left.duplicates:
            yield f"{self.left.duplicates:,} duplicates are left"
        if not self.flights_equal:
            yield "the enriched flights differ from those of the plain computation"
        if self.delays != self.expected:
            yield "the delays differ from those of the plain computation"
