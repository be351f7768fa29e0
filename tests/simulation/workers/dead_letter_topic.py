"""The topic for dead letters: a writer that fails at times, and a book of what it wrote."""

from collections import Counter
from collections.abc import Callable, Mapping

from attrs import define, field

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.workers.rules.dead_letter_headers import LAST_DELIVERIES
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.checks.ledger import shown
from kafka_groups.types import Header, RecordId, TopicIdPartition
from tests.simulation.workers.lifetime import WorkerLifetime

__all__ = ["DeadLetterLog", "ProducersOfTopics", "UnreliableDeadLetterProducer", "is_early_copy"]

_PLACE = "__dlq.errors.{}"
_DUPLICATE = "__dlq.errors.possible.duplicate"
_BEFORE = ("before processing", LAST_DELIVERIES)
_REFUSED, _UNCONFIRMED = 0.1, 0.05


@define(eq=False)
class DeadLetterLog:
    """What was written.

    Attributes:
        violations: Receives what must not happen.
        judge: Called with each letter for a record that was given up, and its reason.
        is_strict: Whether every copy after the first has to say that it may be one.
        confirmed: The letters whose process knows that they are written.
        written: How often each record was copied.
        refused: The records of which some copy was refused or not confirmed.
        down_until_ms: Until when nothing is written.
    """

    violations: list[str]
    judge: Callable[[WorkerLifetime, RecordId, str, int], None]
    is_strict: bool
    confirmed: set[tuple[WorkerLifetime, RecordId]] = field(factory=set)
    written: Counter[RecordId] = field(factory=Counter)
    refused: set[RecordId] = field(factory=set)
    down_until_ms: int = 0

    def wrote(self, lifetime: WorkerLifetime, place: RecordId, headers: dict[str, str], *, is_confirmed: bool) -> None:
        """Note a letter."""
        if (lifetime, place) in self.confirmed:
            self.violations.append(f"{lifetime.name}: copied {shown(place)} again, and its copy was confirmed before")
        if self.is_strict and self.written[place] and _DUPLICATE not in headers:
            self.violations.append(f"{lifetime.name}: copied {shown(place)} again, and did not say so")
        self.written[place] += 1
        reason = headers[_PLACE.format("message")]
        if reason not in _BEFORE:
            self.judge(lifetime, place, reason, int(headers[_PLACE.format("delivery.count")]))
        if is_confirmed:
            self.confirmed.add((lifetime, place))

    def is_copied(self, place: RecordId) -> bool:
        """Return whether a record has a letter that was confirmed."""
        return any(copied == place for _, copied in self.confirmed)


@define(eq=False)
class UnreliableDeadLetterProducer:
    """Writes letters to the simulated cluster, of one process.

    Attributes:
        world: Where the topic is.
        lifetime: The process.
        book: Notes what is written.
        partition_of: Returns a partition of a topic.
    """

    world: SimulatedWorld
    lifetime: WorkerLifetime
    book: DeadLetterLog
    partition_of: Callable[[str, int], TopicIdPartition]
    _queued: list[tuple[bytes | None, bytes | None, list[Header]]] = field(factory=list)

    def produce(self, topic: str, *, key: bytes | None, value: bytes | None, headers: list[Header]) -> None:
        """Queue a letter."""
        assert topic == self.lifetime.plan.letters
        self._queued.append((key, value, headers))

    def flush(self, timeout_s: float) -> None:
        """Write what is queued, or fail.

        Raises:
            DeliveryFailedError: Nothing was written, or it is not known.
        """
        del timeout_s
        queued, self._queued = self._queued, []
        is_down = self.book.down_until_ms > self.world.clock.now_ms() or not self.world._has_leaders(
            self.lifetime.plan.letters
        )
        if is_down or self._strikes("letter refused", _REFUSED):
            self.book.refused.update(self._place(headers) for _, _, headers in queued)
            raise DeliveryFailedError("refused", failed=len(queued), unanswered=0)
        is_confirmed = not self._strikes("letter not confirmed", _UNCONFIRMED)
        for letter in queued:
            self._write(*letter, is_confirmed=is_confirmed)
        if not is_confirmed:
            raise DeliveryFailedError("no answer", failed=0, unanswered=len(queued))

    def _strikes(self, name: str, probability: float) -> bool:
        return self.world._stage.draws.strikes(self.lifetime.rng, name, probability)

    def _write(self, key: bytes | None, value: bytes | None, headers: list[Header], *, is_confirmed: bool) -> None:
        texts, place = _texts(headers), self._place(headers)
        if not is_confirmed:
            self.book.refused.add(place)
        self.world.note(self.lifetime.name, "copied", place[0].partition, place[1], is_confirmed)
        self.world.cluster.produce(
            self.lifetime.plan.letters, [value], keys=[key], headers=[(name, text or b"") for name, text in headers]
        )
        self.book.wrote(self.lifetime, place, texts, is_confirmed=is_confirmed)

    def _place(self, headers: list[Header]) -> RecordId:
        texts = _texts(headers)
        partition = self.partition_of(self.lifetime.plan.topic, int(texts[_PLACE.format("partition")]))
        return partition, int(texts[_PLACE.format("offset")])


@define(eq=False)
class ProducersOfTopics:
    """Writes letters to the producer of their topic.

    Attributes:
        producers: The producers.
    """

    producers: Mapping[str, UnreliableDeadLetterProducer]
    _topic: str = ""

    def produce(self, topic: str, *, key: bytes | None, value: bytes | None, headers: list[Header]) -> None:
        """Queue a letter."""
        self._topic = topic
        self.producers[topic].produce(topic, key=key, value=value, headers=headers)

    def flush(self, timeout_s: float) -> None:
        """Write what is queued, or fail. All of it is for one topic."""
        self.producers[self._topic].flush(timeout_s)


def is_early_copy(letter: RecordToWrite) -> bool:
    """Return whether a letter is the first copy of a record that may be on its last delivery."""
    texts = _texts(list(letter.headers))
    return texts[_PLACE.format("message")] == "before processing" and _DUPLICATE not in texts


def _texts(headers: list[Header]) -> dict[str, str]:
    return {name: (text or b"").decode() for name, text in headers}
