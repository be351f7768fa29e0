"""The state of one leader: its session, and the request in flight."""

import enum
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from uuid import UUID

from attrs import frozen

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kafka_groups.protocol.messages.share_fetch import (
    FINAL_EPOCH,
    ShareFetchPartition,
    ShareFetchRequest,
    ShareFetchTopic,
    ShareForgottenTopic,
)
from kafka_groups.share.delivery.commits import PendingAcknowledgement
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.fetching.fetch_size import FetchSize
from kafka_groups.share.delivery.fetching.session import SessionChange, ShareSessionHandler
from kafka_groups.share.delivery.marks import NOT_ACQUIRED, encode_batches
from kafka_groups.types import TopicIdPartition

__all__ = ["FetchLimits", "InFlightRequest", "Leader", "Purpose"]


class Purpose(enum.Enum):
    """The purpose of a request to a leader."""

    FETCH = "fetch"
    ACKNOWLEDGE = "acknowledge"
    CLOSE = "close"


@frozen(eq=False)
class InFlightRequest:
    """A request that is in flight.

    Attributes:
        purpose: What it is for.
        leader: The leader that it was sent to.
        acknowledgements: The acknowledgements in it.
        sent_ms: When it left; locks count from here, as the broker cannot have acquired anything earlier.
        max_wait_ms: How long the leader may wait for records.
        max_records: How many records a fetch asks for.
    """

    purpose: Purpose
    leader: "Leader"
    acknowledgements: tuple[PendingAcknowledgement, ...]
    sent_ms: int
    max_wait_ms: int = 0
    max_records: int = 0


@frozen
class FetchLimits:
    """The limits of a fetch response."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    acquire_mode: int


class Leader:
    """One leader.

    Attributes:
        session: The share session with it.
        backoff: When the next request may go.
        pending: Acknowledgements that wait for the next request.
        exchange: The request in flight, or None.
        version: Version of ShareFetch that it speaks; None before its first answer.
        was_empty: Whether the last fetch returned no records, so that prefetching is useless.
        last_fetch_ms: When it was last asked for records.
        ending: Whether to close the session, even if another one follows.
        size: How much a fetch asks for.
        gathers_until_ms: Until when acknowledgements wait for the next fetch instead of going alone.
    """

    def __init__(self, node_id: int, backoff: BackoffTimer, size: FetchSize) -> None:
        self.session = ShareSessionHandler(node_id)
        self.backoff = backoff
        self.pending: deque[PendingAcknowledgement] = deque()
        self.exchange: InFlightRequest | None = None
        self.version: int | None = None
        self.was_empty = False
        self.last_fetch_ms = 0
        self.ending = False
        self.size = size
        self.gathers_until_ms = 0

    def __repr__(self) -> str:
        under_way = self.exchange.purpose.value if self.exchange else "nothing"
        return f"<Leader {self.session!r} under way: {under_way}, pending {len(self.pending)}>"

    @property
    def node_id(self) -> int:
        """The leader's node id."""
        return self.session.node_id

    @property
    def can_renew(self) -> bool:
        """True if the leader supports the type RENEW (ShareFetch and ShareAcknowledge version 2, KIP-1222)."""
        # Before the first response the version is unknown, and the client assumes that the leader can renew: a renewal
        # comes only after records, and so after a response.
        return self.version is None or self.version >= 2

    def take_pending(self) -> tuple[PendingAcknowledgement, ...]:
        """Take the acknowledgements that go with the next request.

        An acknowledgement stays behind if an earlier one names the same offset for another delivery. After its lock
        expired, a record may be delivered to the same member again, and the broker refuses a request that names an
        offset twice.
        """
        # A broker demands ascending batches and refuses all of a partition's batches otherwise, with INVALID_REQUEST
        # (KafkaApis.validateAcknowledgementBatches in Kafka).
        taken: dict[TopicIdPartition, list[PendingAcknowledgement]] = {}
        waiting, self.pending = self.pending, deque()
        for pending in waiting:
            earlier = taken.setdefault(pending.partition, [])
            # The later acknowledgement waits for the next request. The earlier one may be refused, as its lock has
            # expired; the later one is about a delivery whose lock holds.
            if any(map(pending.overlaps, earlier)):
                self.pending.append(pending)
            else:
                earlier.append(pending)
        return tuple(chain.from_iterable(taken.values()))

    def drop_pending(self) -> tuple[PendingAcknowledgement, ...]:
        """Remove and return all waiting acknowledgements. They are never sent."""
        dropped = tuple(self.pending)
        self.pending.clear()
        return dropped

    def fetch_request(
        self,
        group_id: str,
        member_id: str,
        wanted: Sequence[TopicIdPartition],
        acknowledgements: Iterable[PendingAcknowledgement],
        limits: FetchLimits,
    ) -> ShareFetchRequest:
        """Return a ShareFetch that changes the session to the wanted partitions and contains the acknowledgements."""
        change = self.session.change_to(wanted)
        return ShareFetchRequest(
            group_id=group_id,
            member_id=member_id,
            share_session_epoch=self.session.epoch,
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            max_records=limits.max_records,
            batch_size=limits.batch_size,
            share_acquire_mode=limits.acquire_mode,
            topics=_fetch_topics(change, _batches(acknowledgements)),
            forgotten_topics_data=_forgotten_topics(change),
        )

    def acknowledge_request(
        self, group_id: str, member_id: str, acknowledgements: Sequence[PendingAcknowledgement], *, closing: bool
    ) -> ShareAcknowledgeRequest:
        """Return a ShareAcknowledge with the acknowledgements, which closes the session if it is the last request."""
        batches = _batches(acknowledgements)
        topics = tuple(
            AcknowledgeTopic(
                topic_id=topic_id,
                partitions=tuple(
                    AcknowledgePartition(partition_index=index, acknowledgement_batches=of_partition)
                    for index, of_partition in partitions
                ),
            )
            for topic_id, partitions in _by_topic(batches).items()
        )
        return ShareAcknowledgeRequest(
            group_id=group_id,
            member_id=member_id,
            # Epoch -1 closes the session, and the broker does not compare it with its own epoch (KIP-932, "Share
            # sessions").
            share_session_epoch=FINAL_EPOCH if closing else self.session.epoch,
            # Without the flag the broker refuses the type RENEW with INVALID_REQUEST (KIP-1222).
            is_renew_ack=any(pending.renews for pending in acknowledgements),
            topics=topics,
        )


BatchesByPartition = Mapping[TopicIdPartition, tuple[AcknowledgementBatch, ...]]


def _batches(acknowledgements: Iterable[PendingAcknowledgement]) -> BatchesByPartition:
    by_delivery: dict[DeliveredRecords, list[PendingAcknowledgement]] = {}
    for pending in acknowledgements:
        by_delivery.setdefault(pending.delivery, []).append(pending)
    collected: dict[TopicIdPartition, list[AcknowledgementBatch]] = {}
    for delivery, of_delivery in by_delivery.items():
        # There are two cases. One acknowledgement of a delivery, as nearly always, is sent as it was encoded. Several
        # of the same delivery may name an offset twice (a renewal, and the acknowledgement after it) and are merged.
        batches = of_delivery[0].batches if len(of_delivery) == 1 else _without_overlaps(delivery, of_delivery)
        collected.setdefault(delivery.topic_partition, []).extend(batches)
    return {
        partition: tuple(sorted(batches, key=lambda batch: batch.first_offset))
        for partition, batches in collected.items()
    }


def _without_overlaps(
    delivery: DeliveredRecords, acknowledgements: Iterable[PendingAcknowledgement]
) -> tuple[AcknowledgementBatch, ...]:
    """Return acknowledgements with one type for each offset: a record that was acknowledged is not renewed any more.

    The broker refuses a request that names an offset twice, and with it everything else in the request.
    """
    marks = bytearray([NOT_ACQUIRED]) * len(delivery.marks)
    # Renewals in place come first, so that the acknowledgements overwrite them.
    for pending in sorted(acknowledgements, key=lambda pending: not pending.is_renewal_in_place):
        for batch in pending.batches:
            start, end = batch.first_offset - delivery.first_offset, batch.last_offset + 1 - delivery.first_offset
            types = batch.acknowledge_types
            marks[start:end] = bytes(types) if len(types) > 1 else bytes(types) * (end - start)
    return encode_batches(marks, delivery.first_offset)


def _by_topic(batches: BatchesByPartition) -> dict[UUID, list[tuple[int, tuple[AcknowledgementBatch, ...]]]]:
    topics: dict[UUID, list[tuple[int, tuple[AcknowledgementBatch, ...]]]] = {}
    for partition, of_partition in batches.items():
        topics.setdefault(partition.topic_id, []).append((partition.partition, of_partition))
    return topics


def _fetch_topics(change: SessionChange, batches: BatchesByPartition) -> tuple[ShareFetchTopic, ...]:
    # A partition is listed for one of two reasons: it joins the session, or it has acknowledgements. All others stay in
    # the session unnamed, as in an incremental fetch (KIP-932, "Share sessions").
    listed: BatchesByPartition = {**dict.fromkeys(change.added, ()), **batches}
    return tuple(
        ShareFetchTopic(
            topic_id=topic_id,
            partitions=tuple(
                ShareFetchPartition(partition_index=index, acknowledgement_batches=of_partition)
                for index, of_partition in partitions
            ),
        )
        for topic_id, partitions in _by_topic(listed).items()
    )


def _forgotten_topics(change: SessionChange) -> tuple[ShareForgottenTopic, ...]:
    grouped = _by_topic(dict.fromkeys(change.forgotten, ()))
    return tuple(
        ShareForgottenTopic(topic_id=topic_id, partitions=tuple(index for index, _ in partitions))
        for topic_id, partitions in grouped.items()
    )
