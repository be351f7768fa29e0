"""The results of simulated handlers: a book of what they return, and of what is written for which record."""

from collections import Counter, defaultdict
from typing import Any

from attrs import define, field

from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.dead_letter_headers import record_id
from kafka_groups.share.workers.rules.steps import WriteOutputs, WriteRecords
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.checks.ledger import GroupLedger, shown
from kafka_groups.types import RecordId
from tests.simulation.workers.jobs import HarmlessError, Job, JobKind
from tests.simulation.workers.journal import HandlerJournal, JobAttempt, KnownDeliveries
from tests.simulation.workers.lifetime import WorkerLifetime
from tests.simulation.workers.plan import Plan, Profile

__all__ = ["OutputLog", "output_count"]

_KINDS_OF_COUNTS = 3


def output_count(job: Job) -> int:
    """Return how many results a record has, if its handler succeeds: none, one or two."""
    return 0 if job.kind is JobKind.HARMLESS else job.number % _KINDS_OF_COUNTS


@define(eq=False)
class OutputLog:
    """What handlers have returned, and what was written.

    Attributes:
        violations: Receives what must not happen.
        journal: Tells which attempts have succeeded.
        returned: The records of which a handler has returned results in a process, with their number.
        confirmed: The records whose process knows that their results are written.
    """

    violations: list[str]
    journal: HandlerJournal
    returned: dict[tuple[WorkerLifetime, RecordId], int] = field(factory=dict)
    confirmed: set[tuple[WorkerLifetime, RecordId]] = field(factory=set)
    _held_keys: dict[tuple[WorkerLifetime, bytes], RecordId] = field(factory=dict)

    def results(self, attempt: JobAttempt, record: AnyRecord) -> list[bytes]:
        """Return the results of an attempt that succeeds; each names the attempt."""
        partition, offset = attempt.place
        name = f"{partition.partition}/{offset}/{attempt.lifetime.name}/{attempt.delivery_count}.{attempt.number}"
        count = output_count(Job.parsed(record.raw_value or b""))
        known = attempt.lifetime, attempt.place
        self.confirmed.discard(known)
        self.returned[known] = count
        plan = attempt.lifetime.plan
        if count and attempt.key is not None and plan.keeps_order and plan.keeps_locks:
            self._held_keys[attempt.lifetime, attempt.key] = attempt.place
        return [f"{name}/{number}".encode() for number in range(count)]

    def began(self, lifetime: WorkerLifetime, record: AnyRecord) -> None:
        """Check that the results of the record before it with the same key are confirmed."""
        place, key = record_id(record), record.raw_key
        held = None if key is None else self._held_keys.get((lifetime, key))
        if held is not None and held != place and held[0].topic_id == place[0].topic_id:
            self.violations.append(f"{lifetime.name}: {shown(place)} began before the results of {shown(held)}")

    # ------------------------------------------------------------------------------------------ writes

    def begun(self, lifetime: WorkerLifetime, write: WriteRecords[Any]) -> None:
        """Check that only results of attempts that have succeeded are written."""
        self._begun(lifetime, write.opened.place, len(write.records))

    def begun_together(self, lifetime: WorkerLifetime, write: WriteOutputs[Any]) -> None:
        """Check the same of a run."""
        for record, outputs in zip(write.in_hand, write.outputs, strict=True):
            self._begun(lifetime, record_id(record), len(outputs))

    def _begun(self, lifetime: WorkerLifetime, place: RecordId, count: int) -> None:
        known = lifetime, place
        if self.journal.last.get(known) != "success" or count != self.returned.get(known):
            self.violations.append(f"{lifetime.name}: writes results of {shown(place)}, which has none")

    def ended(self, lifetime: WorkerLifetime, write: WriteRecords[Any], error: Exception | None) -> None:
        """Note the outcome of a write."""
        if error is None:
            self._confirmed(lifetime, write.opened.place)

    def ended_together(self, lifetime: WorkerLifetime, write: WriteOutputs[Any], error: Exception | None) -> None:
        """Note the outcome of the results of a run. An error says nothing about single ones."""
        if error is None:
            for record in write.in_hand:
                self._confirmed(lifetime, record_id(record))

    def _confirmed(self, lifetime: WorkerLifetime, place: RecordId) -> None:
        self.confirmed.add((lifetime, place))
        for known in [known for known, held in self._held_keys.items() if held == place]:
            del self._held_keys[known]

    def may_accept(self, lifetime: WorkerLifetime, place: RecordId) -> bool:
        """Return whether a process may accept a record: it has no results, or they are confirmed."""
        known = lifetime, place
        is_success = self.journal.last.get(known) == "success"
        return not (is_success and self.returned.get(known)) or known in self.confirmed

    # ------------------------------------------------------------------------------------------ the end

    def judge_topic(self, world: SimulatedWorld, plan: Plan, ledger: GroupLedger, known: KnownDeliveries) -> None:
        """Check the results in a topic: those of each accepted record are there, and how often."""
        written: defaultdict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        for record in world.cluster.records(plan.outputs):
            partition, offset, attempt = (record.value or b"").decode().split("/", 2)
            written[int(partition), int(offset)][attempt.rpartition("/")[0]] += 1
            world.struck["result written"] += 1
        topic = world.cluster.metadata.topic(plan.topic)
        assert topic is not None
        # A rule accepts what fails with this error, also good records whose batch did. They have no results.
        by_rule = {place for (_, place), result in self.journal.last.items() if result == HarmlessError.__name__}
        for record in world.cluster.records(plan.topic):
            place = topic.topic_id_partition(record.partition), record.offset
            attempts = written[record.partition, record.offset]
            wanted = output_count(Job.parsed(record.value or b""))
            # A leader that has forgotten its counts delivers a record again as for the first time, so that two attempts
            # may have one name. Where locks are kept, there are none.
            is_success = place in ledger.accepted and place not in by_rule
            if is_success and max(attempts.values(), default=0) < wanted:
                self.violations.append(f"{shown(place)} was accepted without its {wanted} results: {dict(attempts)}")
            if plan.keeps_locks and max(attempts.values(), default=0) > wanted:
                self.violations.append(f"{shown(place)} has results of one attempt twice: {dict(attempts)}")
            most = 1 if plan.profile is Profile.OUTAGES else known.delivered(place)
            if plan.keeps_locks and len(attempts) > most:
                self.violations.append(f"{shown(place)} has results of {len(attempts)} attempts: {dict(attempts)}")
