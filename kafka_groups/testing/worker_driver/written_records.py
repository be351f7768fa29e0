"""The topics that the handlers of a driver write to: kept in memory, and refused when a test says so."""

from collections.abc import Callable, Sequence

from attrs import define, field, frozen

from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError
from kafka_groups.records.confirmed.writes import RecordToWrite, WriteOutcome
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.dead_letter_headers import dead_letter_headers
from kafka_groups.types import Headers

__all__ = ["WrittenRecord", "WrittenRecords"]

_REASON = "__dlq.errors.message"


@frozen
class WrittenRecord:
    """A record that a worker has written: a dead letter, a result of a handler, or a record in a retry topic.

    Attributes:
        topic: The topic it was written to.
        key: The key, as bytes.
        value: The value, as bytes.
        headers: The headers. Those of a dead letter and of a record in a retry topic are the record's own, followed by
            those that say where it came from and why.
        timestamp: Milliseconds since the epoch, if the handler has set them; None for the time of writing.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int | None = None

    @property
    def reason(self) -> str:
        """The reason why the record was given up, from the header `__dlq.errors.message` of a dead letter."""
        return (dict(self.headers).get(_REASON) or b"").decode()


class WrittenRecords:
    """Keeps what handlers write, by topic. It takes the place of the worker's writer."""

    def __init__(self) -> None:
        self._topics: dict[str, list[WrittenRecord]] = {}
        self._failing: dict[str, KafkaGroupsError] = {}
        self._rooms: list[_Room] = []
        self._readers: dict[str, Callable[[RecordToWrite], None]] = {}

    def add_topic(self, topic: str) -> None:
        """Create a topic."""
        self._topics.setdefault(topic, [])

    def read_by(self, topic: str, reader: Callable[[RecordToWrite], None]) -> None:
        """Have a function called with each record that is written to a topic."""
        self._readers[topic] = reader

    @property
    def topics(self) -> Sequence[str]:
        """The topics."""
        return tuple(self._topics)

    def of(self, topic: str) -> list[WrittenRecord]:
        """Return the records of a topic, oldest first."""
        return list(self._topics[topic])

    def broker_copies(self, topic: str, record: AnyRecord, group_id: str, reason: str) -> None:
        """Write the copy that a broker makes for the group's own dead-letter topic (KIP-1191)."""
        headers = (*record.headers, *dead_letter_headers(record, group_id, reason))
        self._topics[topic].append(WrittenRecord(topic, record.raw_key, record.raw_value, headers))

    # ------------------------------------------------------------------------------------- outages

    def fail(self, topic: str) -> None:
        """Let a topic take no records from now on."""
        self._failing[topic] = OperationTimeoutError(f"{topic} takes no records, because of fail_writes({topic!r})")

    def restore(self, topic: str) -> None:
        """Let a topic take records again, also those that wait for it."""
        if self._failing.pop(topic, None) is not None:
            for room in self._rooms:
                room.restored(topic)

    def error_of(self, records: Sequence[RecordToWrite]) -> tuple[str, KafkaGroupsError] | None:
        """Return the first topic that does not take these records, and why; None if they can be written."""
        failing = (each.topic for each in records if each.topic in self._failing)
        topic = next(failing, None)
        return None if topic is None else (topic, self._failing[topic])

    # ------------------------------------------------------------------------------------- a writer

    @property
    def fatal(self) -> None:
        """The error after which nothing can be written any more: there is none."""

    async def close(self) -> None:
        """Do nothing: what was written stays."""

    def room(
        self,
        owner: str,
        took: Callable[[Sequence[WriteOutcome]], None],
        held: Callable[[str, KafkaGroupsError | None], None],
    ) -> "_Room":
        """Return the room of a handler."""
        del owner
        room = _Room(self, took, held)
        self._rooms.append(room)
        return room

    def append(self, records: Sequence[RecordToWrite]) -> None:
        """Write records."""
        for each in records:
            written = WrittenRecord(each.topic, each.key, each.value, each.headers, each.timestamp_ms)
            self._topics[each.topic].append(written)
            if (reader := self._readers.get(each.topic)) is not None:
                reader(each)


@define(eq=False)
class _Room:
    """Writes the records of one handler. Those for topics that take none wait."""

    _topics: WrittenRecords
    _took: Callable[[Sequence[WriteOutcome]], None]
    _held: Callable[[str, KafkaGroupsError | None], None]
    _waiting: dict[object, Sequence[RecordToWrite]] = field(factory=dict)

    def write(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Write records, or keep them until their topics take records."""
        refused = self._topics.error_of(records)
        if refused is None:
            self._topics.append(records)
            self._took([WriteOutcome([token])])
        else:
            self._waiting[token] = records
            self._held(*refused)

    def write_each(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Write records of one topic, or keep them."""
        self.write(records, token)

    def divide(self, token: object, parts: Sequence[tuple[object, Sequence[RecordToWrite]]]) -> bool:
        """Keep the parts of a write that waits. Returns False if none of it waits."""
        if self._waiting.pop(token, None) is None:
            return False
        self._waiting.update(parts)
        return True

    def withdraw(self, token: object) -> bool:
        """Drop records that wait. Returns whether they did."""
        return self._waiting.pop(token, None) is not None

    def restored(self, topic: str) -> None:
        """Write what has waited for a topic."""
        self._held(topic, None)
        waiting, self._waiting = self._waiting, {}
        for token, records in waiting.items():
            self.write(records, token)
