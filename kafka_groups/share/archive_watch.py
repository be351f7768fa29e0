"""Records that are archived because they went back to the broker after their last delivery."""

from collections.abc import Callable
from typing import Final

from kafka_groups.client.events import Area, Events
from kafka_groups.client.group_configs import GroupConfigsManager
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors.texts import counted
from kafka_groups.share.delivery.inbox import DEFAULT_DELIVERY_LIMIT, Inbox
from kafka_groups.share.delivery.returned import ArchivedRecords, ReturnedRecords

__all__ = ["DELIVERY_LIMIT", "ArchiveCallback", "ArchiveWatch"]

DELIVERY_LIMIT: Final = "share.delivery.count.limit"


ArchiveCallback = Callable[[ArchivedRecords], object]
"""Receives records that the broker archives, from within poll, commit or close."""


class ArchiveWatch:
    """Finds the returned records that the broker archives, and reports them to the log and the application.

    A request manager. It does not guess while it can read the group's limit: returned records wait until the limit is
    known, and a limit that was read long ago is read again.

    Args:
        inbox: Has the returned records, and receives those that were archived.
        limits: Reads the group's limit.
        events: Where warnings go.
    """

    def __init__(self, inbox: Inbox, limits: GroupConfigsManager, events: Events) -> None:
        self._inbox = inbox
        self._limits = limits
        self._events = events

    def poll(self, now_ms: int) -> PollResult:
        """Report returned records, or return the request that reads the group's limit."""
        # The group's limit may have been changed meanwhile (share.delivery.count.limit since Kafka 4.3, KIP-1240).
        self._limits.must_be_fresh = bool(self._inbox.returned) and not self._limits.is_fresh(now_ms)
        if not self._limits.must_be_fresh:
            self.judge()
        return self._limits.poll(now_ms)

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Store the group's limit."""
        self._limits.on_response(request, answer, now_ms)

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Retry the request, or stop if the error is not retriable."""
        self._limits.on_failure(request, error, now_ms)

    def judge(self) -> None:
        """Report returned records by the group's limit, or by Kafka's default if the limit is unknown."""
        # None if the client may not read it: the configuration of the group, or before Kafka 4.3 that of the brokers.
        limit = self._limits.values.get(DELIVERY_LIMIT)
        while self._inbox.returned:
            returned = self._inbox.returned.popleft()
            archived = _from(returned, DEFAULT_DELIVERY_LIMIT if limit is None else limit)
            if archived:
                self._tell(returned, archived, limit)
            # With the default limit these records stay alive, with a lower one they would be archived. That is worth a
            # line.
            if limit is None and len(archived) < len(returned.delivery_counts):
                self._doubt(returned)

    def _tell(self, returned: ReturnedRecords, offsets: tuple[int, ...], limit: int | None) -> None:
        partition = returned.topic_partition
        allowed = DEFAULT_DELIVERY_LIMIT if limit is None else limit
        topic = partition.topic or str(partition.topic_id)
        self._inbox.records_archived += len(offsets)
        self._inbox.archived.append(ArchivedRecords(topic, partition.partition, offsets, allowed, limit is None))
        source = (
            "Kafka's default, because the brokers do not report the group's limit" if limit is None else DELIVERY_LIMIT
        )
        what = "The late or failed acknowledgement" if returned.is_late else "The release"
        text = (
            f"{what} of {counted(len(offsets), 'record')} of {partition} (offsets {offsets[0]} to {offsets[-1]})"
            f" archives them: this was delivery {allowed} of {allowed} ({source}). Kafka never redelivers them. Release"
            " with release_after while a sink is down, or keep a dead-letter topic."
        )
        self._events.warn(Area.RECORDS, f"archived {partition}", text)

    def _doubt(self, returned: ReturnedRecords) -> None:
        counts = returned.delivery_counts
        text = (
            f"{counted(len(counts), 'record')} of {returned.topic_partition} (offsets {min(counts)} to"
            f" {max(counts)}) went back after up to {counted(max(counts.values()), 'delivery')}. The consumer "
            "cannot tell"
            f" whether that archives them, because it could not read the group's {DELIVERY_LIMIT}. It assumes Kafka's"
            f" default of {DEFAULT_DELIVERY_LIMIT}. Allow the operation DescribeConfigs on the group, and before Kafka"
            " 4.3 on the cluster."
        )
        self._events.warn(Area.RECORDS, f"limit unknown {returned.topic_partition}", text)


def _from(returned: ReturnedRecords, limit: int) -> tuple[int, ...]:
    # KIP-932, "In-flight records": a record that goes back with its count at the limit is archived. At least, because
    # the limit may have been lowered (InFlightState.tryUpdateState in Kafka).
    return tuple(offset for offset, count in returned.delivery_counts.items() if count >= limit)
