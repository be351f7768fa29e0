"""A fetch manager with everything around it, driven by hand: the test is clock, network, brokers and application."""

import random
from collections.abc import Iterable
from typing import Any

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.membership.heartbeat import HeartbeatTimer
from kafka_groups.client.metadata import Metadata, MetadataManager
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.config.clients.share import share_consumer_config
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgePartitionData as AcknowledgedPartition
from kafka_groups.protocol.messages.share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from kafka_groups.protocol.messages.share_fetch import (
    AcquiredRecords,
    ShareFetchableTopicResponse,
    ShareFetchPartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
)
from kafka_groups.share.application import Application
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.fetching.fetch import Collaborators, ShareFetchManager
from kafka_groups.share.delivery.fetching.fetch_sensors import ShareMetrics
from kafka_groups.share.delivery.inbox import Inbox
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.delivery.share_records import AnyRecords
from kafka_groups.share.membership.membership import MemberIdentity, ShareMembership
from kafka_groups.share.membership.states import MemberState
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TopicIdPartition
from tests.unit.share.deliveries import TOPIC, batch, types_of

LOCK_MS = 30_000
MAX_WAIT_MS = 500


class Bench:
    """One consumer's halves, joined by hand.

    The topic has one partition for each given leader. `poll` is what the application does, `turn` what the engine does.
    """

    def __init__(self, leaders: Iterable[int] = (1,), **config: Any) -> None:
        self.leaders = tuple(leaders)
        config = {"bootstrap_servers": "b:1", "group_id": "g", "retry_backoff_ms": 100} | config
        self.config = share_consumer_config(None, **config)
        self.clock = ManualClock()
        self.inbox, self.errors, self.metrics = Inbox(), BackgroundErrors(), ShareMetrics()
        rng = random.Random(5)
        self.metadata = MetadataManager(
            Metadata(),
            self.errors,
            max_age_ms=300_000,
            timeout_ms=1,
            backoff=BackoffTimer(1, 1, rng),
            allow_auto_create=True,
        )
        self.metadata.set_topics(["orders"])
        coordinator = CoordinatorManager(
            "g", self.metadata.metadata, self.errors, backoff=BackoffTimer(1, 1, rng), timeout_ms=1
        )
        self.membership = ShareMembership(
            MemberIdentity("g", "me"),
            coordinator=coordinator,
            errors=self.errors,
            timer=HeartbeatTimer(BackoffTimer(1, 1, rng)),
            timeout_ms=1,
            max_poll_interval_ms=self.config.max_poll_interval_ms,
        )
        self.collaborators = Collaborators(self.membership, self.metadata, self.errors, self.inbox, self.metrics, rng)
        self.manager = ShareFetchManager(self.config, self.collaborators)
        self.application = Application(self.config, self.inbox, self.errors, self.clock)
        self.application.subscription = frozenset({"orders"})
        self.results: list[Any] = []
        self.application.callback = self.results.append
        self.notified = 0
        self.inbox.on_ready = self._notified
        self.learn_leaders(self.leaders)
        self.assign(*range(len(self.leaders)))
        self.membership.state = MemberState.STABLE

    def _notified(self) -> None:
        self.notified += 1

    # ---------------------------------------------------------------------------------- surroundings

    def learn_leaders(self, leaders: Iterable[int], epoch: int = 1) -> None:
        """What a Metadata response says; -1: no leader."""
        partitions = tuple(
            MetadataResponsePartition(partition_index=i, leader_id=leader, leader_epoch=epoch)
            for i, leader in enumerate(leaders)
        )
        brokers = tuple(MetadataResponseBroker(node_id=n, host=f"b{n}", port=9) for n in (1, 2, 3))
        topic = MetadataResponseTopic(name="orders", topic_id=TOPIC, partitions=partitions)
        self.metadata.metadata.apply(MetadataResponse(brokers=brokers, topics=(topic,)))

    def assign(self, *partitions: int) -> None:
        self.membership.assignment = frozenset(TopicIdPartition(TOPIC, p) for p in partitions)

    def advance(self, by_ms: int) -> None:
        self.clock.advance(by_ms)

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    # ------------------------------------------------------------------------------------ the engine

    def turn(self) -> tuple[OutgoingRequest, ...]:
        return self.manager.poll(self.now_ms).requests

    def wait_ms(self) -> int:
        result = self.manager.poll(self.now_ms)
        assert result.requests == ()
        return result.wait_ms

    def one(self) -> OutgoingRequest:
        (request,) = self.turn()
        return request

    def fetch(self) -> OutgoingRequest:
        request = self.one()
        assert request.api is ApiKey.SHARE_FETCH
        return request

    def acknowledge(self) -> OutgoingRequest:
        request = self.one()
        assert request.api is ApiKey.SHARE_ACKNOWLEDGE
        return request

    def nothing(self) -> None:
        assert self.turn() == ()

    def lose(self, request: OutgoingRequest, error: Exception) -> None:
        self.manager.on_failure(request, error, self.now_ms)

    # ----------------------------------------------------------------------------------- the brokers

    def respond(self, request: OutgoingRequest, message: object, version: int = 2) -> None:
        self.manager.on_response(request, ClientResponse(message, version, 1), self.now_ms)

    def fetched(
        self,
        request: OutgoingRequest,
        *ranges: tuple[int, int],
        partition: int = 0,
        version: int = 2,
        blob: bytes | None = None,
        parts: tuple[ShareFetchPartitionData, ...] = (),
        **values: Any,
    ) -> None:
        """A ShareFetch response: these ranges are acquired of the partition, and every acknowledgement is taken."""
        got = tuple(AcquiredRecords(first_offset=a, last_offset=b, delivery_count=1) for a, b in ranges)
        if ranges:
            blob = b"".join(batch(a, b) for a, b in ranges) if blob is None else blob
            parts = (*parts, ShareFetchPartitionData(partition_index=partition, records=blob, acquired_records=got))
        listed = {part.partition_index for part in parts}
        parts = (
            *parts,
            *(ShareFetchPartitionData(partition_index=p) for p in acknowledged_in(request) if p not in listed),
        )
        responses = (ShareFetchableTopicResponse(topic_id=TOPIC, partitions=parts),) if parts else ()
        values = dict[str, Any](acquisition_lock_timeout_ms=LOCK_MS, responses=responses) | values
        self.respond(request, ShareFetchResponse(**values), version)

    def acknowledged(
        self,
        request: OutgoingRequest,
        code: ErrorCode = ErrorCode.NONE,
        *,
        version: int = 2,
        partitions: tuple[AcknowledgedPartition, ...] | None = None,
        **values: Any,
    ) -> None:
        """A ShareAcknowledge response with this code for every partition in the request."""
        if partitions is None:
            partitions = tuple(
                AcknowledgedPartition(partition_index=p, error_code=code) for p in acknowledged_in(request)
            )
        responses = (ShareAcknowledgeTopicResponse(topic_id=TOPIC, partitions=partitions),)
        values = dict[str, Any](acquisition_lock_timeout_ms=LOCK_MS, responses=responses) | values
        self.respond(request, ShareAcknowledgeResponse(**values), version)

    # ------------------------------------------------------------------------------- the application

    def warm(self) -> "Bench":
        """As if the application had handled a batch before, in no time: fetching ahead is allowed."""
        self.inbox.processing_ms = 0
        return self

    def begin(self) -> AnyRecords:
        """The first half of a poll: what is there, or else begin to wait."""
        self.application.begin_poll()
        records = self.application.take()
        self.inbox.is_waiting = not records
        return records

    def end(self) -> AnyRecords:
        """The second half: something came, or the time is up."""
        self.application.raise_waiting()
        records = self.application.take()
        self.inbox.is_waiting = False
        return records

    def delivered(self, *ranges: tuple[int, int], partition: int = 0, version: int = 2) -> list[AnyRecord]:
        """Poll and have these records fetched."""
        assert not self.begin()
        self.fetched(self.fetch(), *ranges, partition=partition, version=version)
        return list(self.end())

    def commit(self) -> CommitTicket:
        ticket = CommitTicket()
        self.application.commit(ticket)
        return ticket

    def told(self) -> list[tuple[int, list[int], str | None]]:
        """What the callback was told: partition, offsets, name of the error's class."""
        self.application.run_callback()
        return [
            (result.partition.partition, list(result.offsets()), type(result.error).__name__ if result.error else None)
            for result in self.results
        ]


def wire(request: OutgoingRequest, version: int = 2) -> Any:
    """The message of a request."""
    return request.build(version)


def acknowledged_in(request: OutgoingRequest) -> dict[int, dict[int, int]]:
    """Partition → offset → type, as a request carries them."""
    message: ShareFetchRequest | ShareAcknowledgeRequest = wire(request)
    return {
        partition.partition_index: types_of(partition.acknowledgement_batches)
        for topic in message.topics
        for partition in topic.partitions
        if partition.acknowledgement_batches
    }


def listed_in(request: OutgoingRequest) -> list[int]:
    """The partitions that a request names."""
    return [partition.partition_index for topic in wire(request).topics for partition in topic.partitions]


def forgotten_in(request: OutgoingRequest) -> list[int]:
    return [partition for topic in wire(request).forgotten_topics_data for partition in topic.partitions]
