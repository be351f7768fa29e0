"""The measures of Spark: workers and source against Spark's own, by turns in one session and on one Kafka."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from attrs import field, frozen

from tests.benchmarks.spark_runs import Outcome, Run
from tests.benchmarks.topics import PARTITIONS, new_group

LOCKS = (2_000, 10_000)
"""`share.partition.max.record.locks`: the default, and the most that Kafka allows."""

BROKER_PROPERTIES: Mapping[str, str] = {"group.share.max.partition.max.record.locks": str(max(LOCKS))}
"""Without it a group may have 4,000 locks at most."""

THROUGHPUT_BATCH = 250_000
WORKER_BATCHES: Mapping[int, int] = {10_000: 12, 50_000: 8, 250_000: 4, 1_000_000: 2}
"""Records of a micro-batch, and how many of them are counted."""

SMALL_BATCH = 100
SMALL_BATCHES = 30
RECORDS_NEEDED = 3 * max(WORKER_BATCHES) + 200_000
TINY_RECORDS_NEEDED = 40_000
SOURCE_SHARES = (4, 2, 1)
"""The source is asked for a quarter of what the locks allow, then for more, and for all."""

SOURCE_BATCHES = 20

DRAINED: Mapping[int, int] = {32_000: PARTITIONS, 200_000: 25}
"""Records of a block, and the partitions of its topic: their locks allow a quarter more, so that no block waits."""

DRAIN_BLOCKS = 5
_DRAIN_WARM_UP = 2

Runner = Callable[[Run], Outcome]
Say = Callable[[str], None]


@frozen
class Bench:
    """Where the runs take place.

    Attributes:
        bootstrap_servers: A real Kafka, with `BROKER_PROPERTIES`.
        topic: It has `RECORDS_NEEDED` records.
        tiny_topic: It has `TINY_RECORDS_NEEDED`, in batches of ten, so that workers can have few.
        run: Runs a query in the process with Spark.
        say: Told of every outcome.
    """

    bootstrap_servers: str
    topic: str
    tiny_topic: str
    run: Runner
    say: Say

    def outcome(self, kind: str, records_per_batch: int, batches: int, locks: int | None = None) -> Outcome:
        """One run with a group of its own."""
        configs = {} if locks is None else {"share.partition.max.record.locks": str(locks)}
        group_id = "" if kind in {"kafka", "ticks"} else new_group(self.bootstrap_servers, configs)
        run = Run(
            kind=kind,
            bootstrap_servers=self.bootstrap_servers,
            topic=self.tiny_topic if records_per_batch <= SMALL_BATCH else self.topic,
            group_id=group_id,
            records_per_batch=records_per_batch,
            batches=batches,
            warm_up_batches=1 if records_per_batch >= max(WORKER_BATCHES) else 2,
        )
        return self._told(f"{kind} {records_per_batch:,}{f' of {locks:,} locks' if locks else ''}", self.run(run))

    def batch_jobs(self, kind: str, topic: str, records: int) -> Outcome:
        """Blocks of a drain with a group of its own, or Spark's own reads of as many records."""
        locks = {"share.partition.max.record.locks": str(max(LOCKS))}
        run = Run(
            kind=kind,
            bootstrap_servers=self.bootstrap_servers,
            topic=topic,
            group_id=new_group(self.bootstrap_servers, locks) if kind == "drain" else "",
            records_per_batch=records,
            batches=DRAIN_BLOCKS,
            warm_up_batches=_DRAIN_WARM_UP,
            partitions=DRAINED[records],
        )
        return self._told(f"{kind} {records:,}", self.run(run))

    def _told(self, what: str, outcome: Outcome) -> Outcome:
        self.say(
            f"{what}: {outcome.records_per_second / 1e3:.1f} k records/s, {outcome.median_seconds:.3f} s a batch"
            f"{f', {outcome.notes}' if any(outcome.notes.values()) else ''}"
        )
        return outcome


@frozen
class Pair:
    """One of ours against one of Spark's own, round by round."""

    ours: list[Outcome] = field(factory=list)
    own: list[Outcome] = field(factory=list)

    def ratio(self, of: Callable[[Outcome], float]) -> float:
        """Ours over Spark's own: the median of the rounds' own ratios."""
        return median(of(a) / of(b) for a, b in zip(self.ours, self.own, strict=True))


@frozen
class BySize:
    """What micro-batches of several sizes take, and those of next to nothing.

    Attributes:
        fixed: Micro-batches of next to nothing.
        outcomes: By what was asked for.
    """

    fixed: Outcome
    outcomes: Mapping[int, Outcome]

    def net_us_per_record(self, outcome: Outcome) -> float:
        """What a record costs beyond what a micro-batch costs that carries next to nothing."""
        return (outcome.median_seconds - self.fixed.median_seconds) / outcome.records_per_batch * 1e6


@frozen
class Ceiling:
    """What the source reached of what the locks allow.

    A record stays locked until the micro-batch after its own acknowledges it, so in one cycle of micro-batches no more
    than partitions times locks can pass.
    """

    locks: int
    outcome: Outcome
    fixed: Outcome
    """Micro-batches of next to nothing."""
    own: Outcome | None = None
    """Spark's own Kafka source with as many records a micro-batch, where all locks are used."""

    @property
    def records_per_second(self) -> float:
        """Partitions x locks / cycle."""
        seconds = self.outcome.seconds
        return PARTITIONS * self.locks * len(seconds) / sum(seconds)

    @property
    def fraction(self) -> float:
        """How much of it was reached."""
        return self.outcome.records_per_second / self.records_per_second

    @property
    def net_us_per_record(self) -> float:
        """What a record costs beyond what a micro-batch costs that carries next to nothing."""
        return (self.outcome.median_seconds - self.fixed.median_seconds) / self.outcome.records_per_batch * 1e6


def throughput(bench: Bench, rounds: int, batches: int = 4, warm_up_rounds: int = 1) -> Pair:
    """`ShareWorkers` against Spark's own Kafka source, 250,000 records a micro-batch."""
    pair = Pair()
    for number in range(-warm_up_rounds, rounds):
        for kind in ("workers", "kafka") if number % 2 == 0 else ("kafka", "workers"):
            outcome = bench.outcome(kind, THROUGHPUT_BATCH, batches)
            if number >= 0:
                (pair.ours if kind == "workers" else pair.own).append(outcome)
    return pair


def overhead(bench: Bench, rounds: int) -> dict[str, Pair]:
    """What a micro-batch takes that carries next to nothing, against Spark's own.

    Workers are measured against an empty micro-batch, which is what starts them; the source against the same, and
    against Spark's own Kafka source with as few records.
    """
    pairs = {"workers / empty": Pair(), "share / empty": Pair(), "share / kafka": Pair()}
    for number in range(rounds):
        kinds = ("ticks", "kafka", "workers", "share")
        outcomes = {
            kind: bench.outcome(kind, SMALL_BATCH, SMALL_BATCHES)
            for kind in (kinds if number % 2 == 0 else reversed(kinds))
        }
        for name, pair in pairs.items():
            ours, own = name.split(" / ")
            pair.ours.append(outcomes[ours])
            pair.own.append(outcomes["ticks" if own == "empty" else own])
    return pairs


def drained(bench: Bench, topics: Mapping[int, str], rounds: int, warm_up_rounds: int = 1) -> dict[int, Pair]:
    """Blocks of a drain against Spark's own reads of as many records, by the records of a block.

    Args:
        bench: Where the runs take place.
        topics: A topic for each size of `DRAINED`, with `drained_records` of it.
        rounds: How often both take turns.
        warm_up_rounds: Those before them that are not counted.
    """
    pairs = {}
    for records, topic in topics.items():
        pair = pairs[records] = Pair()
        for number in range(-warm_up_rounds, rounds):
            for kind in ("drain", "read") if number % 2 == 0 else ("read", "drain"):
                outcome = bench.batch_jobs(kind, topic, records)
                if number >= 0:
                    (pair.ours if kind == "drain" else pair.own).append(outcome)
    return pairs


def drained_records(records: int) -> int:
    """How many records a topic needs for blocks of so many: each may take all that the locks allow."""
    return (_DRAIN_WARM_UP + DRAIN_BLOCKS) * DRAINED[records] * max(LOCKS) * 6 // 5


def workers_by_batch(bench: Bench, sizes: Mapping[int, int] = WORKER_BATCHES) -> BySize:
    """Workers, by the records of a micro-batch."""
    fixed = bench.outcome("workers", SMALL_BATCH, SMALL_BATCHES)
    return BySize(fixed, {size: bench.outcome("workers", size, batches) for size, batches in sizes.items()})


def source_by_batch(bench: Bench, locks: Sequence[int] = LOCKS) -> list[Ceiling]:
    """The source, by the number of locks and by how many of them a micro-batch is to use."""
    fixed = bench.outcome("share", SMALL_BATCH, SMALL_BATCHES)
    return [_ceiling(bench, fixed, number, share) for number in locks for share in SOURCE_SHARES]


def _ceiling(bench: Bench, fixed: Outcome, locks: int, share: int) -> Ceiling:
    records_per_batch = PARTITIONS * locks // share
    outcome = bench.outcome("share", records_per_batch, SOURCE_BATCHES, locks)
    own = bench.outcome("kafka", records_per_batch, SOURCE_BATCHES) if share == 1 else None
    return Ceiling(locks, outcome, fixed, own)
