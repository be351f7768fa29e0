"""What a run of handler workers is like: its faults, its group and its handler."""

import enum
import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Self

from attrs import evolve, frozen

from kafka_groups.share.workers.handlers import HandlerKeywords, checked_batch
from kafka_groups.share.workers.rate_limits import RateLimit
from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.share.workers.rules.limits import BatchSizes
from kafka_groups.testing.simulation import SeededFaults
from tests.simulation.workers.jobs import ERROR_RULES, Job

__all__ = ["FAULTY_S", "LOCK_MS", "LifetimeOptions", "Plan", "Profile"]

LOCK_MS = 5_000
FAULTY_S = 150
_SMALL_WINDOW = 100
_KILLERS_BESIDE_OTHERS = 5
_RATES = (None, None, None, RateLimit(20), RateLimit(5, burst=8))
_CONCURRENCIES = ((1, 4, 2, 16), (1, 2))
"""Of records and of batches. A process that is alone does not have the first."""


class Profile(enum.Enum):
    """What strikes."""

    EVERYTHING = "everything"
    KILLS = "kills"
    """Processes are killed and stopped. Brokers and network work, so that each spent delivery is accounted for."""
    LOCKS = "locks"
    """The only process lifetimes on, but loses locks: leaders move, connections break, and it stands still."""
    OUTAGES = "outages"
    """Only the sink and the topic for dead letters are down at times: nothing may spend a delivery."""


_PROFILES = (
    *(Profile.EVERYTHING, Profile.OUTAGES, Profile.EVERYTHING, Profile.KILLS),
    *(Profile.EVERYTHING, Profile.OUTAGES, Profile.LOCKS, Profile.KILLS),
)
_FAULTS: Mapping[Profile, SeededFaults] = MappingProxyType({
    Profile.EVERYTHING: SeededFaults(
        seconds=FAULTY_S, process_killed=2, process_stopped=2, process_stalled=2, leader_moved=3, broken_connection=2
    ),
    Profile.KILLS: SeededFaults.only(seconds=FAULTY_S, process_killed=1.5, process_stopped=1),
    Profile.LOCKS: SeededFaults.only(
        seconds=FAULTY_S, process_stalled=4, leader_moved=4, broken_connection=4, half_dead_connection=2
    ),
    Profile.OUTAGES: SeededFaults.only(seconds=FAULTY_S),
})  # fmt: skip
_PROCESSES: Mapping[Profile, tuple[int, ...]] = MappingProxyType({
    Profile.EVERYTHING: (1, 3),
    Profile.KILLS: (3,),
    Profile.LOCKS: (1,),
    Profile.OUTAGES: (3,),
})  # fmt: skip
_HANDLERS: Mapping[Profile, tuple[int, ...]] = MappingProxyType({
    Profile.EVERYTHING: (1, 1, 2),
    Profile.KILLS: (1, 2, 3),
    Profile.LOCKS: (1,),
    Profile.OUTAGES: (1,),
})  # fmt: skip


@frozen(kw_only=True)
class Plan:
    """One run, or what it is like for one of its handlers.

    Attributes:
        profile: What strikes.
        partitions: Of each topic.
        is_batch: Whether the handler gets batches.
        keeps_order: Whether records of one key run one by one.
        has_letters: Whether there is a topic for dead letters.
        exhausted: What happens to records that failed too often.
        on_blocked: What happens to records that fill their window.
        delivery_limit: The group's.
        record_locks: The group's window of each partition.
        processes: The number of worker processes. One that is alone gets its own records again, and there is one if it
            has several handlers.
        handlers: The number of handlers in each process, which have a topic each. Only records of the first one end
            processes. All others have a topic for dead letters.
        handler: The number of the handler for which this is the plan.
        has_outputs: Whether the handler returns results that are written to a topic.
    """

    profile: Profile
    partitions: int
    is_batch: bool
    keeps_order: bool
    has_letters: bool
    exhausted: OnError | None
    on_blocked: OnError | None
    delivery_limit: int
    record_locks: int
    processes: int
    handlers: int = 1
    handler: int = 0
    has_outputs: bool = False

    @classmethod
    def drawn(cls, seed: int, rng: random.Random) -> Self:
        """Draw a run."""
        profile = _PROFILES[seed % len(_PROFILES)]
        is_batch, has_letters = rng.random() < 0.25, rng.random() < 0.75
        is_blocking = profile is Profile.OUTAGES and rng.random() < 0.4
        holds = is_blocking or not has_letters or rng.random() < 0.25
        blocked = OnError.DEAD_LETTER if has_letters else OnError.REJECT
        plan = cls(
            profile=profile,
            partitions=rng.choice((1, 2, 3)),
            is_batch=is_batch,
            keeps_order=not is_batch and rng.random() < 0.5,
            has_letters=has_letters,
            exhausted=OnError.HOLD if holds and has_letters else None,
            on_blocked=blocked if is_blocking or (holds and rng.random() < 0.5) else None,
            delivery_limit=rng.choice((5, 5, 10)),
            record_locks=_SMALL_WINDOW if is_blocking else rng.choice((400, 2_000)),
            processes=rng.choice((1, 3)) if is_blocking else rng.choice(_PROCESSES[profile]),
        )
        handlers = rng.choice(_HANDLERS[profile])
        processes = plan.processes if handlers == 1 else 1
        return evolve(plan, handlers=handlers, processes=processes, has_outputs=rng.random() < 0.5)

    @property
    def by_handler(self) -> Sequence[Self]:
        """The plan for each handler."""
        others = (
            evolve(self, handler=number, has_letters=True, on_blocked=self.on_blocked if self.has_letters else None)
            for number in range(1, self.handlers)
        )
        return (self, *others)

    @property
    def topic(self) -> str:
        """The topic of the handler."""
        return f"jobs-{self.handler}"

    @property
    def letters(self) -> str:
        """The topic for dead letters of the handler."""
        return f"{self.topic}.dead"

    @property
    def outputs(self) -> str:
        """The topic for results of the handler."""
        return f"{self.topic}.results"

    @property
    def faults(self) -> SeededFaults:
        """The faults of the network, the brokers and the processes."""
        return _FAULTS[self.profile]

    @property
    def ends_processes(self) -> bool:
        """Whether records may end a process or ask for another delivery."""
        return self.handler == 0 and self.profile in {Profile.EVERYTHING, Profile.KILLS}

    def drawn_job(self, rng: random.Random) -> Job:
        """Draw a record of the handler. If there are others, more of them kill the process than usual."""
        killers = _KILLERS_BESIDE_OTHERS if self.handlers > 1 else 1
        return Job.drawn(rng, spends_deliveries=self.ends_processes, killers=killers)

    @property
    def keeps_locks(self) -> bool:
        """Whether no process loses a lock while it lifetimes."""
        return self.profile in {Profile.KILLS, Profile.OUTAGES}

    @property
    def gives_up(self) -> bool:
        """Whether a poison record ends by itself. If not, it is mended when the faults have ended."""
        return (self.has_letters and self.exhausted is None) or self.is_unblocked

    @property
    def is_unblocked(self) -> bool:
        """Whether records fill the small window of their partition, and are given up."""
        is_small = self.profile is Profile.OUTAGES and self.record_locks == _SMALL_WINDOW
        return self.on_blocked is not None and is_small

    @property
    def group_configs(self) -> dict[str, str]:
        """The configuration of the group."""
        return {
            "share.auto.offset.reset": "earliest",
            "share.record.lock.duration.ms": str(LOCK_MS),
            "share.session.timeout.ms": "10000",
            "share.heartbeat.interval.ms": "2000",
            "share.delivery.count.limit": str(self.delivery_limit),
            "share.partition.max.record.locks": str(self.record_locks),
        }


@frozen(kw_only=True)
class LifetimeOptions:
    """The options of the handler in one lifetime of a process.

    Attributes:
        concurrency: Attempts at once.
        buffer: Records acquired ahead.
        retries: Waits between attempts.
        timeout: Of an attempt, in seconds.
        batch: Limits of a batch.
        most_stubborn_s: For how long records are handled at most whose handler ignores that it is cancelled.
    """

    concurrency: int
    buffer: int | None
    retries: Backoff
    timeout: float | None
    batch: BatchSizes | None
    most_stubborn_s: float

    @property
    def rate_limit(self) -> RateLimit | None:
        """The rate limit, which follows from the others: drawing it would make other runs of the seeds before it."""
        return random.Random(repr(self)).choice(_RATES)

    @classmethod
    def drawn(cls, plan: Plan, rng: random.Random) -> Self:
        """Draw the options of a lifetime."""
        batch = checked_batch(rng.choice((2, 5, 20)), rng.choice((0.1, 1.0)))
        is_patient = plan.profile is Profile.LOCKS
        return cls(
            concurrency=rng.choice(_CONCURRENCIES[plan.is_batch][plan.processes == 1 :]),
            buffer=rng.choice((None, 10, 60) if plan.is_batch else (None, 1, 10, 60)),
            retries=Backoff(first=rng.choice((0.2, 1)), most=rng.choice((2, 5)), times=rng.choice((1, 2, 5))),
            timeout=None if is_patient else rng.choice((None, 8)),
            batch=batch if plan.is_batch else None,
            most_stubborn_s=45 if is_patient else 8,
        )

    def keywords(self, plan: Plan) -> HandlerKeywords:
        """Return the keywords of the handler."""
        return HandlerKeywords(
            name=f"work-{plan.handler}",
            concurrency=self.concurrency,
            buffer=self.buffer,
            retries=self.retries,
            timeout=self.timeout,
            errors=ERROR_RULES,
            exhausted=plan.exhausted,
            on_blocked=plan.on_blocked,
            order_by="key" if plan.keeps_order else None,
            dead_letters=plan.letters if plan.has_letters else None,
            rate_limit=self.rate_limit,
        )
