"""An embedded cluster's view of one share group: finished deliveries, lag and members."""

from collections import Counter
from collections.abc import Iterable, Sequence
from uuid import UUID

from attrs import field, frozen

from kafka_groups.broker.produced import decoded_records, produced_records
from kafka_groups.broker.queued_letters import QueuedLetter, queued_letter
from kafka_groups.broker.runs import Run
from kafka_groups.broker.runtime.parts import ClusterParts
from kafka_groups.broker.share_partitions.history import DeliveryOutcome, Ended
from kafka_groups.broker.share_partitions.in_flight import InFlightState
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET
from kafka_groups.protocol.record_batch import DecodedRecord
from kafka_groups.types import Header, TopicIdPartition

__all__ = ["EndedDelivery", "GroupView", "InFlightRecords"]

_MOST_SHOWN = 10


@frozen
class EndedDelivery:
    """A delivery that ended, and its record.

    Attributes:
        topic: The topic.
        partition: The partition.
        offset: The offset.
        key: The key's bytes, or None.
        value: The value's bytes, or None.
        headers: The headers.
        delivery_count: The delivery count, including the current delivery.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None = field(repr=False)
    value: bytes | None
    headers: tuple[Header, ...] = field(repr=False)
    delivery_count: int


@frozen
class InFlightRecords:
    """Consecutive records of a partition that are in flight for a share group and have the same state (KIP-932).

    Attributes:
        topic: The topic.
        partition: The partition.
        first_offset: The first offset.
        last_offset: The last offset.
        state: Their state. Acknowledged and archived records are in flight until all records before them are finished.
        member_id: The member that has acquired them, or None.
        delivery_count: The delivery count, including the current delivery.
        lock_remaining_ms: After how many milliseconds the member's lock expires; None if nobody has acquired them.
    """

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    state: RecordState
    member_id: str | None
    delivery_count: int
    lock_remaining_ms: int | None

    def __len__(self) -> int:
        """Number of offsets."""
        return self.last_offset - self.first_offset + 1


@frozen
class GroupView:
    """Reads the brokers' state of one share group. Use it only where that state may be read.

    Attributes:
        group_id: The group. It need not exist yet.
        parts: The cluster's state.
    """

    group_id: str
    parts: ClusterParts

    def deliveries(self, outcome: DeliveryOutcome) -> list[EndedDelivery]:
        """Return the deliveries that ended this way, with their records, in the order in which they ended."""
        return [each for run in self._runs(outcome) for each in self._records(run)]

    def values(self, outcome: DeliveryOutcome) -> Counter[bytes | None]:
        """Return the values of these records, and how often each of them occurs."""
        return Counter(each.value for each in self.deliveries(outcome))

    def count(self, outcome: DeliveryOutcome) -> int:
        """Return how many deliveries ended this way."""
        return _count(self._runs(outcome))

    def dead_letters(self) -> list[QueuedLetter]:
        """Return the letters of the group in the queue that it has now, sorted by partition and offset."""
        name = self.parts.group_configs.share(self.group_id).errors_deadletterqueue_topic_name
        topic = self.parts.metadata.topic(name) if name else None
        records = [] if topic is None else produced_records(topic, self.parts.logs)
        return [letter for record in records if (letter := queued_letter(record, self.group_id)) is not None]

    def in_flight(self) -> list[InFlightRecords]:
        """Return the runs of records in flight, sorted by topic, partition and offset."""
        now_ms = self.parts.clock.now_ms()
        found = self.parts.leaders.share_partitions_now(self.group_id)
        runs = [_in_flight(each.key.partition, run, now_ms) for each in found for run in each.in_flight.window()]
        return sorted(runs, key=lambda run: (run.topic, run.partition, run.first_offset))

    def lag(self) -> int | None:
        """Return how many records the group has not finished; None if that is unknown."""
        group = self.parts.directory.group_now(self.group_id)
        initialized = {} if group is None else group.state_partitions.initialized
        lags = [self._lag_in(topic_id, number) for topic_id, numbers in initialized.items() for number in numbers]
        known = [lag for lag in lags if lag is not None]
        return sum(known) if lags and len(known) == len(lags) else None

    def lag_shown(self) -> str:
        """Return the lag for a message."""
        lag = self.lag()
        return "unknown, because the group has no position yet" if lag is None else str(lag)

    def members(self) -> list[str]:
        """Return the ids of the members."""
        group = self.parts.directory.group_now(self.group_id)
        return [] if group is None else sorted(group.members)

    def report(self) -> str:
        """Return a few lines about the whole group, for error messages."""
        # Letters are shown where there are any, because most groups have no dead-letter queue.
        shown = [each for each in DeliveryOutcome if each is not DeliveryOutcome.DEAD_LETTERED or self._runs(each)]
        lines = [f"  {outcome.value}: {_ranges(self._runs(outcome))}" for outcome in shown]
        return "\n".join([*lines, f"  lag: {self.lag_shown()}", f"  members: {', '.join(self.members()) or 'none'}"])

    def _runs(self, outcome: DeliveryOutcome) -> list[Ended]:
        return [run for run in self.parts.history.of(self.group_id) if run.outcome is outcome]

    def _records(self, run: Ended) -> list[EndedDelivery]:
        return [
            EndedDelivery(
                run.partition.topic or str(run.partition.topic_id),
                run.partition.partition,
                record.offset,
                record.key,
                record.value,
                tuple(record.headers),
                run.delivery_count,
            )
            for record in self._in_log(run.partition, run.first, run.last)
        ]

    def _in_log(self, partition: TopicIdPartition, first: int, last: int) -> Iterable[DecodedRecord]:
        if self.parts.metadata.partition(partition.topic_id, partition.partition) is None:
            return ()
        return decoded_records(self.parts.logs.get(partition.topic_id, partition.partition), first, last)

    def _lag_in(self, topic_id: UUID, partition: int) -> int | None:
        log = self.parts.logs.get(topic_id, partition)
        state = self.parts.directory.state_now((self.group_id, topic_id, partition))
        if state is not None and state.start_offset != UNINITIALIZED_OFFSET:
            return log.high_watermark - state.start_offset - state.delivery_complete_count
        from_the_start = self.parts.group_configs.share(self.group_id).auto_offset_reset == "earliest"
        return log.high_watermark - log.log_start_offset if from_the_start or len(log) == 0 else None


def _in_flight(partition: TopicIdPartition, run: Run[InFlightState], now_ms: int) -> InFlightRecords:
    delivery = run.value
    expires_ms = delivery.lock_deadline_ms
    return InFlightRecords(
        topic=partition.topic or str(partition.topic_id),
        partition=partition.partition,
        first_offset=run.first,
        last_offset=run.last,
        state=delivery.state,
        member_id=delivery.owner,
        delivery_count=delivery.delivery_count,
        lock_remaining_ms=None if expires_ms is None else max(0, expires_ms - now_ms),
    )


def _count(runs: Sequence[Ended]) -> int:
    return sum(run.last - run.first + 1 for run in runs)


def _ranges(runs: Sequence[Ended]) -> str:
    last_runs = runs[-_MOST_SHOWN:]
    shown = [f"{run.partition}: {run.first}" + (f"-{run.last}" if run.last > run.first else "") for run in last_runs]
    return f"{_count(runs)} ({'…, ' if len(runs) > _MOST_SHOWN else ''}{', '.join(shown)})" if runs else "none"
