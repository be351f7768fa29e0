"""A share fetch in progress: what it asks for, and what it found so far."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Self, TypeAlias

from attrs import define, evolve, frozen

from kafka_groups.broker.share_partitions.partition import SharePartition
from kafka_groups.broker.share_partitions.reading import NOTHING, Acquired
from kafka_groups.broker.share_partitions.sessions import ShareSession, ShareSessionKey
from kafka_groups.errors import BrokerError, NotLeaderOrFollowerError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import INITIAL_EPOCH, AcquireMode
from kafka_groups.types import TopicIdPartition

__all__ = ["NOTHING_FETCHED", "Batches", "FetchRequested", "FetchedPartition", "ShareFetchLimits", "ShareFetching"]

Batches: TypeAlias = tuple[AcknowledgementBatch, ...]


@frozen
class ShareFetchLimits:
    """The limits of a share fetch."""

    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED

    @property
    def asks_for_nothing(self) -> bool:
        """True if the limits allow no records at all."""
        return self.max_bytes <= 0 or self.max_records <= 0

    def share_of_bytes(self, partitions: int) -> int:
        """Return how many bytes one of some partitions may give."""
        # At least one byte each, if there are more partitions than bytes.
        return max(self.max_bytes // max(partitions, 1), 1)


@frozen
class FetchRequested:
    """The content of a ShareFetch, without its sender.

    Attributes:
        epoch: Share session epoch.
        listed: Partitions in the request with their acknowledgements.
        forgotten: Partitions to remove from the session.
        limits: The limits of the fetch.
        is_renew_ack: Whether it renews locks and therefore fetches nothing.
    """

    epoch: int
    listed: Mapping[TopicIdPartition, Batches]
    forgotten: Sequence[TopicIdPartition]
    limits: ShareFetchLimits
    is_renew_ack: bool = False

    @property
    def acknowledgements(self) -> dict[TopicIdPartition, Batches]:
        """The partitions that have acknowledgements."""
        return {partition: batches for partition, batches in self.listed.items() if batches}


@frozen
class FetchedPartition:
    """The result of one partition in a share fetch: records (possibly none), or an error.

    Attributes:
        acquired: The records.
        error: The error.
        share_partition: The share-partition of the acquired records.
    """

    acquired: Acquired = NOTHING
    error: BrokerError | None = None
    share_partition: SharePartition | None = None

    def confirmed(self, member_id: str, is_led: Callable[[SharePartition], bool]) -> Self:
        """Return the result as it is some time later: without records that the member does not hold any more."""
        share_partition, ranges = self.share_partition, self.acquired.ranges
        if share_partition is None or not ranges:
            return self
        # There are three cases: another leader may deliver these records already, the member has lost some of their
        # locks, or all is as it was. In the first two the records are left out; Kafka sends them.
        if not is_led(share_partition):
            return type(self)(error=NotLeaderOrFollowerError(f"{share_partition.key} has another leader by now."))
        return self if all(share_partition.holds(member_id, each) for each in ranges) else type(self)()


NOTHING_FETCHED = FetchedPartition()


@define(eq=False)
class ShareFetching:
    """A share fetch in progress.

    Attributes:
        key: The group and member.
        requested: The content of the request.
        session: The session, or None if this fetch closed it.
        order: The partitions to read, in this order. Empty if it reads nothing.
        wall_ms: Time at which it arrived.
    """

    key: ShareSessionKey
    requested: FetchRequested
    session: ShareSession | None
    order: tuple[TopicIdPartition, ...]
    wall_ms: int

    @property
    def is_full(self) -> bool:
        """True if the response contains every partition of the session."""
        return self.requested.epoch == INITIAL_EPOCH

    def without(self, partitions: Collection[TopicIdPartition]) -> "ShareFetching":
        """Return the fetch as if it had not asked for some partitions. Its session stays as it is."""
        listed = {each: batches for each, batches in self.requested.listed.items() if each not in partitions}
        order = tuple(each for each in self.order if each not in partitions)
        return evolve(self, requested=evolve(self.requested, listed=listed), order=order)

    def must_tell(self, partition: TopicIdPartition, fetched: FetchedPartition) -> bool:
        """Return whether the response contains this partition. Call this once, because the session stores the result.

        Later responses of a session leave out partitions without news. A partition that was added, or whose error is
        over, is included once without records.
        """
        # Partitions outside the session are those that were only acknowledged, or that the closing fetch acknowledged.
        # Their result is always told.
        if self.session is None or partition not in self.session.partitions:
            return True
        was_due = self.session.partitions[partition]
        self.session.partitions[partition] = fetched.error is not None
        return self.is_full or was_due or fetched.error is not None or bool(fetched.acquired.ranges)
