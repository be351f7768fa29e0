"""A member of a share group played by hand: heartbeats, share sessions, acknowledgements, exactly as told."""

import random
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgePartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from kafka_groups.protocol.messages.share_fetch import (
    ShareFetchPartition,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareFetchTopic,
    ShareForgottenTopic,
)
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartitionData as FetchedPartition
from kafka_groups.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kafka_groups.types import AcknowledgeType, member_id_of, random_uuid
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.requests.raw_client import RawClient

NO_EPOCH_YET = 0
CLOSE = -1
LEAVE = -1


@frozen
class Acknowledgement:
    """Offsets of one partition, and what becomes of them: one type for all, or one for each."""

    first: int
    last: int
    kinds: Sequence[int]
    partition: int = 0


def accept(first: int, last: int | None = None, partition: int = 0) -> Acknowledgement:
    """The offsets are accepted."""
    return acknowledge(AcknowledgeType.ACCEPT, first, last, partition)


def release(first: int, last: int | None = None, partition: int = 0) -> Acknowledgement:
    """The offsets are released."""
    return acknowledge(AcknowledgeType.RELEASE, first, last, partition)


def acknowledge(kind: AcknowledgeType, first: int, last: int | None = None, partition: int = 0) -> Acknowledgement:
    """The offsets get this type."""
    return Acknowledgement(first, first if last is None else last, (kind,), partition)


@frozen(kw_only=True)
class Limits:
    """How much a fetch may bring, and how long it may take."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 50_000_000
    max_records: int = 500
    batch_size: int = 500
    record_limit: bool = False


NOTHING = Limits(max_wait_ms=0, min_bytes=0, max_bytes=0, max_records=0, batch_size=0)
ROOMY = Limits()
AT_ONCE = Limits(max_wait_ms=0)


class RawMember:
    """One member with one connection; a session epoch that a test does not give is counted up as a client would.

    Args:
        client: The connection, to the one broker that coordinates and leads.
        group_id: The group.
        topic: The topic that it fetches from.
        member_id: Its id; a random one when it is not given.
    """

    def __init__(self, client: RawClient, group_id: str, topic: Topic, member_id: str | None = None) -> None:
        self.client = client
        self.group_id = group_id
        self.topic = topic
        self.member_id = member_id or member_id_of(random_uuid(random.Random()))
        self.epoch = NO_EPOCH_YET
        self.session_epoch = 0

    # -------------------------------------------------------------------------------------- membership

    async def heartbeat(
        self, epoch: int | None = None, topics: Sequence[str] | None = None, **fields: Any
    ) -> ShareGroupHeartbeatResponse:
        """Send one heartbeat; the epoch of a good answer is the member's from then on."""
        request = ShareGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=fields.pop("member_id", self.member_id),
            member_epoch=self.epoch if epoch is None else epoch,
            subscribed_topic_names=None if topics is None else tuple(topics),
            **fields,
        )
        response: ShareGroupHeartbeatResponse = await self.client.ask(request)
        if response.error_code is ErrorCode.NONE:
            self.epoch = response.member_epoch
        return response

    async def join(self, *topics: str) -> ShareGroupHeartbeatResponse:
        """Join with the topics (its own by default); one heartbeat."""
        return await self.heartbeat(0, topics or [self.topic.name])

    async def join_and_wait(self, partitions: Iterable[int] = (0,)) -> None:
        """Join as soon as the coordinator has loaded its groups, and heartbeat until these partitions are assigned."""
        wanted = frozenset(partitions)
        response = await until(self.join, lambda it: it.error_code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if assigned(response, self.topic) != wanted:
            await until(lambda: self.heartbeat(topics=[self.topic.name]), lambda it: assigned(it, self.topic) == wanted)

    async def leave(self) -> None:
        """Leave the group."""
        response = await self.heartbeat(LEAVE)
        assert response.error_code is ErrorCode.NONE, response

    # --------------------------------------------------------------------------------- sessions, whole

    async def share_fetch(
        self,
        limits: Limits = ROOMY,
        *,
        epoch: int | None = None,
        partitions: Sequence[int] = (),
        acknowledgements: Sequence[Acknowledgement] = (),
        forgotten: Sequence[int] = (),
        is_renew_ack: bool = False,
        version: int | None = None,
    ) -> ShareFetchResponse:
        """Send one ShareFetch with what is said here and nothing else."""
        request = ShareFetchRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self.session_epoch if epoch is None else epoch,
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            max_records=limits.max_records,
            batch_size=limits.batch_size,
            share_acquire_mode=int(limits.record_limit),
            is_renew_ack=is_renew_ack,
            topics=self._fetch_topics(partitions, acknowledgements),
            forgotten_topics_data=self._forgotten(forgotten),
        )
        response: ShareFetchResponse = await self.client.ask(request, version)
        self._count(request.share_session_epoch, response.error_code)
        return response

    async def share_acknowledge(
        self,
        *acknowledgements: Acknowledgement,
        epoch: int | None = None,
        is_renew_ack: bool = False,
        version: int | None = None,
    ) -> ShareAcknowledgeResponse:
        """Send one ShareAcknowledge."""
        grouped = _by_partition((), acknowledgements)
        partitions = tuple(
            AcknowledgePartition(partition_index=index, acknowledgement_batches=batches)
            for index, batches in grouped.items()
        )
        request = ShareAcknowledgeRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self.session_epoch if epoch is None else epoch,
            is_renew_ack=is_renew_ack,
            topics=(AcknowledgeTopic(topic_id=self.topic.topic_id, partitions=partitions),) if partitions else (),
        )
        response: ShareAcknowledgeResponse = await self.client.ask(request, version)
        self._count(request.share_session_epoch, response.error_code)
        return response

    # -------------------------------------------------------------------------------- sessions, easier

    async def fetch(
        self, limits: Limits = ROOMY, *acknowledgements: Acknowledgement, partitions: Sequence[int] = (0,)
    ) -> "Acquired":
        """Fetch from the partitions, opening the session first if need be; no error may come."""
        listed = partitions if self.session_epoch == 0 else ()
        response = await self.share_fetch(limits, partitions=listed, acknowledgements=acknowledgements)
        assert response.error_code is ErrorCode.NONE, response
        for data in fetched(response).values():
            assert data.error_code is ErrorCode.NONE, data
            assert data.acknowledge_error_code is ErrorCode.NONE, data
        return Acquired.of(response)

    async def fetch_until_acquired(self, limits: Limits = ROOMY, *, partitions: Sequence[int] = (0,)) -> "Acquired":
        """Fetch until something is acquired."""
        return await until(lambda: self.fetch(limits, partitions=partitions), lambda it: it.count > 0)

    async def settle(self, *acknowledgements: Acknowledgement) -> None:
        """Acknowledge; no error may come."""
        response = await self.share_acknowledge(*acknowledgements)
        assert response.error_code is ErrorCode.NONE, response
        assert {data.error_code for data in acknowledged(response).values()} <= {ErrorCode.NONE}, response

    async def close_session(self) -> None:
        """Close the share session."""
        response = await self.share_acknowledge(epoch=CLOSE)
        assert response.error_code is ErrorCode.NONE, response

    # ------------------------------------------------------------------------------------------ insides

    def _count(self, sent_epoch: int, code: ErrorCode) -> None:
        if code is ErrorCode.NONE:
            self.session_epoch = 0 if sent_epoch == CLOSE else sent_epoch + 1

    def _fetch_topics(
        self, partitions: Sequence[int], acknowledgements: Sequence[Acknowledgement]
    ) -> tuple[ShareFetchTopic, ...]:
        grouped = _by_partition(partitions, acknowledgements)
        listed = tuple(
            ShareFetchPartition(partition_index=index, acknowledgement_batches=batches)
            for index, batches in grouped.items()
        )
        return (ShareFetchTopic(topic_id=self.topic.topic_id, partitions=listed),) if listed else ()

    def _forgotten(self, partitions: Sequence[int]) -> tuple[ShareForgottenTopic, ...]:
        if not partitions:
            return ()
        return (ShareForgottenTopic(topic_id=self.topic.topic_id, partitions=tuple(partitions)),)


@frozen
class Run:
    """A range of acquired offsets with its delivery count."""

    first: int
    last: int
    delivery_count: int
    partition: int = 0


@frozen
class Acquired:
    """What one fetch acquired."""

    runs: tuple[Run, ...]
    records: dict[int, bytes]
    lock_timeout_ms: int

    @classmethod
    def of(cls, response: ShareFetchResponse) -> "Acquired":
        """What the response says."""
        runs = tuple(
            Run(acquired.first_offset, acquired.last_offset, acquired.delivery_count, data.partition_index)
            for data in fetched(response).values()
            for acquired in data.acquired_records
        )
        records = {index: data.records or b"" for index, data in fetched(response).items()}
        return cls(runs, records, response.acquisition_lock_timeout_ms)

    @property
    def count(self) -> int:
        """How many offsets."""
        return sum(run.last - run.first + 1 for run in self.runs)

    @property
    def offsets(self) -> list[int]:
        """The offsets, whatever their partition, in the order of the response."""
        return [offset for run in self.runs for offset in range(run.first, run.last + 1)]

    @property
    def delivery_counts(self) -> dict[int, int]:
        """Delivery count by offset."""
        return {offset: run.delivery_count for run in self.runs for offset in range(run.first, run.last + 1)}


def assigned(response: ShareGroupHeartbeatResponse, topic: Topic) -> frozenset[int] | None:
    """The assigned partitions of a topic; None when the response says nothing about the assignment."""
    assert response.error_code is ErrorCode.NONE, response
    if response.assignment is None:
        return None
    listed = response.assignment.topic_partitions
    return frozenset(partition for t in listed if t.topic_id == topic.topic_id for partition in t.partitions)


def fetched(response: ShareFetchResponse) -> dict[int, FetchedPartition]:
    """The partitions of a ShareFetch response about one topic."""
    return {data.partition_index: data for topic in response.responses for data in topic.partitions}


def acknowledged(response: ShareAcknowledgeResponse) -> dict[int, ShareAcknowledgePartitionData]:
    """The partitions of a ShareAcknowledge response about one topic."""
    return {data.partition_index: data for topic in response.responses for data in topic.partitions}


def _by_partition(
    partitions: Sequence[int], acknowledgements: Sequence[Acknowledgement]
) -> dict[int, tuple[AcknowledgementBatch, ...]]:
    grouped: dict[int, list[AcknowledgementBatch]] = {index: [] for index in partitions}
    for given in acknowledgements:
        batch = AcknowledgementBatch(
            first_offset=given.first, last_offset=given.last, acknowledge_types=tuple(given.kinds)
        )
        grouped.setdefault(given.partition, []).append(batch)
    return {index: tuple(batches) for index, batches in grouped.items()}
