"""What handlers did, by their own account, and what they may not do."""

from collections import defaultdict
from collections.abc import Callable
from typing import Protocol

from attrs import define, field

from kafka_groups.share.delivery.records import AnyRecord, delivery_of
from kafka_groups.share.workers.rate_limits import rate_rule
from kafka_groups.share.workers.rules.dead_letter_headers import record_id
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.suspects import LONGEST_ALONE_MS
from kafka_groups.testing.simulation.checks.ledger import shown
from kafka_groups.types import RecordId, TopicIdPartition
from tests.simulation.workers.lifetime import WorkerLifetime
from tests.simulation.workers.plan import Plan, Profile
from tests.support.workers.naive_rate import NaiveRate

__all__ = ["HandlerJournal", "JobAttempt"]

_LATE_MS = 250
"""A worker looks at its locks every 100 ms."""


class KnownDeliveries(Protocol):
    """Tells what the brokers delivered."""

    def delivered(self, place: RecordId) -> int:
        """Return how often a record was delivered."""
        ...

    def oldest_suspect_ms(self, member_id: str) -> int | None:
        """Return when a member acquired the oldest redelivered record whose handler it has not called yet."""
        ...

    def begun(self, member_id: str, place: RecordId) -> None:
        """Note that a member has called the handler for a record."""
        ...


@define(eq=False)
class JobAttempt:
    """One call of a handler for a record.

    Attributes:
        lifetime: Where.
        place: The record.
        number: 1 for the first attempt of its delivery.
        delivery_count: The record's.
        key: The record's.
        was_probe: Whether the breaker was open when it began.
        is_single: Whether it is a suspect that runs alone.
    """

    lifetime: WorkerLifetime
    place: RecordId
    number: int
    delivery_count: int
    key: bytes | None
    was_probe: bool
    is_single: bool


@define(eq=False)
class HandlerJournal:
    """The attempts of all lifetimes.

    Attributes:
        plan: The run.
        now_ms: Returns the time.
        violations: Receives what must not happen.
        sent: Tells which records were delivered, and how often.
        succeeded: Records whose handler succeeded, or failed with an error that does not matter.
        last: How the last attempt for a record ended.
        failures: How often the handlers of a record failed.
    """

    plan: Plan
    now_ms: Callable[[], int]
    violations: list[str]
    sent: KnownDeliveries
    succeeded: set[tuple[WorkerLifetime, RecordId]] = field(factory=set)
    last: dict[tuple[WorkerLifetime, RecordId], str] = field(factory=dict)
    failures: defaultdict[RecordId, int] = field(factory=lambda: defaultdict(int))
    _running: defaultdict[WorkerLifetime, dict[RecordId, JobAttempt]] = field(factory=lambda: defaultdict(dict))
    _mixed_ms: dict[WorkerLifetime, int] = field(factory=dict)
    _rates: dict[WorkerLifetime, NaiveRate | None] = field(factory=dict)
    _begun: dict[tuple[WorkerLifetime, TopicIdPartition, bytes], int] = field(factory=dict)

    def began(self, lifetime: WorkerLifetime, record: AnyRecord, number: int) -> JobAttempt:
        """Note that a handler begins, and check that it may."""
        attempt = self._attempt(lifetime, record, number)
        self._check_twice(attempt)
        self._check_lock(attempt, record)
        self._check_keys(attempt)
        self._check_suspects(attempt)
        self._check_copies(attempt)
        self._check_rate(attempt)
        self._running[lifetime][attempt.place] = attempt
        return attempt

    def _attempt(self, lifetime: WorkerLifetime, record: AnyRecord, number: int) -> JobAttempt:
        singles_from = DeliveryPolicy(self.plan.delivery_limit).singles_from
        is_single = record.delivery_count >= singles_from and number == 1 and not lifetime.breaker_is_open
        return JobAttempt(
            lifetime,
            record_id(record),
            number,
            record.delivery_count,
            record.raw_key,
            was_probe=lifetime.breaker_is_open,
            is_single=is_single,
        )

    def ended(self, attempt: JobAttempt, result: str, *, is_accepted: bool = False) -> None:
        """Note that a handler has ended."""
        known = attempt.lifetime, attempt.place
        del self._running[attempt.lifetime][attempt.place]
        self.last[known] = result
        if is_accepted:
            self.succeeded.add(known)
        else:
            self.failures[attempt.place] += 1

    # ---------------------------------------------------------------------------------------------- checks

    def _check_twice(self, attempt: JobAttempt) -> None:
        if attempt.place in self._running[attempt.lifetime]:
            self._violation(attempt, "has two handlers at once in one process")

    def _check_lock(self, attempt: JobAttempt, record: AnyRecord) -> None:
        """No handler begins for a record whose lock has ended, but for one right after its process stood still."""
        late_ms = self.now_ms() - delivery_of(record).lock_deadline_ms
        if late_ms > _LATE_MS and attempt.lifetime.stalled_until_ms + _LATE_MS < self.now_ms():
            self._violation(attempt, f"began {late_ms} ms after its lock had ended")

    def _check_keys(self, attempt: JobAttempt) -> None:
        key = attempt.key
        if not self.plan.keeps_order or key is None:
            return
        for other in self._running[attempt.lifetime].values():
            if other.key == key and other.place != attempt.place:
                self._violation(attempt, f"began while {shown(other.place)} of the same key runs")
        (partition, offset), by_key = attempt.place, (attempt.lifetime, attempt.place[0], key)
        if self.sent.delivered(attempt.place) == 1:
            if offset < self._begun.get(by_key, -1):
                self._violation(attempt, f"began after {self._begun[by_key]} of the same key in {partition}")
            self._begun[by_key] = max(offset, self._begun.get(by_key, -1))

    def _check_suspects(self, attempt: JobAttempt) -> None:
        """Records on one of their last deliveries have the process to themselves, unless suspects waited for long."""
        lifetimes = attempt.lifetime.in_process if self.plan.keeps_locks else (attempt.lifetime,)
        others = [
            other
            for lifetime in lifetimes
            for other in self._running[lifetime].values()
            if other.place != attempt.place
        ]
        have_waited = [self._has_waited(lifetime) for lifetime in lifetimes]  # each of them, as it notes the time
        if any(have_waited) or any(lifetime.is_stopping for lifetime in attempt.lifetime.others):
            return
        if attempt.is_single and others:
            self._violation(attempt, f"is a suspect on delivery {attempt.delivery_count}, and is not alone")
        for other in others:
            if other.is_single and not attempt.was_probe:
                self._violation(attempt, f"began next to the suspect {shown(other.place)}")

    def _check_copies(self, attempt: JobAttempt) -> None:
        """Nothing starts while another handler of the process copies records that a death of the process would lose.

        A loss of their locks ends that, so it is known only where locks are kept.
        """
        began_before_ms = self.now_ms() - _LATE_MS
        for other in attempt.lifetime.others:
            if self.plan.profile is Profile.KILLS and any(
                ms < began_before_ms for ms in other.copying_since_ms.values()
            ):
                self._violation(attempt, f"began while {other.name} copied last deliveries")

    def _check_rate(self, attempt: JobAttempt) -> None:
        """No more attempts begin than the rate limit allows. A process that stood still begins some late."""
        lifetime = attempt.lifetime
        if lifetime not in self._rates:
            limit = lifetime.options.rate_limit if self.plan.keeps_locks else None
            self._rates[lifetime] = None if limit is None else NaiveRate(rate_rule(limit, processes=1))
        rate = self._rates[lifetime]
        if rate is None:
            return
        if not rate.allowed(self.now_ms()):
            self._violation(attempt, f"began although the rate limit {rate.rule} does not allow it")
        rate.starts.append((self.now_ms(), 1))

    def _has_waited(self, lifetime: WorkerLifetime) -> bool:
        """Return whether suspects of a process have waited for so long that they run beside others."""
        since_ms = self.sent.oldest_suspect_ms(lifetime.member_id)
        if since_ms is not None and self.now_ms() - since_ms >= LONGEST_ALONE_MS:
            self._mixed_ms[lifetime] = self.now_ms()
        return self.now_ms() - self._mixed_ms.get(lifetime, 0) < 2 * LONGEST_ALONE_MS

    def _violation(self, attempt: JobAttempt, what: str) -> None:
        self.violations.append(f"{attempt.lifetime.name}: {shown(attempt.place)} {what}")
