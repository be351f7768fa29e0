"""The retry topics of a driver: what handlers write there comes back to them in virtual time."""

from collections import deque

from kafka_groups.net.clock import Clock
from kafka_groups.records.confirmed.writes import RecordToWrite
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.retry_topics.retried_records import retry_state_of
from kafka_groups.share.workers.running.members.handler_members import HandlerMember
from kafka_groups.testing.worker_driver.records import LOG_APPEND_TIME, LogContent, RecordLog, delivered

__all__ = ["RetryQueue"]


class RetryQueue:
    """The records of one retry topic that its member has not fetched, in the order in which they were written.

    All are in one partition, so that they become ready in this order.

    Args:
        member: The member that reads the topic.
        log: Gives the records their offsets.
        clock: Virtual time.
    """

    def __init__(self, member: HandlerMember, log: RecordLog, clock: Clock) -> None:
        self._member = member
        self._log = log
        self._clock = clock
        self._records: deque[AnyRecord] = deque()

    def __len__(self) -> int:
        return len(self._records)

    def append(self, written: RecordToWrite) -> AnyRecord:
        """Append a record. Returns it as its member will get it."""
        content = LogContent(
            timestamp=self._clock.wall_ms(),
            timestamp_type=LOG_APPEND_TIME,
            key=written.key,
            value=written.value,
            headers=list(written.headers),
        )
        placed = self._log.append(written.topic, 0, [content])
        record = self._member.arrived(delivered(written.topic, 0, placed, 1)[0])
        self._records.append(record)
        return record

    def take(self) -> AnyRecord:
        """Take the oldest record."""
        return self._records.popleft()

    def due_in_ms(self, record: AnyRecord) -> int | None:
        """Return when the next attempt of a record is due that is still here; None if it is not here."""
        if not any(record is other for other in self._records):
            return None
        state = retry_state_of(record)
        return 0 if state is None else max(0, state.due_ms - self._clock.wall_ms())
