"""The micro-batch rules against a naive model of a broker, of Spark and of a sink: any calls, restarts, refusals."""

from itertools import count

from attrs import define, field
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_groups.spark.source.rules.micro_batches import BatchLimits, MicroBatches
from kafka_groups.spark.source.rules.offsets import SourceOffset
from kafka_groups.spark.source.rules.redelivery_limits import RedeliveryLimits
from tests.unit.spark.source.numbered import NumberedPiece, numbers_of

LIMITS = BatchLimits(rows=8, size_bytes=100)


@define
class NaiveBroker:
    """Which record is where: each available with its delivery count, or acquired, or done."""

    available: dict[int, int] = field(factory=dict)
    acquired: dict[int, int] = field(factory=dict)
    accepted: set[int] = field(factory=set)

    def acquire(self, most: int) -> list[NumberedPiece]:
        taken = dict(list(self.available.items())[:most])
        for number in taken:
            self.acquired[number] = self.available.pop(number) + 1
        counts = sorted({self.acquired[number] for number in taken})
        by_count = [(n, tuple(x for x in taken if self.acquired[x] == n)) for n in counts]
        return [NumberedPiece(numbers, delivery_count) for delivery_count, numbers in by_count]

    def accept(self, numbers: list[int], *, refused: bool) -> None:
        for number in numbers:
            delivery_count = self.acquired.pop(number)
            if refused:
                self.available[number] = delivery_count
            else:
                self.accepted.add(number)

    def release_all(self) -> None:
        self.available.update(self.acquired)
        self.acquired.clear()


class SparkAndSource(RuleBasedStateMachine):
    """Spark's calls as they are made: the offset log before a batch, the commit log after its sink."""

    def __init__(self) -> None:
        super().__init__()
        self.broker = NaiveBroker()
        self.next_number = count()
        self.produced: set[int] = set()
        self.sunk: list[int] = []
        self.now_ms = 0
        self.runs = count()
        self.limits = LIMITS
        self.committed: SourceOffset | None = None
        self.logged: tuple[SourceOffset, SourceOffset] | None = None
        self.highest_seq = 0

    @initialize(backoff_ms=st.sampled_from([0, 1_000]), limit=st.integers(2, 10))
    def start(self, backoff_ms: int, limit: int) -> None:
        self.redelivery = RedeliveryLimits(limit, backoff_ms)
        self.new_run()
        self.committed = self.source.initial()

    def new_run(self) -> None:
        self.source: MicroBatches[NumberedPiece] = MicroBatches(f"run-{next(self.runs)}", self.redelivery)

    # ------------------------------------------------------------------------------------- the cluster

    @rule(records=st.integers(1, 30))
    def produce(self, records: int) -> None:
        for _ in range(records):
            number = next(self.next_number)
            self.produced.add(number)
            self.broker.available[number] = 0

    @rule(most=st.integers(1, 25))
    def acquire(self, most: int) -> None:
        self.source.hold(self.broker.acquire(most), self.now_ms)

    @rule(ms=st.sampled_from([1, 999, 1_000, 60_000]))
    def time_passes(self, ms: int) -> None:
        self.now_ms += ms

    @rule(rows=st.sampled_from([None, 1, 3, 8]), size_bytes=st.sampled_from([1, 10, 35, 1_000]))
    def limits_change(self, rows: int | None, size_bytes: int) -> None:
        self.limits = BatchLimits(rows, size_bytes)

    # ------------------------------------------------------------------------------------------ Spark

    @precondition(lambda self: self.logged is None)
    @rule(refused=st.booleans())
    def trigger(self, refused: bool) -> None:
        self.plan(refused=refused)

    def plan(self, *, refused: bool = False) -> None:
        """`latestOffset(start)`, and the offset log if there is a new batch."""
        assert self.committed is not None
        finished = self.source.finished(self.committed)
        if finished is not None:
            numbers = numbers_of(finished.pieces)
            assert set(numbers) <= set(self.sunk), "acknowledged before the sink had it"
            self.broker.accept(numbers, refused=refused)
        batch = self.source.seal(self.committed, self.limits, self.now_ms)
        assert self.source.finished(self.committed) is None, "told twice"
        assert self.source.seal(self.committed, LIMITS, self.now_ms) is batch, "a sealed batch stays as it is"
        if batch is not None:
            assert batch.end.seq > self.highest_seq
            self.highest_seq = batch.end.seq
            self.check_shape([piece.delivery_count for piece in batch.pieces], batch.rows, batch.size_bytes)
            self.logged = (self.committed, batch.end)

    def check_shape(self, delivery_counts: list[int], rows: int, size_bytes: int) -> None:
        assert rows >= 1
        assert self.limits.rows is None or rows <= self.limits.rows
        assert size_bytes <= self.limits.size_bytes or rows == 1
        risky = [n for n in delivery_counts if self.redelivery.is_risky(n)]
        if risky:
            assert set(delivery_counts) == {risky[0]}, "records that ask for care are apart from the rest"
            assert rows <= self.redelivery.rows_at_once(risky[0])

    @precondition(lambda self: self.logged is not None)
    @rule(evaluations=st.integers(1, 3))
    def run_batch(self, evaluations: int) -> None:
        assert self.logged is not None
        start, end = self.logged
        planned = [numbers_of(self.source.planned(start, end)) for _ in range(evaluations)]
        assert all(numbers == planned[0] for numbers in planned)
        self.sunk += planned[0]
        self.committed, self.logged = end, None

    @rule(sunk_before=st.booleans())
    def crash(self, sunk_before: bool) -> None:
        """The query fails, before or after the sink had the batch; the locks are released and it starts again."""
        if self.logged is not None and sunk_before and self.logged[1].run == self.source.run:
            self.sunk += numbers_of(self.source.planned(*self.logged))
        self.broker.release_all()
        self.new_run()
        if self.logged is not None:
            assert self.source.planned(*self.logged) == (), "a batch of another run is planned empty"

    # ------------------------------------------------------------------------------------ what must hold

    @invariant()
    def every_record_is_somewhere(self) -> None:
        broker = self.broker
        assert self.produced == broker.accepted | broker.available.keys() | broker.acquired.keys()
        assert broker.accepted <= set(self.sunk)
        if self.committed is not None:
            assert self.source.in_flight_rows == len(broker.acquired)

    def teardown(self) -> None:
        if self.committed is None:
            return
        self.limits = LIMITS
        for _ in range(10 * len(self.produced) + 10):
            if self.logged is not None:
                self.run_batch(1)
            self.source.hold(self.broker.acquire(25), self.now_ms)
            self.plan()
            self.now_ms += 300_000
        assert self.broker.accepted == self.produced
        assert set(self.sunk) == self.produced
        assert self.source.in_flight_rows == 0


SparkAndSource.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestSparkAndSource = SparkAndSource.TestCase
