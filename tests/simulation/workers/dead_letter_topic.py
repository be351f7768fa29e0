"""The topic for dead letters: faults of its brokers, and a book of what the workers wrote."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field

from kafka_groups.broker.faults import DROP_CONNECTION, LOSE_RESPONSE, answer
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_groups.records.confirmed.writes import RecordToWrite, WriteOutcome
from kafka_groups.share.workers.rules.dead_letter_headers import LAST_DELIVERIES
from kafka_groups.share.workers.rules.steps import WriteOutputs, WritePurpose, WriteRecords
from kafka_groups.share.workers.running.record_writing import HandlerRoom, ProcessWriter, TakesOutcomes, TellsHeld
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.checks.ledger import shown
from kafka_groups.types import RecordId
from tests.simulation.workers.lifetime import WorkerLifetime
from tests.simulation.workers.output_log import OutputLog

__all__ = ["DeadLetterLog", "WatchedWriter", "break_writes", "too_few_replicas"]

_PLACE = "__dlq.errors.{}"
_DUPLICATE = "__dlq.errors.possible.duplicate"
_BEFORE = ("before processing", LAST_DELIVERIES)
_REFUSED, _UNCONFIRMED = 0.1, 0.05

Write = WriteRecords[Any]


@define(eq=False)
class DeadLetterLog:
    """What was written.

    Attributes:
        violations: Receives what must not happen.
        judge: Called with each letter for a record that was given up, and its reason.
        is_strict: Whether every copy after the first has to say that it may be one.
        confirmed: The letters whose process knows that they are written.
        refused: The records of which some copy was refused or held up.
        down_until_ms: Until when nothing is written.
    """

    violations: list[str]
    judge: Callable[[WorkerLifetime, RecordId, str, int], None]
    is_strict: bool
    confirmed: set[tuple[WorkerLifetime, RecordId]] = field(factory=set)
    refused: set[RecordId] = field(factory=set)
    down_until_ms: int = 0

    def begun(self, lifetime: WorkerLifetime, write: Write) -> None:
        """Note a letter that a process writes."""
        place = write.opened.place
        texts = _texts(write.records[0])
        if (lifetime, place) in self.confirmed:
            self.violations.append(f"{lifetime.name}: copies {shown(place)} again, and its copy was confirmed before")
        if (reason := texts[_PLACE.format("message")]) not in _BEFORE:
            self.judge(lifetime, place, reason, int(texts[_PLACE.format("delivery.count")]))

    def ended(self, lifetime: WorkerLifetime, write: Write, error: Exception | None) -> None:
        """Note the outcome of a letter."""
        if error is None:
            self.confirmed.add((lifetime, write.opened.place))
        else:
            self.refused.add(write.opened.place)

    def is_copied(self, place: RecordId) -> bool:
        """Return whether a record has a letter that was confirmed."""
        return any(copied == place for _, copied in self.confirmed)

    def judge_topic(self, world: SimulatedWorld, topic: str) -> None:
        """Check the letters in a topic: a copy after the first has to say that it may be one."""
        written: Counter[tuple[str, str]] = Counter()
        for texts in map(_texts, world.cluster.records(topic)):
            place = texts[_PLACE.format("partition")], texts[_PLACE.format("offset")]
            world.struck["copied"] += 1
            if self.is_strict and written[place] and _DUPLICATE not in texts:
                self.violations.append(f"{topic} has another copy of {place}, which does not say so")
            written[place] += 1


# ------------------------------------------------------------------------------------------------ the writer


@define(eq=False)
class WatchedWriter:
    """The writer of a process, which tells the book what it is given, and what follows.

    Attributes:
        writer: The writer of production.
        lifetimes: The handlers of the process.
        book: Notes the dead letters.
        outputs: Notes the results of handlers.
        now_ms: Returns the time.
    """

    writer: ProcessWriter
    lifetimes: Sequence[WorkerLifetime]
    book: DeadLetterLog
    outputs: OutputLog
    now_ms: Callable[[], int]

    @property
    def fatal(self) -> KafkaGroupsError | None:
        """The error after which nothing can be written any more, or None."""
        return self.writer.fatal

    async def close(self) -> None:
        """Close the connections."""
        await self.writer.close()

    def room(self, owner: str, took: TakesOutcomes, held: TellsHeld) -> "_WatchedRoom":
        """Return the room of a handler."""
        lifetime = next(each for each in self.lifetimes if f"work-{each.plan.handler}" == owner)
        room = _WatchedRoom(lifetime, self.book, self.outputs, self.now_ms, took, held)
        room.inner = self.writer.room(owner, room.took, room.held)
        return room


@define(eq=False)
class _WatchedRoom:
    _lifetime: WorkerLifetime
    _book: DeadLetterLog
    _outputs: OutputLog
    _now_ms: Callable[[], int]
    _took: TakesOutcomes
    _held: TellsHeld
    inner: HandlerRoom = field(init=False)
    _pending: dict[object, Write] = field(factory=dict)

    def write(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Write records."""
        assert isinstance(token, WriteRecords)
        self._book_of(token).begun(self._lifetime, token)
        self._pending[token] = token
        if token.purpose is WritePurpose.BEFORE_PROCESSING and not token.opened.failed_writes:
            self._lifetime.copying_since_ms[token] = self._now_ms()
        self.inner.write(records, token)

    def write_each(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Write the outputs of a run."""
        assert isinstance(token, WriteOutputs)
        self._outputs.begun_together(self._lifetime, token)
        self.inner.write_each(records, token)

    def divide(self, token: object, parts: Sequence[tuple[object, Sequence[RecordToWrite]]]) -> bool:
        """Expect outcomes of single records from now on."""
        is_divided = self.inner.divide(token, parts)
        if is_divided:
            self._pending.update((part, part) for part, _ in parts if isinstance(part, WriteRecords))
        return is_divided

    def withdraw(self, token: object) -> bool:
        """Withdraw what was not sent."""
        self._lifetime.copying_since_ms.pop(token, None)
        is_gone = self.inner.withdraw(token)
        if is_gone:
            del self._pending[token]
        return is_gone

    def took(self, outcomes: Sequence[WriteOutcome]) -> None:
        """Note outcomes."""
        for outcome in outcomes:
            for token in outcome.tokens:
                self._lifetime.copying_since_ms.pop(token, None)
                if isinstance(token, WriteOutputs):
                    self._outputs.ended_together(self._lifetime, token, outcome.error)
                    continue
                write = self._pending.pop(token)
                self._book_of(write).ended(self._lifetime, write, outcome.error)
        self._took(outcomes)

    def _book_of(self, write: Write) -> DeadLetterLog | OutputLog:
        return self._outputs if write.purpose is WritePurpose.OUTPUT else self._book

    def held(self, topic: str, error: KafkaGroupsError | None) -> None:
        """Note that what is being written waits, which holds up nothing."""
        if error is not None:
            self._lifetime.copying_since_ms.clear()
            letters = (write for write in self._pending.values() if write.purpose.is_dead_letter)
            self._book.refused.update(write.opened.place for write in letters)
        self._held(topic, error)


# ------------------------------------------------------------------------------------------------ faults


def break_writes(world: SimulatedWorld, book: DeadLetterLog) -> None:
    """Have brokers refuse letters at times, and not answer."""

    def is_down(_request: object) -> bool:
        return book.down_until_ms > world.clock.now_ms()

    def strikes(name: str, probability: float) -> Callable[[object], bool]:
        return lambda _request: world.strikes(name, probability)

    faults = world.cluster.faults
    faults.on(ApiKey.PRODUCE, answer(too_few_replicas), when=is_down)
    faults.on(ApiKey.PRODUCE, DROP_CONNECTION, when=strikes("letter refused", _REFUSED))
    faults.on(ApiKey.PRODUCE, LOSE_RESPONSE, when=strikes("letter not confirmed", _UNCONFIRMED))


def too_few_replicas(request: ProduceRequest) -> ProduceResponse:
    return ProduceResponse(
        responses=tuple(
            TopicProduceResponse(
                topic_id=topic.topic_id,
                name=topic.name,
                partition_responses=tuple(
                    PartitionProduceResponse(index=each.index, error_code=ErrorCode.NOT_ENOUGH_REPLICAS, base_offset=-1)
                    for each in topic.partition_data
                ),
            )
            for topic in request.topic_data
        )
    )


def _texts(record: Any) -> dict[str, str]:
    return {name: (text or b"").decode() for name, text in record.headers}
