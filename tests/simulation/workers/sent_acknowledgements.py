"""What workers tell the brokers, by the frames: who spends deliveries, and whether each acknowledgement is due."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.share_fetch import FINAL_EPOCH, ShareFetchRequest, ShareFetchResponse
from kafka_groups.share.workers.rules.failures.verdicts import OnError
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.checks.ledger import GroupLedger, SentRequest, shown
from kafka_groups.types import AcknowledgeType, RecordId, TopicIdPartition
from tests.simulation.workers.dead_letter_topic import DeadLetterLog
from tests.simulation.workers.journal import HandlerJournal
from tests.simulation.workers.lifetime import WorkerLifetime
from tests.simulation.workers.output_log import OutputLog
from tests.simulation.workers.plan import Plan, Profile

__all__ = ["SentAcknowledgements", "watch_acknowledgements"]


@define(eq=False)
class SentAcknowledgements:
    """Watches the share sessions of the group.

    Attributes:
        plan: The run.
        ledger: Follows the same frames.
        violations: Receives what must not happen.
        lifetimes: By member id.
        deliveries: How often each record was delivered.
        spent: The deliveries of each record that ended with a release or the end of a process: member and count.
        unseen: Kills of members whose fetch had no response yet. It may have acquired records that nobody saw.
    """

    plan: Plan
    ledger: GroupLedger
    violations: list[str]
    journal: HandlerJournal = field(init=False)
    letters: DeadLetterLog = field(init=False)
    outputs: OutputLog = field(init=False)
    now_ms: Any = field(kw_only=True)
    lifetimes: dict[str, WorkerLifetime] = field(factory=dict)
    deliveries: Counter[RecordId] = field(factory=Counter)
    spent: defaultdict[RecordId, set[tuple[str, int]]] = field(factory=lambda: defaultdict(set))
    unseen: int = 0
    _fetching: Counter[str] = field(factory=Counter)
    _unbegun: defaultdict[str, dict[RecordId, int]] = field(factory=lambda: defaultdict(dict))

    def delivered(self, place: RecordId) -> int:
        """Return how often a record was delivered."""
        return self.deliveries[place]

    def oldest_suspect_ms(self, member_id: str) -> int | None:
        """Return when a member acquired the oldest redelivered record whose handler it has not called yet."""
        return min(self._unbegun[member_id].values(), default=None)

    def begun(self, member_id: str, place: RecordId) -> None:
        """Note that a member has called the handler for a record."""
        self._unbegun[member_id].pop(place, None)

    def killed(self, member_id: str) -> None:
        """Note that a member is killed: what it holds loses a delivery."""
        self.unseen += self._fetching[member_id] > 0
        self._spend_all(member_id)

    def _spend_all(self, member_id: str) -> None:
        for place, lock in self.ledger.locks.items():
            if lock.member_id == member_id:
                self._spend(place, member_id)

    def asked(self, sent: SentRequest) -> None:
        """Judge acknowledgements."""
        member_id = sent.message.member_id
        self._fetching[member_id] += isinstance(sent.message, ShareFetchRequest)
        for place, kind in _acknowledged(sent.message):
            if kind is AcknowledgeType.RELEASE:
                self._spend(place, member_id)
            elif kind in (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT):
                self._judge(self.lifetimes[member_id], place, kind)

    def answered(self, sent: SentRequest, response: Any) -> None:
        """Note deliveries."""
        if sent.message.share_session_epoch == FINAL_EPOCH:
            self._spend_all(sent.message.member_id)
        self.ledger.answered(sent, response)
        if isinstance(response, ShareFetchResponse):
            self._fetching[sent.message.member_id] -= 1
            for place, count in _acquired(response):
                self._acquire(place, count, sent.message.member_id)

    def _spend(self, place: RecordId, member_id: str) -> None:
        lock = self.ledger.locks.get(place)
        if lock is not None and lock.member_id == member_id:
            self.spent[place].add((member_id, self.ledger.delivery_counts.get(place, 0)))

    def _acquire(self, place: RecordId, count: int, member_id: str) -> None:
        self.deliveries[place] += 1
        for unbegun in self._unbegun.values():
            unbegun.pop(place, None)
        if count > 1:
            self._unbegun[member_id][place] = self.now_ms()
        spent = len(self.spent[place])
        if self.plan.profile is Profile.OUTAGES and count > 1:
            self._violation(place, f"has delivery {count}, although only the sink was down")
        elif self.plan.profile is Profile.KILLS and not spent < count <= spent + 1 + self.unseen:
            self._violation(place, f"has delivery {count}, and {spent} were spent by releases and ends of processes")

    # -------------------------------------------------------------------------------------------- what is due

    def _judge(self, lifetime: WorkerLifetime, place: RecordId, kind: AcknowledgeType) -> None:
        is_due = (
            (lifetime, place) in self.journal.succeeded and self.outputs.may_accept(lifetime, place)
            if kind is AcknowledgeType.ACCEPT
            else self._may(lifetime, place)
        )
        if not is_due:
            last = self.journal.last.get((lifetime, place), "nothing")
            self._violation(place, f"{kind.name} by {lifetime.name}, where {last} was the last result")

    def _may(self, lifetime: WorkerLifetime, place: RecordId) -> bool:
        """Return whether a process may reject a record."""
        last = self.journal.last.get((lifetime, place))
        if (lifetime, place) in self.letters.confirmed or last == "WorthlessError":
            return True
        has_failed = last is not None and (lifetime, place) not in self.journal.succeeded
        is_blocking = lifetime.plan.on_blocked is OnError.REJECT and has_failed
        return is_blocking or (not lifetime.plan.has_letters and last == "Reject")

    def _violation(self, place: RecordId, what: str) -> None:
        self.violations.append(f"{shown(place)}: {what}")


def _acknowledged(request: Any) -> Iterator[tuple[RecordId, AcknowledgeType]]:
    for topic in request.topics:
        for part in topic.partitions:
            partition = TopicIdPartition(topic.topic_id, part.partition_index)
            for batch in part.acknowledgement_batches:
                kinds = batch.acknowledge_types
                for position, offset in enumerate(range(batch.first_offset, batch.last_offset + 1)):
                    yield (partition, offset), AcknowledgeType(kinds[position if len(kinds) > 1 else 0])


def _acquired(response: ShareFetchResponse) -> Iterator[tuple[RecordId, int]]:
    for topic in response.responses:
        for part in topic.partitions if topic.topic_id is not None else ():
            for acquired in part.acquired_records:
                for offset in range(acquired.first_offset, acquired.last_offset + 1):
                    assert topic.topic_id is not None
                    yield (TopicIdPartition(topic.topic_id, part.partition_index), offset), acquired.delivery_count


def watch_acknowledgements(world: SimulatedWorld, group_id: str, plan: Plan) -> SentAcknowledgements:
    """Follow the share sessions of a group from now on."""
    sent = SentAcknowledgements(plan, world.tap.ledger(group_id), world.violations, now_ms=world.clock.now_ms)
    world.tap.watch((ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE), sent)
    return sent
