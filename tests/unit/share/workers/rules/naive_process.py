"""A process with several handlers, one of whose records end it: it is started again, one random event at a time."""

import random
from collections import Counter
from uuid import UUID

from attrs import define, field, frozen

from kafka_groups.share.workers.rules.failures.backoffs import Backoff
from kafka_groups.share.workers.rules.failures.verdicts import FailureRules, OnError
from kafka_groups.share.workers.rules.handler_rate import HandlerRate, RateRule
from kafka_groups.share.workers.rules.handling import RecordHandling
from kafka_groups.share.workers.rules.limits import HandlingRules
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.process_gate import ProcessGate
from kafka_groups.share.workers.rules.slot_sharing import SharedSlots
from kafka_groups.share.workers.rules.steps import (
    AcknowledgeRecords,
    InvokeHandler,
    OpenRecord,
    WritePurpose,
    WriteRecords,
)
from kafka_groups.types import AcknowledgeType, RecordId, TopicIdPartition
from tests.unit.share.workers.rules.jobs import dead_letter

__all__ = ["NaiveProcess", "ProcessPlan"]

LIMIT = 5
MOST_TURNS = 20_000
SLOWEST_MS = 20


@frozen(kw_only=True)
class ProcessPlan:
    """What is in the topics of the handlers, which have one partition each.

    Attributes:
        seed: For everything that is drawn.
        handlers: The number of handlers. All but the first have dead letters.
        records: The records of each.
        killers: How many records of the first handler end the process whenever they run.
        has_notes: Whether each process knows what its predecessor was running.
        rates: The rate limits of the first handlers; None for none.
    """

    seed: int
    handlers: int = 2
    records: int = 40
    killers: int = 1
    has_notes: bool = True
    rates: tuple[RateRule | None, ...] = ()


@define(eq=False)
class _Topic:
    partition: TopicIdPartition
    killers: frozenset[int]
    available: dict[int, int]
    acquired: dict[int, int] = field(factory=dict)
    accepted: set[int] = field(factory=set)
    archived: set[int] = field(factory=set)
    copied: Counter[int] = field(factory=Counter)

    def acquire(self, most: int) -> dict[int, int]:
        """Acquire records: offsets with delivery counts."""
        taken = {offset: self.available.pop(offset) + 1 for offset in sorted(self.available)[:most]}
        self.acquired |= taken
        return taken

    def lose_all(self) -> None:
        """Take back what the process had."""
        for offset, count in self.acquired.items():
            if count < LIMIT:
                self.available[offset] = count
            else:
                self.archived.add(offset)
        self.acquired.clear()


@define(eq=False)
class _Handler:
    topic: _Topic
    handling: RecordHandling[RecordId]
    runs: list[InvokeHandler[RecordId]] = field(factory=list)
    current: dict[InvokeHandler[RecordId], RecordId] = field(factory=dict)
    copies: list[WriteRecords[RecordId]] = field(factory=list)
    settles: list[AcknowledgeRecords[RecordId]] = field(factory=list)
    in_flight: dict[int, int] = field(factory=dict)


class NaiveProcess:
    """Lives of a process until all records are done, copied or archived.

    Args:
        plan: What is in the topics.
    """

    def __init__(self, plan: ProcessPlan) -> None:
        self.plan = plan
        self.rng = random.Random(plan.seed)
        self.now_ms = self.deaths = 0
        killers = frozenset(self.rng.sample(range(plan.records), plan.killers))
        self.topics = [
            _Topic(
                TopicIdPartition(UUID(int=number + 1), 0, f"topic-{number}"),
                killers if number == 0 else frozenset(),
                dict.fromkeys(range(plan.records), 0),
            )
            for number in range(plan.handlers)
        ]
        self._handlers: list[_Handler] = []
        self._begin(())

    def _begin(self, named: tuple[RunningRange, ...]) -> None:
        gate = ProcessGate()
        self._handlers = [_Handler(topic, self._handling(topic, gate)) for topic in self.topics]
        for handler in self._handlers:
            handler.handling.suspect(named)

    def _handling(self, topic: _Topic, gate: ProcessGate) -> RecordHandling[RecordId]:
        has_letters = topic is not self.topics[0] if self.topics else False
        rules: HandlingRules[RecordId] = HandlingRules(
            failures=FailureRules(retries=Backoff(), exhausted=OnError.DEAD_LETTER if has_letters else OnError.HOLD),
            policy=DeliveryPolicy(LIMIT),
            concurrency=4,
            buffer=8,
            dead_letter=dead_letter if has_letters else None,
            record_locks=2_000,
            record_id=lambda place: place,
        )
        rate = dict(enumerate(self.plan.rates)).get(topic.partition.topic_id.int - 1)
        slots = None if rate is None else SharedSlots(rules.concurrency, HandlerRate(rate))
        return RecordHandling(rules, self.rng, gate, slots)

    # ------------------------------------------------------------------------------------------ events

    def play(self) -> None:
        """Let random things happen until nothing is left."""
        turns = 0
        while any(topic.available or topic.acquired for topic in self.topics):
            turns += 1
            assert turns < MOST_TURNS, "it does not end"
            self.now_ms += self.rng.choice((0, 0, 1, SLOWEST_MS))
            handler = self.rng.choice(self._handlers)
            event = self.rng.choice((self._fetch, self._arrive, self._work, self._work, self._copy, self._settle))
            event(handler)
            for each in self._handlers:
                self._turn(each)

    def _turn(self, handler: _Handler) -> None:
        while (step := handler.handling.next(self.now_ms)) is not None:
            if isinstance(step, InvokeHandler):
                handler.runs.append(step)
            elif isinstance(step, WriteRecords):
                handler.copies.append(step)
            else:
                assert isinstance(step, AcknowledgeRecords)
                handler.settles.append(step)

    def _fetch(self, handler: _Handler) -> None:
        if not handler.handling.is_fetching and (wanted := handler.handling.wanted(self.now_ms)):
            handler.handling.is_fetching = True
            handler.in_flight = handler.topic.acquire(self.rng.randint(1, wanted))

    def _arrive(self, handler: _Handler) -> None:
        if not handler.handling.is_fetching:
            return
        handler.handling.is_fetching = False
        counts, handler.in_flight = handler.in_flight, {}
        if counts:
            records = [(handler.topic.partition, offset) for offset in counts]
            last = max(counts)
            handler.handling.arrived(handler.topic.partition, records, list(counts.values()), last, self.now_ms)

    def _work(self, handler: _Handler) -> None:
        if not handler.runs:
            return
        run = self.rng.choice(handler.runs)
        if run in handler.current:
            del handler.current[run]
        if not run.unstarted:
            handler.runs.remove(run)
            handler.handling.runs.ran(run, (), self.now_ms)
            return
        self._check_no_copy_is_under_way()
        partition, offset = handler.current[run] = run.take()
        if offset in handler.topic.killers:
            self._die(RunningRange(partition, offset, offset))

    def _check_no_copy_is_under_way(self) -> None:
        """Nothing starts while a record that may be lost is not copied yet."""
        for handler in self._handlers:
            copying = [copy for copy in handler.copies if copy.purpose is WritePurpose.BEFORE_PROCESSING]
            assert not copying, (handler.topic.partition, copying)

    def _die(self, killer: RunningRange) -> None:
        self.deaths += 1
        running = [place for handler in self._handlers for place in handler.current.values()]
        for topic in self.topics:
            topic.lose_all()
        named = (killer, *(RunningRange(partition, offset, offset) for partition, offset in running))
        self._begin(named if self.plan.has_notes else ())

    def _copy(self, handler: _Handler) -> None:
        if handler.copies:
            copy = handler.copies.pop(self.rng.randrange(len(handler.copies)))
            handler.topic.copied[_offset_of(copy.opened)] += 1
            handler.handling.writing.written(copy, None, self.now_ms)

    def _settle(self, handler: _Handler) -> None:
        if not handler.settles:
            return
        settle = handler.settles.pop(self.rng.randrange(len(handler.settles)))
        assert settle.kind is AcknowledgeType.ACCEPT
        for _, offset in settle.records:
            del handler.topic.acquired[offset]
            handler.topic.accepted.add(offset)
        handler.handling.outbox.settled(settle)

    # ------------------------------------------------------------------------------------------ verdict

    def lost(self) -> list[RecordId]:
        """Return the records of handlers with dead letters that are neither done nor copied."""
        return [
            (topic.partition, offset)
            for topic in self.topics[1:]
            for offset in sorted(topic.archived - topic.copied.keys())
        ]

    def copied(self) -> list[RecordId]:
        """Return the records that are copied; all of them are good."""
        return [(topic.partition, offset) for topic in self.topics for offset in topic.copied]


def _offset_of(opened: OpenRecord[RecordId]) -> int:
    return opened.place[1]
