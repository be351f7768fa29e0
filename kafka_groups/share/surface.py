"""The methods and properties that both share consumers have and that never wait."""

from collections.abc import Iterable, Mapping

from kafka_groups.config.clients.timeouts import (
    NONE_IS_API_TIMEOUT,
    NONE_IS_CLOSE_TIMEOUT,
    checked_seconds,
    checked_timeout,
)
from kafka_groups.config.places import checked_partition
from kafka_groups.share.application import AcknowledgementCallback
from kafka_groups.share.archive_watch import ArchiveCallback
from kafka_groups.share.arguments import (
    check_callback,
    check_offsets,
    checked_fetch_limit,
    checked_topics,
    not_a_record,
)
from kafka_groups.share.delivery.counts import ConsumerCounts
from kafka_groups.share.delivery.marks import OPEN
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.metrics import SHARE_METRICS
from kafka_groups.share.parts import Parts
from kafka_groups.telemetry.sources import TelemetrySource, share_consumer_source
from kafka_groups.types import AcknowledgeType, ConsumerState, TopicIdPartition, TopicPartition

__all__ = ["_LocalSurface"]


class _LocalSurface:
    """The methods of a share consumer that are local and return at once.

    Args:
        parts: What the consumer is made of.
        close_timeout: Longest wait for the brokers in `close`, in seconds.
    """

    def __init__(self, parts: Parts, close_timeout: float) -> None:
        self._close_timeout_s = checked_seconds(close_timeout, "close_timeout")
        self._config = parts.config
        self._clock = parts.clock
        self._inbox = parts.inbox
        self._application = parts.application
        self._client = parts.client
        self._group = parts.group

    def __repr__(self) -> str:
        return f"<{type(self).__name__} group {self._config.group_id} {self.state.name.lower()}>"

    @property
    def state(self) -> ConsumerState:
        """The state of the consumer: joining, active, waiting for a broker, failed or closed.

        A consumer that has worked survives an outage of any length: it is `UNREACHABLE` until a broker answers, logs a
        warning at growing intervals, and `poll` returns no records. Any thread may read this.
        """
        if self._application.is_closed:
            return ConsumerState.CLOSED
        state = self._client.state
        # The blocking consumer subscribes on another thread: until that has run, the client still says UNSUBSCRIBED.
        is_starting = state is ConsumerState.UNSUBSCRIBED and self._application.subscription
        return ConsumerState.JOINING if is_starting else state

    def subscription(self) -> frozenset[str]:
        """The topics that the consumer is subscribed to."""
        return self._application.subscription

    # ----------------------------------------------------------------------------- acknowledgement

    def acknowledge(
        self,
        record: AnyRecord,
        kind: AcknowledgeType = AcknowledgeType.ACCEPT,
        release_after: float | None = None,  # not keyword-only: that makes each call a tenth slower
    ) -> None:
        """Acknowledge a record.

        The acknowledgement is stored locally and sent with the next poll or commit. If you acknowledge a record twice
        before then, the last call wins. `RENEW` extends the lock and returns the record from a later poll; `renew`
        extends it in place.

        Args:
            record: A record that `poll` or a loop returned.
            kind: What to do with it.
            release_after: With `RELEASE`: how many seconds to wait before the record is released. Until then the
                consumer holds the record and renews its lock, without spending a delivery, and you may poll for others.
                Held records count towards the group's limit of records in flight. Closing the consumer releases them
                at once. At most an hour.

        Raises:
            ConfigurationError: An argument is invalid.
            IllegalStateError: In implicit mode, or the record is not in flight any more.
        """
        # Called for every record: valid arguments pass with the fewest calls.
        # The long way has all checks. Its cases: the type is wrong or GAP (0), the release is delayed, or no record can
        # be acknowledged now.
        if kind.__class__ is not AcknowledgeType or not kind or release_after is not None or self._application.refuses:
            self._application.acknowledge(record, kind, release_after)
            return
        try:
            delivery = record._delivery
        except AttributeError:
            raise not_a_record(record) from None
        position, marks = record.offset - delivery.first_offset, delivery.marks
        if 0 <= position < len(marks) and marks[position] == OPEN:
            marks[position] = kind
        else:
            delivery.acknowledge(record.offset, kind)

    def acknowledge_offset(
        self,
        topic: str,
        partition: int,
        offset: int,
        kind: AcknowledgeType = AcknowledgeType.ACCEPT,
        *,
        release_after: float | None = None,
    ) -> None:
        """Acknowledge the record at an offset, such as one that could not be deserialised; see `acknowledge`.

        Raises:
            ConfigurationError: An argument is invalid.
            IllegalStateError: In implicit mode, or the record is not in flight.
        """
        place = checked_partition(TopicPartition(topic, partition), "topic, partition")
        check_offsets(offset)
        self._application.acknowledge_offset(place, offset, kind, release_after)

    def acknowledge_range(
        self,
        topic: str,
        partition: int,
        first_offset: int,
        last_offset: int,
        kind: AcknowledgeType = AcknowledgeType.ACCEPT,
        *,
        release_after: float | None = None,
    ) -> int:
        """Acknowledge all records that you hold from the first to the last offset, both included; see `acknowledge`.

        Returns:
            How many records those are; offsets that you do not hold are skipped.

        Raises:
            ConfigurationError: An argument is invalid.
            IllegalStateError: In implicit mode.
        """
        place = checked_partition(TopicPartition(topic, partition), "topic, partition")
        check_offsets(first_offset, last_offset)
        return self._application.acknowledge_range(place, (first_offset, last_offset), kind, release_after)

    def acknowledge_all(
        self,
        records: Iterable[AnyRecord],
        kind: AcknowledgeType = AcknowledgeType.ACCEPT,
        *,
        release_after: float | None = None,
    ) -> int:
        """Acknowledge all records of a batch, or of a part of it such as `records[:10]`; see `acknowledge`.

        Args:
            records: What `poll` returned, or a list of its records.
            kind: What to do with them.
            release_after: With `RELEASE`: how many seconds to wait before they are released.

        Returns:
            How many of them you still held.

        Raises:
            ConfigurationError: An argument is invalid.
            IllegalStateError: In implicit mode.
        """
        return self._application.acknowledge_all(records, kind, release_after)

    def set_acknowledgement_callback(self, callback: AcknowledgementCallback | None) -> None:
        """Set a function that receives the result of each acknowledgement, or None to remove it.

        It is called from within poll, commit and close, and may call nothing of the consumer but `wakeup`.

        Raises:
            ConfigurationError: The callback cannot be called.
        """
        self._application.check_usable()
        check_callback(callback)
        self._application.callback = callback

    def set_archive_callback(self, callback: ArchiveCallback | None) -> None:
        """Set a function that receives records that the broker archives, or None to remove it.

        A broker archives a record that goes back after its last delivery (`share.delivery.count.limit`) instead of
        redelivering it: you released it, or your acknowledgement failed or came after the lock had expired. The
        consumer logs a warning and counts such records (`records-archived-by-release-total`); the callback gets their
        offsets as an `ArchivedRecords`. It is called from within poll, commit and close, and may call nothing of the
        consumer but `wakeup`. If the consumer does not know the group's limit yet, the callback follows with a later
        call, at the latest with `close`.

        Raises:
            ConfigurationError: The callback cannot be called.
        """
        self._application.check_usable()
        check_callback(callback)
        self._application.archive_callback = callback

    # --------------------------------------------------------------------------------- the consumer

    @property
    def member_id(self) -> str:
        """The id under which the coordinator knows the consumer."""
        return self._client.membership.identity.member_id

    def assignment(self) -> frozenset[TopicIdPartition]:
        """Return the partitions of the last assignment that the coordinator sent; empty before the first."""
        return self._client.membership.assignment

    @property
    def fetches_ahead(self) -> bool:
        """True if the next batch is fetched while the application processes one. The default is True.

        Turn it off before the last poll of a series, so that no prefetched records need to be released. It has no
        effect where `prefetch.batches` is 0.
        """
        return self._inbox.fetches_ahead

    @fetches_ahead.setter
    def fetches_ahead(self, wanted: bool) -> None:
        self._inbox.fetches_ahead = wanted

    @property
    def fetch_limit(self) -> int | None:
        """The most records that one fetch may acquire from now on; None for the configured `max.poll.records`.

        A limit is exact, as with `share.acquire.mode=record_limit` (KIP-1206). Set it to acquire a few records first,
        for example to look at their delivery counts before you take more.
        """
        return self._inbox.fetch_limit

    @fetch_limit.setter
    def fetch_limit(self, most: int | None) -> None:
        self._inbox.fetch_limit = checked_fetch_limit(most)

    @property
    def acquisition_lock_timeout(self) -> float | None:
        """The duration of acquisition locks in seconds; None before the first fetch response."""
        timeout_ms = self._client.fetcher.lock_timeout_ms
        return None if timeout_ms is None else timeout_ms / 1000

    def _api_timeout_ms(self, timeout_s: float | None) -> int:
        timeout_s = checked_timeout(timeout_s, NONE_IS_API_TIMEOUT)
        return self._config.default_api_timeout_ms if timeout_s is None else round(timeout_s * 1000)

    def _close_timeout_ms(self, timeout_s: float | None) -> int:
        timeout_s = checked_timeout(timeout_s, NONE_IS_CLOSE_TIMEOUT)
        return round(1000 * (self._close_timeout_s if timeout_s is None else timeout_s))

    def _topics_to_ask(self, topics: Iterable[str] | None) -> frozenset[str]:
        return self._application.subscription if topics is None else checked_topics(topics)

    def wakeup(self) -> None:
        """Make the poll that is waiting, or else the next poll or commit, raise `WakeupError`.

        The one method that others may call while a call is under way: any thread for the blocking consumer, any task
        of the event loop for the asynchronous one.
        """
        self._application.wake()

    @property
    def has_fetched(self) -> bool:
        """True if a broker has answered a fetch.

        While this is False, an empty poll says nothing about the topic: the consumer may still be joining the group, or
        no broker may be reachable.
        """
        return self.counts().fetches > 0

    def counts(self) -> ConsumerCounts:
        """Return what the consumer has fetched and what the brokers have confirmed, since it was created."""
        return self._client.counts()

    def metrics(self) -> Mapping[str, float]:
        """Return all metrics by name: those of KIP-932 and more, listed in the reference.

        A rate, average or maximum is of the last 30 to 60 seconds, an average or maximum without a value is NaN, and a
        total counts from the creation of the consumer. The mapping is a copy. Any thread may call this.
        """
        return self._client.metrics(self.state)

    @property
    def telemetry(self) -> TelemetrySource:
        """The metrics for exporters; see `kafka_groups.telemetry`. Any thread may read this."""
        config = self._config
        return share_consumer_source(SHARE_METRICS, self.metrics, group=config.group_id, client_id=config.client_id)
