"""A broker with one entry per record: whether it is available, who has it, and how often it was delivered."""

import random

from attrs import define, field

from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState
from kafka_groups.types import AcknowledgeType, RecordId, TopicIdPartition
from tests.unit.share.workers.rules.jobs import RETRIED, Job

__all__ = ["NaiveBroker"]


@define
class _Entry:
    key: str | None
    count: int = 0
    owner: Job | None = None
    state: RetryState | None = None
    moved_ms: int | None = None
    ended: AcknowledgeType | None = None


@define
class NaiveBroker:
    """Two partitions of records, and one of retry topics.

    Attributes:
        limit: The delivery limit.
        keys: The keys of records; empty for none.
        rng: Draws the keys.
        entries: The records, by place.
    """

    limit: int
    keys: tuple[str, ...]
    rng: random.Random
    entries: dict[RecordId, _Entry] = field(factory=dict)

    def produce(self, partition: TopicIdPartition) -> RecordId:
        """Add a record."""
        place = (partition, sum(known == partition for known, _ in self.entries))
        self.entries[place] = _Entry(self.rng.choice(self.keys) if self.keys else None)
        return place

    def acquire(self, partition: TopicIdPartition, most: int) -> list[Job]:
        """Deliver available records of a partition."""
        taken = [place for place, entry in self.entries.items() if place[0] == partition and _is_available(entry)]
        return [self._deliver(place) for place in taken[:most]]

    def _deliver(self, place: RecordId) -> Job:
        entry = self.entries[place]
        entry.count += 1
        entry.owner = Job(place, entry.count, entry.key, state=entry.state, moved_ms=entry.moved_ms)
        return entry.owner

    def retry(self, state: RetryState, moved_ms: int) -> None:
        """Add a record to the retry topics."""
        entry = self.entries[self.produce(RETRIED)]
        entry.state, entry.moved_ms = state, moved_ms

    @property
    def has_available(self) -> bool:
        """True if there is something to deliver."""
        return any(map(_is_available, self.entries.values()))

    def take_back(self, job: Job) -> None:
        """End the lock of a record. It becomes available, or is archived after its last delivery."""
        entry = self.entries[job.place]
        if entry.owner is job:
            entry.owner = None
            job.is_gone = True
            if entry.count >= self.limit:
                entry.ended = AcknowledgeType.RELEASE

    def acknowledge(self, job: Job, kind: AcknowledgeType) -> bool:
        """Take an acknowledgement. Returns False if the lock was lost before."""
        entry = self.entries[job.place]
        if entry.owner is not job:
            return False
        if kind is AcknowledgeType.RELEASE:
            self.take_back(job)
        else:
            entry.owner, entry.ended = None, kind
        return True


def _is_available(entry: _Entry) -> bool:
    return entry.owner is None and entry.ended is None
