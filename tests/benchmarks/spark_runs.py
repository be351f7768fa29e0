"""What a run of a query is told and what it tells; the two ends of the pipe to the process with Spark."""

from statistics import median
from typing import Any

import attrs
from attrs import field, frozen

MARK = "outcome: "
"""What a line with an outcome begins with; Spark and its workers may write others."""

KINDS = ("kafka", "ticks", "workers", "share", "read", "drain")
BATCH_JOBS = ("read", "drain")
"""Those that are jobs of their own and not micro-batches of a streaming query."""

TASKS = 2
"""Tasks of a micro-batch: as many as the session has cores."""


TASK_TIMES = ("poll", "process", "ack")
"""What a task of a worker spends its time on; each is measured in milliseconds."""

TROUBLES = ("released", "rejected", "lock_lost")
"""Counts that should be nought."""


@frozen(kw_only=True)
class Run:
    """One streaming query, or one batch job after the other.

    Attributes:
        kind: Spark's own Kafka source, empty ticks, `ShareWorkers`, or the `kafka-share` source; of batch jobs, Spark's
            own read or a drain.
        bootstrap_servers: A broker.
        topic: It has more than enough records.
        group_id: A new share group, for workers, `kafka-share` and drains.
        records_per_batch: Upper bound of a micro-batch, over all tasks; what a batch job reads, and a drain a bit more.
        batches: Micro-batches that are counted, or batch jobs.
        warm_up_batches: Those before them that are not.
        partitions: Of the topic; for Spark's own read.
    """

    kind: str
    bootstrap_servers: str
    topic: str
    group_id: str
    records_per_batch: int
    batches: int
    warm_up_batches: int = 2
    partitions: int = 4


def as_message(run: Run) -> dict[str, Any]:
    """Return the attributes without those that have their defaults, which earlier checkouts may not know."""
    return attrs.asdict(run, filter=lambda attribute, value: value != attribute.default)


@frozen(kw_only=True)
class Outcome:
    """What came of it, of the batches that are counted.

    Attributes:
        records: Records of each micro-batch.
        seconds: Time of each, from the end of the one before to its own end.
        cpu_seconds: CPU time of the driver, the Java virtual machine and all Python workers, over all batches.
        task_seconds: For workers, time spent in polls, `process` and acknowledgements, summed over the tasks.
        notes: Counts that should be nought, such as those of lost locks.
        phases_ms: What Spark says that the phases of a micro-batch took, the median of each.
    """

    records: list[int]
    seconds: list[float]
    cpu_seconds: float
    task_seconds: dict[str, float] = field(factory=dict)
    notes: dict[str, int] = field(factory=dict)
    phases_ms: dict[str, float] = field(factory=dict)

    @property
    def total_records(self) -> int:
        """Records of all batches."""
        return sum(self.records)

    @property
    def records_per_second(self) -> float:
        """Over all batches, with what passes between them."""
        return self.total_records / sum(self.seconds)

    @property
    def median_seconds(self) -> float:
        """The median micro-batch."""
        return median(self.seconds)

    @property
    def records_per_batch(self) -> float:
        """On average."""
        return self.total_records / len(self.records)

    @property
    def cpu_us_per_record(self) -> float:
        """CPU time of all processes of Spark."""
        return self.cpu_seconds / max(1, self.total_records) * 1e6

    @property
    def task_us_per_record(self) -> float:
        """Time in polls, `process` and acknowledgements, of one task."""
        return sum(self.task_seconds.values()) / max(1, self.total_records) * 1e6


def outcome_as_json(outcome: Outcome) -> dict[str, Any]:
    """The attributes, and what is derived from them."""
    return {
        "records_per_second": outcome.records_per_second,
        "records_per_batch": outcome.records_per_batch,
        "median_batch_seconds": outcome.median_seconds,
        "cpu_us_per_record": outcome.cpu_us_per_record,
        "task_seconds": outcome.task_seconds,
        "notes": outcome.notes,
        "phases_ms": outcome.phases_ms,
    }
