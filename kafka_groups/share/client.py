"""The part of a share consumer on the event loop: all request managers and the engine that drives them."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping

from kafka_groups.acls import AclOperation
from kafka_groups.client.assembly import Assembly
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.group_configs import GroupConfigsManager, GroupNumbers
from kafka_groups.client.loggers import GROUP_LOG, write_event
from kafka_groups.client.membership.heartbeat import HeartbeatTimer
from kafka_groups.client.membership.metrics import values_of
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import BrokerError, ClientFailureError
from kafka_groups.share.archive_watch import DELIVERY_LIMIT, ArchiveWatch
from kafka_groups.share.delivery.counts import ConsumerCounts
from kafka_groups.share.delivery.fetching.fetch import Collaborators, ShareFetchManager
from kafka_groups.share.delivery.fetching.fetch_sensors import ShareMetrics
from kafka_groups.share.delivery.inbox import Inbox
from kafka_groups.share.membership.membership import MemberIdentity, ShareMembership
from kafka_groups.share.membership.states import MemberState
from kafka_groups.share.metrics import SHARE_METRICS, ShareSources
from kafka_groups.types import ConsumerState, member_id_of, random_uuid

__all__ = ["ShareClient"]

_RECORD_LOCKS = "share.partition.max.record.locks"


class ShareClient:
    """Sends and receives for a share consumer. Call all methods on the event loop's thread.

    Args:
        config: The consumer's configuration.
        assembly: What all clients are made of.
        inbox: The hand-over to the application.
    """

    def __init__(self, config: ShareConsumerConfig, assembly: Assembly, inbox: Inbox) -> None:
        self._config = config
        self._assembly = assembly
        self._clock = assembly.clock
        self._inbox = inbox
        self._errors = assembly.errors
        self._metrics = ShareMetrics()
        self._changed: Callable[[], None] | None = None
        self._process_id = os.getpid()
        self._metadata = assembly.metadata_manager(
            max_age_ms=config.metadata_max_age_ms,
            allow_auto_create=config.allow_auto_create_topics,
            purpose=AclOperation.READ,
        )
        coordinator = assembly.coordinator(config.group_id)
        self.membership = self._membership(coordinator)
        self._limits = GroupConfigsManager(
            GroupNumbers(config.group_id, (DELIVERY_LIMIT, _RECORD_LOCKS), since="4.3"),
            metadata=assembly.metadata,
            events=inbox.events,
            backoff=assembly.backoff(),
            timeout_ms=config.request_timeout_ms,
        )
        self._archives = ArchiveWatch(inbox, self._limits, inbox.events)
        collaborators = Collaborators(
            self.membership, self._metadata, assembly.errors, inbox, self._metrics, assembly.rng
        )
        self.fetcher = ShareFetchManager(config, collaborators)
        assembly.on_data_lost = self._connection_lost
        managers = (self.fetcher, self.membership, coordinator, self._metadata, self._archives)
        self._engine = assembly.engine(managers, self._after_turn)

    def _membership(self, coordinator: CoordinatorManager) -> ShareMembership:
        config = self._config
        return ShareMembership(
            MemberIdentity(
                config.group_id,
                member_id_of(random_uuid(self._assembly.rng)),
                config.client_rack or None,
                self._assembly.principal,
            ),
            coordinator=coordinator,
            errors=self._errors,
            timer=HeartbeatTimer(self._assembly.backoff()),
            timeout_ms=config.request_timeout_ms,
            max_poll_interval_ms=config.max_poll_interval_ms,
        )

    def __repr__(self) -> str:
        return f"<ShareClient {self.membership!r} {self.fetcher!r}>"

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that the client runs on; None if it does not run."""
        return self._engine.loop

    @property
    def missing_topics(self) -> frozenset[str]:
        """The topics of the subscription that do not exist."""
        return self._metadata.missing

    @property
    def is_forked(self) -> bool:
        """True in a process that was forked from the one that started the client and owns the connections."""
        return self._process_id != os.getpid()

    async def start(self) -> None:
        """Start the engine. It sends nothing before `subscribe`."""
        self._process_id = os.getpid()
        self._engine.start()

    def turn(self) -> None:
        """Process what the application put into the inbox."""
        self._engine.turn()

    def subscribe(self, topics: Iterable[str]) -> None:
        """Join the group with these topics, or change the subscription to them."""
        topics = frozenset(topics)
        self._metadata.set_topics(topics)
        self.fetcher.reopen()
        self.membership.subscribe(topics)
        self._engine.turn()

    def unsubscribe(self) -> None:
        """Send pending acknowledgements, close the sessions, and leave the group."""
        self.fetcher.close()
        self.membership.leave()
        self._engine.turn()

    async def close(self, timeout_ms: int) -> None:
        """Unsubscribe, wait for the brokers' responses, and close all connections, within the timeout."""
        if self._engine.is_running:
            # Kafka's client bounds the closing requests by request.timeout.ms as well
            # (ShareConsumerImpl.createTimerForCloseRequests).
            deadline_ms = self._clock.now_ms() + min(timeout_ms, self._config.request_timeout_ms)
            self.fetcher.close()
            # Leaders accept acknowledgements even from a member that its coordinator refuses.
            await self._until(lambda: self.fetcher.is_closed or self._is_broken, deadline_ms)
            # First the acknowledgements and sessions, then the group
            # (ShareConsumerImpl.sendAcknowledgementsAndLeaveGroup in Kafka's client).
            self.membership.leave()
            await self._until(lambda: self._has_left or self._errors.fatal is not None, deadline_ms)
            self.membership.give_up_leaving()
            # What the brokers have not answered by now is reported as failed, to whoever waits and to the callback.
            self.fetcher.give_up()
            await self._engine.stop()
            self._archives.judge()
            self._write_log()
            identity = self.membership.identity
            GROUP_LOG.info("Closed member %s of the share group %s.", identity.member_id, identity.group_id)

    async def abort(self) -> None:
        """Close all connections without notifying the brokers. They release the records, and the session times out."""
        await self._engine.stop()

    def metrics(self, state: ConsumerState) -> Mapping[str, float]:
        """Return metrics by name. The consumer passes its state, because only it knows whether it was closed."""
        sources = ShareSources(
            self._clock.now_ms(),
            self._assembly.reachability,
            self.membership.sensors,
            state=state,
            inbox=self._inbox,
            fetching=self._metrics,
        )
        return values_of(SHARE_METRICS, sources)

    def counts(self) -> ConsumerCounts:
        """Return the totals since the consumer was created."""
        return self._metrics.counts(self._inbox.records_handed_over)

    @property
    def state(self) -> ConsumerState:
        """The state of the consumer. May be read on any thread."""
        member = self.membership.state
        if self._errors.fatal is not None:
            # A fatal error comes first: the consumer will not recover, whatever the network does.
            return ConsumerState.FAILED
        if member in (MemberState.UNSUBSCRIBED, MemberState.LEAVING):
            return ConsumerState.UNSUBSCRIBED
        # A member that cannot reach any broker may still be one for the coordinator; for the program it is not.
        if self._assembly.reachability.unreachable_since_ms is not None:
            return ConsumerState.UNREACHABLE
        return _STATES[member]

    @property
    def _has_left(self) -> bool:
        """True when the member has left, and it is known which records this archived."""
        return self.membership.has_left and not self._inbox.returned

    @property
    def _is_broken(self) -> bool:
        # A broker that refused the group still accepts acknowledgements. Any other fatal error, such as a failed
        # authentication, also ends the requests that closing would wait for.
        return self._errors.fatal is not None and not isinstance(self._errors.fatal, BrokerError)

    async def _until(self, condition: Callable[[], bool], deadline_ms: int) -> None:
        changed = asyncio.Event()
        self._changed = changed.set
        self._engine.turn()
        try:
            async with asyncio.timeout(max(0, deadline_ms - self._clock.now_ms()) / 1000):
                while not condition():
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            return  # closing is best effort: the broker finds out by itself
        finally:
            self._changed = None

    def _connection_lost(self, host: str, port: int) -> None:
        self.fetcher.connection_lost(host, port)
        self._engine.turn()

    def _write_log(self) -> None:
        for event in self._errors.events.take():
            write_event(self._assembly.rate_limited_log, event)

    def _after_turn(self) -> None:
        if isinstance(self._errors.fatal, ClientFailureError):
            self.fetcher.give_up()  # a commit that waits fails now, and not at its timeout
        self._write_log()
        self._follow_limits()
        if self._changed is not None:
            self._changed()
        # A waiting poll raises errors and runs callbacks at once, not when records come.
        if self._errors or self._inbox.results or self._inbox.archived:
            self._inbox.notify()

    def _follow_limits(self) -> None:
        limits, inbox = self._limits, self._inbox
        # The group's limits cost a request and a permission, so they are read only when they matter: once a record was
        # redelivered (its delivery limit), or once fetches have grown (the record locks).
        limits.wanted = limits.wanted or self._metrics.redelivered_total > 0 or self.fetcher.has_grown
        inbox.record_locks = limits.values.get(_RECORD_LOCKS, inbox.record_locks)


_STATES = {
    MemberState.JOINING: ConsumerState.JOINING,
    MemberState.STABLE: ConsumerState.ACTIVE,
    MemberState.STALE: ConsumerState.POLL_OVERDUE,
    MemberState.FATAL: ConsumerState.FAILED,
}
