"""What one seed does: how many records, how they are consumed, and which faults strike where.

A plan is drawn from its seed alone, so that a seed means the same run on every machine. What is not in the plan is
timing: which of several tasks meets a fault first, and what the scheduler of the machine does between.
"""

import enum
import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import attrs
from attrs import frozen

DESIGNS = ("workers", "source", "drain")
BROKERS = ("embedded", "kafka")

LOCK_MS = 3_000
"""Acquisition lock of every group."""
SLOW_BATCH_MS = 4_500
"""How long a batch takes that is longer than its lock."""
DELIVERY_LIMIT = 10
"""Attempts that the broker gives a record: more than a plan has faults."""

ONCE = "once"
"""The mode in which a pipeline ends after one attempt, whether that failed or came to an end by itself."""

_TASK_ATTEMPTS = 4
"""As often does Spark try a task, in both masters; a batch of the source or of drain fails after the last."""
LOCAL = f"local[3,{_TASK_ATTEMPTS}]"
CLUSTER = "local-cluster[2,1,1024]"
"""Two executors of one core each, as processes of their own."""


class Kind(enum.StrEnum):
    """The classes of faults."""

    PROCESS_RAISES = "exception in process"
    SINK_RAISES = "exception in the sink"
    RAISES_BETWEEN = "exception between sink and acknowledgement"
    DOUBLE_ACTION = "two actions on the batch"
    TASK_RETRY = "task retry"
    STAGE_RERUN = "stage re-run"
    SLOW_BATCH = "batch longer than the lock"
    WORKER_KILLED = "SIGKILL of a Python worker"
    RUNNER_KILLED = "SIGKILL of the source runner"
    EXECUTOR_KILLED = "SIGKILL of an executor"
    DRIVER_KILLED = "SIGKILL of the driver"
    CONNECTIONS_CUT = "connections cut"
    BROKER_RESTARTED = "broker restart with its storage"
    SINK_AWAY = "outage of the sink"
    POISON = "record that kills its worker"
    QUERY_STOPPED = "query.stop()"
    RUNNER_TERMINATED = "SIGTERM of the source runner"


OF_THE_DEFAULT_LIMIT = (Kind.SINK_AWAY, Kind.POISON, Kind.QUERY_STOPPED, Kind.RUNNER_TERMINATED)
"""Classes that are not drawn: they have plans of their own, with Kafka's default delivery limit."""
KAFKAS_DELIVERY_LIMIT = 5


class Point(enum.StrEnum):
    """Where in the handling of a batch a fault strikes."""

    BATCH = "in the driver, before the batch is handled"
    BEFORE = "in a task, before the sink"
    INSIDE = "in a task, when half of the rows are in the sink"
    BETWEEN = "in a task, after the sink"
    AFTER = "in the driver, after the sink and before the acknowledgement"


IN_TASK = (Point.BEFORE, Point.INSIDE, Point.BETWEEN)
IN_DRIVER = (Point.BATCH, Point.AFTER)
REQUESTED = frozenset({
    Kind.RUNNER_KILLED, Kind.RUNNER_TERMINATED, Kind.EXECUTOR_KILLED, Kind.DRIVER_KILLED, Kind.CONNECTIONS_CUT,
    Kind.BROKER_RESTARTED,
})  # fmt: skip
"""Faults that the pipeline asks the harness for, since it could not survive doing them itself."""


@frozen
class Fault:
    """One fault.

    Attributes:
        kind: Its class.
        point: Where it strikes.
        after_calls: It strikes when so many calls (batches in tasks) have begun, or at the first chance thereafter.
        waits: For requested faults: whether the pipeline stands still until it has struck, so that it strikes exactly
            here; otherwise the pipeline goes on and it strikes `delay_ms` later.
        delay_ms: See `waits`.
        times: How many tasks it strikes.
        lasts_ms: For outages: how long.
    """

    kind: Kind
    point: Point
    after_calls: int = 1
    waits: bool = True
    delay_ms: int = 0
    times: int = 1
    lasts_ms: int = 0


@frozen
class Plan:
    """One run.

    Attributes:
        design: What consumes: one of `DESIGNS`, or a naive design.
        broker: One of `BROKERS`.
        seed: Where it was drawn from.
        master: Spark's master.
        records: How many are produced.
        records_per_batch: How many go into one record batch.
        partitions: Of the topic.
        max_records: How many one poll, micro-batch or round takes at most, about.
        tasks: Workers, or partitions of a micro-batch.
        mode: How the pipeline is driven; each design has its own, and `once` is one attempt of any.
        sub-batches: Into how many parts production is cut; each but the first comes while the pipeline works.
        faults: What strikes.
        delivery_limit: Attempts that the broker gives a record.
        backoff_ms: `backoffMs` of the source.
        poison: The number of a record that kills the worker that reads it; None for none.
    """

    design: str
    broker: str
    seed: int
    master: str = LOCAL
    records: int = 1_500
    records_per_batch: int = 40
    partitions: int = 3
    max_records: int = 200
    tasks: int = 2
    mode: str = ""
    sub_batches: int = 2
    faults: tuple[Fault, ...] = ()
    delivery_limit: int = DELIVERY_LIMIT
    backoff_ms: int = 5_000
    poison: int | None = None


MODES: Mapping[str, Sequence[str]] = MappingProxyType({
    "workers": ("query", "run_until"),
    "source": ("processing-time", "available-now"),
    "drain": ("rounds",),
})  # fmt: skip

_EVERYWHERE: tuple[Kind, ...] = tuple(
    kind for kind in Kind if kind not in (Kind.RUNNER_KILLED, Kind.BROKER_RESTARTED, *OF_THE_DEFAULT_LIMIT)
)
_RARE = frozenset({Kind.EXECUTOR_KILLED, Kind.DRIVER_KILLED, Kind.BROKER_RESTARTED})
"""Drawn as the main fault of a seed only: each of them costs seconds."""
_IN_A_CALL = (0, 1, 2, 3)
"""How many further faults a seed has."""


def classes_of(design: str, broker: str) -> tuple[Kind, ...]:
    """The classes of faults that a design meets on a broker."""
    kinds: list[Kind] = [*_EVERYWHERE]
    if design == "source":
        kinds.append(Kind.RUNNER_KILLED)
    if broker == "kafka":
        kinds.append(Kind.BROKER_RESTARTED)
    return tuple(kinds)


def draw(design: str, broker: str, seed: int) -> Plan:
    """The plan of a seed; the main fault goes through all classes as seeds are counted up, the rest is drawn."""
    rng = random.Random(f"{design} {broker} {seed}")
    kinds = classes_of(design, broker)
    main = kinds[(seed - 1) % len(kinds)]
    common = [kind for kind in kinds if kind not in _RARE and kind is not main]
    drawn = [main, *rng.sample(common, rng.choice(_IN_A_CALL))]
    plan = Plan(
        design=design,
        broker=broker,
        seed=seed,
        master=CLUSTER if Kind.EXECUTOR_KILLED in drawn else LOCAL,
        records_per_batch=rng.choice((10, 25, 50)),
        partitions=rng.randint(2, 4),
        max_records=rng.choice((150, 250)),
        tasks=2,
        mode=rng.choice(_modes(design, drawn)),
    )
    return attrs.evolve(plan, faults=tuple(_fault(rng, design, kind) for kind in drawn))


def _modes(design: str, kinds: Sequence[Kind]) -> Sequence[str]:
    """Workers without a query have no code of the user in the driver, and so nothing that acts upon a batch there."""
    needs_query = design == "workers" and {Kind.DOUBLE_ACTION, Kind.STAGE_RERUN} & set(kinds)
    return ("query",) if needs_query else MODES[design]


def _fault(rng: random.Random, design: str, kind: Kind) -> Fault:
    waits = rng.random() < 0.5
    return Fault(
        kind=kind,
        point=rng.choice(_points(design, kind)),
        after_calls=rng.randint(1, 5),
        waits=waits,
        delay_ms=0 if waits else rng.choice((0, 30, 100, 300)),
        times=_TASK_ATTEMPTS if kind is Kind.SINK_RAISES and design != "workers" else 1,
    )


def _points(design: str, kind: Kind) -> Sequence[Point]:
    in_task = design == "workers"
    where: Mapping[Kind, Sequence[Point]] = {
        Kind.PROCESS_RAISES: (Point.BEFORE,) if in_task else (Point.BATCH,),
        Kind.SINK_RAISES: (Point.INSIDE,),
        Kind.RAISES_BETWEEN: (Point.BETWEEN,) if in_task else (Point.AFTER,),
        Kind.DOUBLE_ACTION: (Point.BATCH,),
        Kind.STAGE_RERUN: (Point.BATCH,),
        Kind.SLOW_BATCH: IN_TASK if in_task else (*IN_DRIVER, *IN_TASK),
        Kind.RUNNER_KILLED: IN_DRIVER,
    }
    anywhere = (
        IN_TASK if in_task or kind in (Kind.EXECUTOR_KILLED, Kind.TASK_RETRY, Kind.WORKER_KILLED) else tuple(Point)
    )
    return where.get(kind, anywhere)
