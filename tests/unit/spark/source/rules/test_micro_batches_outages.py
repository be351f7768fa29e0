"""The rule of the source against a naive broker, in virtual time: no outage of the sink costs a record."""

from collections.abc import Iterator
from itertools import count

from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.spark.source.rules.micro_batches import BatchLimits, MicroBatches, SealedBatch
from kafka_groups.spark.source.rules.offsets import SourceOffset
from kafka_groups.spark.source.rules.redelivery_limits import RedeliveryLimits
from tests.unit.spark.source.numbered import NumberedPiece, numbers_of

LIMITS = BatchLimits(rows=50, size_bytes=10_000)
PEEKED = -1
"""A record that nobody holds."""


@define
class LimitedBroker:
    """Records with their delivery counts: available, acquired, accepted, or archived at the limit."""

    limit: int
    available: dict[int, int] = field(factory=dict)
    acquired: dict[int, int] = field(factory=dict)
    accepted: set[int] = field(factory=set)
    archived: set[int] = field(factory=set)

    def acquire(self, most: int | None) -> list[NumberedPiece]:
        taken = sorted(self.available)[:most]
        for number in taken:
            self.acquired[number] = self.available.pop(number) + 1
        return [NumberedPiece((number,), self.acquired[number]) for number in taken]

    def accept(self, numbers: list[int]) -> None:
        for number in set(numbers) & set(self.acquired):
            del self.acquired[number]
            self.accepted.add(number)

    def release_all(self) -> None:
        for number, delivery_count in self.acquired.items():
            if delivery_count >= self.limit:
                self.archived.add(number)
            else:
                self.available[number] = delivery_count
        self.acquired.clear()


@define
class SparkQuery:
    """A query that is started again and again; what survives is the checkpoint."""

    broker: LimitedBroker
    redelivery: RedeliveryLimits
    runs: Iterator[int] = field(factory=count)
    committed: SourceOffset = field(factory=lambda: SourceOffset(0, "start"))
    logged: SourceOffset | None = None
    failed_runs: int = 0

    def run(self, *, up_for: int, most_steps: int) -> None:
        """One run: the sink works for some batches, and the run ends when it fails, is stopped or nothing is left."""
        source: MicroBatches[NumberedPiece] = MicroBatches(f"run-{next(self.runs)}", self.redelivery)
        steps = self._steps(source, up_for)
        for _ in range(most_steps):
            if not next(steps, False):
                break
        self.broker.release_all()

    def _steps(self, source: MicroBatches[NumberedPiece], up_for: int) -> Iterator[bool]:
        """Yield after each micro-batch."""
        if self.logged is not None:
            assert source.planned(self.committed, self.logged, 1) == ()
            self.committed, self.logged = self.logged, None
            yield True
        while (batch := self._next(source)) is not None:
            self.logged = batch.end
            yield True  # the offset log is written, the sink has nothing yet
            if batch.pieces:
                if up_for <= 0:
                    self.failed_runs += 1
                    return
                up_for -= 1
            self.committed, self.logged = batch.end, None
            yield True

    def _next(self, source: MicroBatches[NumberedPiece]) -> SealedBatch[NumberedPiece] | None:
        finished = source.finished(self.committed)
        if finished is not None:
            self.broker.accept(numbers_of(finished.pieces))
        mark = source.mark(self.committed)
        if mark is not None or source.sealed is not None:
            return mark or source.sealed
        source.resume(self.committed)
        if not self.redelivery.may_acquire(source.deliveries, source.failures):
            return source.probe(self.committed, NumberedPiece((PEEKED,)))
        held = list(self.broker.acquired.values())
        most = self.redelivery.rows_acquired(max(held, default=0), source.failures)
        if most is None or source.held_rows < most:
            source.hold(self.broker.acquire(most), 0)
        return source.seal(self.committed, LIMITS, 0)


@settings(max_examples=300, deadline=None)
@given(
    limit=st.integers(2, 7),
    records=st.integers(1, 40),
    before=st.integers(0, 3),
    runs=st.lists(st.integers(0, 6), min_size=1, max_size=40),
)
def test_no_outage_costs_a_record_however_often_the_query_is_restarted(
    limit: int, records: int, before: int, runs: list[int]
) -> None:
    """The sink fails in the middle of a run. Each further run fails, or is stopped after so many steps."""
    broker = LimitedBroker(limit, available=dict.fromkeys(range(records), 0))
    query = SparkQuery(broker, RedeliveryLimits(limit, 0))
    query.run(up_for=before, most_steps=1_000)
    for most_steps in runs:
        query.run(up_for=0, most_steps=most_steps)
        assert not broker.archived
    for _ in range(3):
        query.run(up_for=1_000, most_steps=10_000)
    assert broker.accepted == set(range(records))


@settings(max_examples=300, deadline=None)
@given(
    limit=st.integers(2, 7),
    records=st.integers(1, 40),
    runs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), min_size=1, max_size=40),
)
def test_a_success_of_an_earlier_run_is_no_reason_to_spend_a_last_delivery(
    limit: int, records: int, runs: list[tuple[int, int]]
) -> None:
    """The sink works for some batches of each run. In a run in which nothing is stored, no record is archived.

    If it works for some and then fails, it may fail for the very record whose last delivery another has shown to be
    safe. No rule can know that before.
    """
    broker = LimitedBroker(limit, available=dict.fromkeys(range(records), 0))
    query = SparkQuery(broker, RedeliveryLimits(limit, 0))
    for up_for, most_steps in runs:
        archived = set(broker.archived)
        query.run(up_for=up_for, most_steps=most_steps)
        assert len(broker.archived - archived) <= min(up_for, 1)
    for _ in range(3):
        query.run(up_for=1_000, most_steps=10_000)
    assert broker.accepted | broker.archived == set(range(records))


@settings(max_examples=100, deadline=None)
@given(limit=st.integers(2, 7), records=st.integers(1, 40), runs=st.integers(1, 60))
def test_deliveries_are_spent_by_few_records_and_then_by_none(limit: int, records: int, runs: int) -> None:
    broker = LimitedBroker(limit, available=dict.fromkeys(range(records), 0))
    query = SparkQuery(broker, RedeliveryLimits(limit, 0))
    for _ in range(runs):
        query.run(up_for=0, most_steps=1_000)
    assert query.failed_runs == runs
    assert max(broker.available.values()) < limit
    assert sum(delivery_count > 1 for delivery_count in broker.available.values()) <= 2
