"""The asynchronous share consumer."""

import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, Self, Unpack

from attrs import frozen

from kafka_groups.client.event_loop import check_loop
from kafka_groups.config.clients.keywords import ShareConsumerKeywords
from kafka_groups.config.clients.timeouts import DEFAULT_CLOSE_TIMEOUT_S, NONE_IS_API_TIMEOUT, checked_timeout
from kafka_groups.share.arguments import checked_topics
from kafka_groups.share.client import ShareClient
from kafka_groups.share.delivery.commits import CommitResult, CommitTicket
from kafka_groups.share.delivery.inbox import Inbox
from kafka_groups.share.delivery.records import AnyRecord, K, ShareRecord, V
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords
from kafka_groups.share.group import GroupConfig, GroupLag, ShareGroupInfo
from kafka_groups.share.loop_waits import LoopWaits
from kafka_groups.share.parts import Configuration, Environment, configured, put_together, with_deserializers
from kafka_groups.share.surface import _LocalSurface

__all__ = ["AsyncKafkaShareConsumer", "ConsumerHooks", "hooks_of"]


class AsyncKafkaShareConsumer(_LocalSurface, Generic[K, V]):
    """A consumer of a share group (KIP-932), for asyncio.

    The members of a share group share the records of their topics, not the partitions. Each record is acquired for one
    member and locked until that member acknowledges it or the acquisition lock expires. A record that is not
    acknowledged in time is delivered again, to this member or to another: delivery is at least once.

    A consumer belongs to one event loop, and to one task at a time. Heartbeats are sent while your program works, as
    long as it lets the event loop run. Use it in an `async with` statement, or call `close`.

    Args:
        config: A dictionary of configuration keys by Kafka's dotted names, or by confluent-kafka's where both mean the
            same.
        key_deserializer: Turns the bytes of a key into an object; without one keys stay bytes. Not called for null.
        value_deserializer: Turns the bytes of a value into an object; without one values stay bytes. Not called for
            null. A deserialiser of two parameters gets a `DeserializationContext` as well, so confluent-kafka's work.
        close_timeout: Longest wait for the brokers in `close`, in seconds, also at the end of a `with` statement.
        environment: Another network or clock, for tests.
        **keywords: Configuration keys by their Python names, such as `bootstrap_servers`, `group_id` and
            `acknowledgement_mode`. The configuration reference lists them all.

    Raises:
        ConfigurationError: A key is unknown or not allowed for share groups, or a value is invalid.
    """

    def __init__(
        self,
        config: Configuration = None,
        /,
        *,
        key_deserializer: Callable[[bytes], K] | Callable[[bytes, Any], K] | None = None,
        value_deserializer: Callable[[bytes], V] | Callable[[bytes, Any], V] | None = None,
        close_timeout: float = DEFAULT_CLOSE_TIMEOUT_S,
        environment: Environment | None = None,
        **keywords: Unpack[ShareConsumerKeywords],
    ) -> None:
        deserializers = with_deserializers(keywords, key_deserializer, value_deserializer)
        parts = put_together(configured(config, deserializers), environment or Environment())
        super().__init__(parts, close_timeout)
        self._waits = LoopWaits(parts)
        self._finalizer = weakref.finalize(self, _abandon, self._client)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        finalizer = getattr(self, "_finalizer", None)
        if finalizer is not None and finalizer.alive and self._client.loop is not None and not self._client.is_forked:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    def _entered(self) -> AbstractContextManager[object]:
        check_loop(self, "a consumer", self._client.loop)
        return self._application.entered()

    # -------------------------------------------------------------------------------- subscription

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Join the group with these topics.

        The topics replace those of an earlier call. Without any topic this is `unsubscribe`. Does not wait for the
        assignment: the coordinator sends it with one of the next heartbeats.

        Args:
            topics: Names of topics.

        Raises:
            ConfigurationError: Not a collection of topic names. Share groups have no patterns in Kafka 4.4.
            ClosedError: The consumer was closed.
        """
        wanted = checked_topics(topics)
        if not wanted:
            await self.unsubscribe()
            return
        with self._entered():
            if self._client.loop is None:
                await self._client.start()
            self._application.subscription = wanted
            self._client.subscribe(wanted)

    async def unsubscribe(self) -> None:
        """Leave the group.

        Acknowledgements that you have made are still sent. Records that you have not acknowledged are released, and you
        can't acknowledge them any more.

        Raises:
            ClosedError: The consumer was closed.
        """
        with self._entered():
            self._application.begin_leaving()
            self._application.drop_all()
            self._application.subscription = frozenset()
            self._client.unsubscribe()

    # ------------------------------------------------------------------------------------- records

    async def poll(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - Kafka's surface
        *,
        hold: bool = False,
    ) -> ShareRecords[K, V]:
        """Wait for records and return them.

        In implicit mode a poll accepts all records of the poll before. In explicit mode you must have acknowledged
        each of them, unless `hold` says that you keep them.

        Args:
            timeout: Longest wait, in seconds. None waits without limit; 0 returns only what is already there.
            hold: Keep the records of earlier polls and return new ones too (explicit mode). Their locks are
                still running: `renew` them, or set `auto_renew`.

        Returns:
            The records that were acquired, or an empty batch when the time is up. A poll returns whole batches of the
            log until it has `max.poll.records` records. In `record_limit` mode it never returns more than that.

        Raises:
            IllegalStateError: Not subscribed, or you have not acknowledged records of the last poll (explicit mode, and
                not `hold`).
            CorruptRecordError: A batch failed its checksum and was rejected. The next poll continues after it.
            RecordDeserializationError: With `on_deserialization_error="raise"`; the record was released.
            WakeupError: `wakeup` was called.
            BrokerError: The broker refused the group or a topic (authorisation, invalid names, group size).
            BootstrapError: No broker has answered since the consumer was made, for `default.api.timeout.ms`. The
                next poll tries again. Once a broker has answered, outages raise nothing: see `state`.
            WrongProtocolError: The server does not speak the configured protocol, such as TLS instead of plain text.
            TlsError: The TLS handshake failed.
        """
        timeout = checked_timeout(timeout)
        with self._entered():
            begun_ms = self._application.begin_poll(holding=hold)
            records = self._application.take(begun_ms)
            # The turn sends the acknowledgements and the next fetch. It does not wait, so a poll that finds records
            # stays quick.
            if records or timeout == 0:
                self._client.turn()
                return records
            return await self._waits.for_records(timeout)

    def pause(self) -> None:
        """Stop fetching until the next poll, and release the records that you have not received.

        Records that were fetched ahead are released at once, and so is what a fetch under way still returns. Records
        that you hold stay yours, acknowledgements are sent, and the consumer remains a member of its group. Does not
        wait, and does nothing before `subscribe`.
        """
        with self._entered():
            self._application.pause()
            if self._client.loop is not None:
                self._client.turn()

    def __aiter__(self) -> AsyncIterator[ShareRecord[K, V]]:
        """Iterate over records, forever.

        In implicit mode a record counts as done when the loop asks for the next one. If you leave the loop early, the
        next loop or poll starts with the record that you stopped at, because the consumer cannot know whether you
        finished it. A commit accepts only the records that the loop has moved past, and so does `close`, which releases
        the rest. A record that ends two loops in a row is released, so that its deliveries are counted.

        In explicit mode the records that the loop never reached go to the next loop or poll. Those that it reached are
        yours to acknowledge.
        """
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[ShareRecord[K, V]]:
        loop = object()
        while True:
            for part in await self._next_batch(loop):
                for record in part:
                    yield record

    async def _next_batch(self, loop: object) -> Iterator[Iterator[ShareRecord[K, V]]]:
        with self._entered():
            rest = self._application.resume(loop)
        return self._application.read(loop, await self.poll()) if rest is None else rest

    # ----------------------------------------------------------------------------- acknowledgement

    async def commit_sync(self, timeout: float | None = None) -> CommitResult:  # noqa: ASYNC109
        """Send the acknowledgements and wait for the brokers' answers.

        In implicit mode this accepts all records that `poll` returned, and all that a loop has moved past. Commits that
        you made with `commit_async` before have been answered, too, when this returns.

        Args:
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each partition None, or the error with which the broker refused. Refused records are delivered again.
            Only what this call sent: earlier commits have `results` of their own.

        Raises:
            OperationTimeoutError: Some answers are missing. The acknowledgement callback receives their results later.
            WakeupError: `wakeup` was called; nothing was sent.
            KafkaGroupsError: A background error, as from `poll`; nothing was sent.
        """
        timeout = checked_timeout(timeout, NONE_IS_API_TIMEOUT)
        ticket = CommitTicket()
        with self._entered():
            has_sent = self._application.commit(ticket)
            waited_for = self._application.wait_for_commits()
            if has_sent or waited_for:
                await self._waits.for_answers(waited_for, timeout)
            self._application.run_callback()
        return ticket.results

    async def commit(self, timeout: float | None = None) -> CommitResult:  # noqa: ASYNC109
        """Send the acknowledgements and wait for the brokers' answers; the same as `commit_sync`.

        Args:
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each partition None, or the error with which the broker refused.

        Raises:
            OperationTimeoutError: Some answers are missing.
            WakeupError: `wakeup` was called; nothing was sent.
            KafkaGroupsError: A background error, as from `poll`; nothing was sent.
        """
        return await self.commit_sync(timeout)

    def commit_async(self, *, with_next_fetch: bool = False) -> CommitTicket:
        """Send the acknowledgements without waiting.

        In implicit mode this accepts all records that `poll` returned, and all that a loop has moved past. The
        acknowledgement callback receives the results during a later call.

        Args:
            with_next_fetch: Let the acknowledgements travel with the next fetch, which saves a request. If none is due,
                they are sent after 20 ms at the latest, and at once when you call `commit_sync`, `pause` or `close`.

        Returns:
            The commit, which `is_done` when the brokers have answered. `results` then has None or the error for each
            partition. `commit_sync` waits for it.

        Raises:
            WakeupError: `wakeup` was called; nothing was sent.
            KafkaGroupsError: A background error, as from `poll`; nothing was sent.
        """
        ticket = CommitTicket(is_urgent=not with_next_fetch)
        with self._entered():
            if self._application.commit(ticket):
                self._client.turn()
        return ticket

    async def renew(
        self,
        target: AnyRecord | AnyRecords | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> CommitResult:
        """Extend the locks of records that you hold by a full lock duration (KIP-1222).

        The records stay yours, and their delivery count does not change.

        Args:
            target: A record, a batch, or None for all records that you have not acknowledged.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            For each partition None or an error: `RenewalUnsupportedError` if the broker cannot renew (before Kafka
            4.2), `InvalidRecordStateError` if the lock is already lost or the group does not allow renewing.

        Raises:
            IllegalStateError: In implicit mode.
            OperationTimeoutError: Some answers are missing.
        """
        timeout = checked_timeout(timeout, NONE_IS_API_TIMEOUT)
        ticket = CommitTicket()
        with self._entered():
            if self._application.renew(target, ticket):
                await self._waits.for_answers([ticket], timeout)
        return ticket.results

    # --------------------------------------------------------------------------------- the group

    async def lag(self, topics: Iterable[str] | None = None, *, timeout: float | None = None) -> GroupLag:  # noqa: ASYNC109
        """Ask how many records of the group are still to be accepted, rejected or given up (KIP-1226).

        Args:
            topics: The topics to ask for. None stands for the subscription; without a subscription, for all topics
                that the group has state for and that you may see.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The lag of each partition; None where the broker does not know it, as before the group's first
            acknowledgement there, or before Kafka 4.2.

        Raises:
            GroupAuthorizationFailedError: You may not describe the group.
            TopicAuthorizationFailedError: You may not describe a topic.
            UnknownTopicOrPartitionError: A topic does not exist.
            KafkaGroupsError: The brokers do not answer in time.
        """
        timeout_ms = self._api_timeout_ms(timeout)
        with self._entered():
            return await self._group.lag(self._topics_to_ask(topics), timeout_ms)

    async def group_config(self, *, timeout: float | None = None) -> GroupConfig:  # noqa: ASYNC109
        """Ask for the configuration of the group, such as `share.delivery.count.limit`.

        Args:
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            Values by Kafka's names, defaults included; None for a value that the broker does not show.

        Raises:
            GroupAuthorizationFailedError: You may not describe the configuration of the group.
            KafkaGroupsError: The brokers do not answer in time.
        """
        timeout_ms = self._api_timeout_ms(timeout)
        with self._entered():
            return await self._group.config(timeout_ms)

    # --------------------------------------------------------------------------------- the consumer

    async def close(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Close the consumer.

        Sends the acknowledgements that you have made, releases all other records, leaves the group and closes all
        connections. In implicit mode the records that a loop has moved past are accepted; those of the last poll are
        released. A second call does nothing, and neither does a call in a process that was forked from the
        consumer's.

        Args:
            timeout: Longest wait for the brokers, in seconds; None is the constructor's `close_timeout`. Never longer
                than `request.timeout.ms`. Acknowledgements that the brokers have not confirmed by then have failed,
                as the acknowledgement callback tells you, and their records may be redelivered.

        Raises:
            ConcurrentUseError: Another call is under way.
        """
        timeout_ms = self._close_timeout_ms(timeout)
        if self._application.is_closed:
            return
        if self._application.is_forked:
            self._finalizer.detach()  # the parent still uses the session and the connections
            self._application.mark_closed()
            return
        with self._entered():
            self._application.begin_leaving()
        self._finalizer.detach()
        try:
            await self._client.close(timeout_ms)
        finally:
            # Also if closing was cancelled or failed: no connection outlives the consumer.
            await self._client.abort()
            self._application.mark_closed()
        # The last results, those that were given up included. They come after the consumer is closed, so that a
        # callback that raises leaves nothing open.
        self._application.run_callback()


@frozen
class ConsumerHooks:
    """Parts of a consumer that handler workers use, and that applications do not need.

    Attributes:
        inbox: Its hand-over between the event loop and the application.
        end_poll: Ends the poll under way, which returns what is there.
        missing_topics: Returns the topics of the subscription that do not exist.
        group: Asks about the group and its topics.
    """

    inbox: Inbox
    end_poll: Callable[[], None]
    missing_topics: Callable[[], frozenset[str]]
    group: ShareGroupInfo


def hooks_of(consumer: AsyncKafkaShareConsumer[Any, Any]) -> ConsumerHooks:
    """Return the hooks of a consumer. For other parts of this package only."""
    client = consumer._client
    return ConsumerHooks(consumer._inbox, consumer._waits.end_wait, lambda: client.missing_topics, consumer._group)


def _abandon(client: ShareClient) -> None:
    """The consumer was garbage-collected without having been closed: let go of its connections."""
    loop = client.loop
    if loop is not None and not loop.is_closed() and not client.is_forked:
        loop.call_soon_threadsafe(lambda: loop.create_task(client.abort()))
