"""The count of what was delivered, stored, killed and lost, and whether it holds."""

import enum
from collections.abc import Iterator, Mapping

from attrs import define, field, frozen

from kafka_groups.cli.demo.pipeline.delays import DelayTable
from kafka_groups.cli.demo.pipeline.messages import Message, MessageKind
from kafka_groups.cli.demo.pipeline.sources import FLIGHTS

__all__ = ["Files", "Outcome", "Tally", "Verdict"]

_WORKER_AFTER = 0.25
_QUERY_AFTER = 0.6


class Verdict(enum.Enum):
    """What to do with a worker that has stored a batch and waits for the demo."""

    GO_ON = "go on"
    KILL_WORKER = "kill the worker"
    KILL_QUERY = "kill the query"


@define
class Tally:
    """What the workers have said so far, and which of the two kills have struck.

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
        """Whether a worker and the query were killed."""
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
    """What is in the files of a table.

    Attributes:
        rows: All rows.
        records: Different records that they are of.
    """

    rows: int
    records: int

    @property
    def duplicates(self) -> int:
        """Rows of a record that has another row."""
        return self.rows - self.records


@frozen(kw_only=True)
class Outcome:
    """The end of a run.

    Attributes:
        published: Records that the broker confirmed, of all tables.
        delivered: Deliveries to workers; a record that came twice counts twice.
        redelivered: Deliveries of records that had been delivered before.
        killed: How many records a killed worker had stored and not acknowledged, by what was killed.
        reference: The records of the reference tables, as the workers wrote them.
        written: The flights, as the workers wrote them.
        removed: Rows that the compaction removed, by Spark's count.
        left: The flights after the compaction.
        flights_equal: Whether every enriched flight equals the plain computation's.
        delays: The final table.
        expected: The final table, computed plainly.
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
        """Published records that are in no table."""
        return self.published - self.reference.records - self.left.records

    @property
    def holds(self) -> bool:
        """Whether every record is accounted for, both kills took place, and the result is exactly right."""
        return not any(self.faults())

    def faults(self) -> Iterator[str]:
        """What is wrong, in words."""
        for verdict, what in ((Verdict.KILL_WORKER, "no Python worker"), (Verdict.KILL_QUERY, "no query")):
            if verdict not in self.killed:
                yield f"{what} was killed, so that the run has shown nothing"
        if self.lost:
            yield f"{self.lost} records were published and are in no table"
        if not self.redelivered:
            yield "no record was delivered again, so that the kills have shown nothing"
        if not self.written.duplicates:
            yield "no row was written twice, so that the deduplication has shown nothing"
        if self.removed != self.written.duplicates or self.left.duplicates:
            yield f"{self.removed} duplicates were removed and there were {self.written.duplicates}"
        if not self.flights_equal:
            yield "the enriched flights differ from the plain computation over the source files"
        if self.delays != self.expected:
            yield "the delays differ from the plain computation over the source files"
