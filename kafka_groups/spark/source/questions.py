"""Questions about a group and its topics that no share consumer asks: lag, and where the logs end now."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from kafka_groups.config.share import ShareConsumerConfig
from kafka_groups.errors import KafkaGroupsError, error_for, is_retriable
from kafka_groups.net.clock import Clock
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import BrokerVersions, negotiate
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.net.network import Network
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponsePartition,
)
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_groups.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafka_groups.share.parts import Environment, network_for
from kafka_groups.types import TopicPartition

__all__ = ["Brokers", "GroupQuestions"]

_LOG = logging.getLogger(__name__)
_TIMEOUT_MS = 5_000
_LAG_AGE_MS = 2_000
_EARLIEST, _LATEST = -2, -1
_GROUP_KEY = 0

Address = tuple[str, int]


@frozen(eq=False)
class _Link:
    connection: ClientConnection
    versions: BrokerVersions


class Brokers:
    """Connections to brokers for single questions; lives on one event loop.

    Args:
        config: Where the brokers are.
        network: The way to them.
        clock: Time.
    """

    def __init__(self, config: ShareConsumerConfig, network: Network, clock: Clock) -> None:
        self._config = config
        self._network = network
        self._clock = clock
        self._links: dict[Address, _Link] = {}

    async def ask(self, address: Address, request: Any) -> Any:
        """The answer of one broker.

        Raises:
            KafkaGroupsError: There is none.
        """
        deadline_ms = self._clock.now_ms() + _TIMEOUT_MS
        link = self._links.get(address)
        if link is None or not link.connection.is_open:
            link = self._links[address] = await self._open(address, deadline_ms)
        return await link.connection.request(request, link.versions.version_for(type(request)), deadline_ms)

    async def ask_any(self, request: Any) -> Any:
        """The answer of the first bootstrap server that has one.

        Raises:
            KafkaGroupsError: None of them has.
        """
        *others, last = self._config.bootstrap_servers
        for address in others:
            try:
                return await self.ask(address, request)
            except KafkaGroupsError as error:
                _LOG.info("%s:%d was asked in vain: %s", *address, error)
        return await self.ask(last, request)

    async def close(self) -> None:
        """Drop all connections."""
        for link in self._links.values():
            link.connection.abort()
        self._links.clear()

    async def _open(self, address: Address, deadline_ms: int) -> _Link:
        connection = await ClientConnection.open(self._network, *address, self._config.client_id)
        try:
            return _Link(connection, await negotiate(connection, deadline_ms))
        except BaseException:
            connection.abort()
            raise


class GroupQuestions:
    """Asks about one group and the topics it is subscribed to, on a thread of its own that starts with the first.

    Args:
        config: Where the brokers are, and the group.
        topics: The topics.
        environment: Another network or clock, for tests.
    """

    def __init__(self, config: ShareConsumerConfig, topics: Sequence[str], environment: Environment) -> None:
        self._group_id = config.group_id
        self._topics = tuple(topics)
        self._clock = environment.clock
        self._brokers = Brokers(config, environment.network or network_for(config), environment.clock)
        self._thread = LoopThread(f"share-group-questions-{config.group_id}")
        self._lag: int | None = None
        self._lag_asked_ms: int | None = None
        self._asking: asyncio.Task[None] | None = None

    def lag(self) -> int | None:
        """Records that are still to be processed, as of a few seconds ago; does not wait.

        None when it is not known: not asked yet, the broker does not tell (before Kafka 4.2), no permission to
        describe the group, or a partition that was not read yet.
        """
        now_ms = self._clock.now_ms()
        if self._lag_asked_ms is None or now_ms - self._lag_asked_ms >= _LAG_AGE_MS:
            self._lag_asked_ms = now_ms
            self._started().call_soon(self._begin_refresh)
        return self._lag

    def end_offsets(self) -> Mapping[TopicPartition, int]:
        """Where the logs of the topics end now, without those that are empty; blocks for some seconds at most.

        Raises:
            KafkaGroupsError: A broker does not tell.
        """
        return self._started().run(self._end_offsets())

    def is_through(self, ends: Mapping[TopicPartition, int]) -> bool | None:
        """Whether the group has dealt with everything before these ends; blocks for some seconds at most.

        None when the brokers do not tell, and will not tell later.
        """
        try:
            lags, now = self._started().run(self._lags_and_ends())
        except KafkaGroupsError as error:
            _LOG.info("how far the group %s is cannot be told: %s", self._group_id, error)
            return False if is_retriable(error) else None
        # Not the start offsets: they are written with the acknowledgements after those that moved them.
        since = {partition: now.get(partition, end) - end for partition, end in ends.items()}
        return all(0 <= lags.get(partition, -1) <= grown for partition, grown in since.items())

    def close(self) -> None:
        """Drop all connections and end the thread."""
        self._thread.stop(last=self._end() if self._thread.is_running else None)

    async def _end(self) -> None:
        if self._asking is not None:  # first, as it may be opening a connection that nobody would close
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        await self._brokers.close()

    def _started(self) -> LoopThread:
        if not self._thread.is_running:
            self._thread.start()
        return self._thread

    # -------------------------------------------------------------------------------------------- lag

    def _begin_refresh(self) -> None:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        try:
            self._lag = await self._ask_lag()
        except KafkaGroupsError as error:
            self._lag = None
            _LOG.info("the lag of the group %s is not known: %s", self._group_id, error)

    async def _ask_lag(self) -> int | None:
        lags = [partition.lag for _, partition in await self._described()]
        return sum(lags) if lags and min(lags) >= 0 else None

    async def _lags_and_ends(self) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
        lags = {TopicPartition(topic, p.partition_index): p.lag for topic, p in await self._described()}
        return lags, await self._end_offsets()

    async def _described(self) -> list[tuple[str, DescribeShareGroupOffsetsResponsePartition]]:
        """The partitions that the group has state for, of the topics asked about."""
        coordinator = await self._coordinator()
        group = DescribeShareGroupOffsetsRequestGroup(group_id=self._group_id, topics=None)
        answer: DescribeShareGroupOffsetsResponse = await self._brokers.ask(
            coordinator, DescribeShareGroupOffsetsRequest(groups=(group,))
        )
        (described,) = answer.groups
        _raise(described.error_code, described.error_message)
        topics = [topic for topic in described.topics if topic.topic_name in self._topics]
        return [(topic.topic_name, p) for topic in topics for p in topic.partitions]

    async def _coordinator(self) -> Address:
        request = FindCoordinatorRequest(
            key_type=_GROUP_KEY, coordinator_keys=(self._group_id,)
        )  # brokers with share groups speak version 4 and newer
        answer: FindCoordinatorResponse = await self._brokers.ask_any(request)
        (found,) = answer.coordinators
        _raise(found.error_code, found.error_message)
        return found.host, found.port

    # ------------------------------------------------------------------------------------- end offsets

    async def _end_offsets(self) -> dict[TopicPartition, int]:
        wanted = tuple(MetadataRequestTopic(name=name) for name in self._topics)
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        metadata: MetadataResponse = await self._brokers.ask_any(request)
        addresses = {broker.node_id: (broker.host, broker.port) for broker in metadata.brokers}
        ends: dict[TopicPartition, int] = {}
        for leader, partitions in _by_leader(metadata).items():
            if leader not in addresses:
                raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, f"{', '.join(map(str, partitions))} have no leader")
            ends |= await self._ends_at(addresses[leader], partitions)
        return ends

    async def _ends_at(self, leader: Address, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        starts = await self._offsets_at(leader, partitions, _EARLIEST)
        ends = await self._offsets_at(leader, partitions, _LATEST)
        return {partition: end for partition, end in ends.items() if end > starts[partition]}

    async def _offsets_at(
        self, leader: Address, partitions: Sequence[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        by_topic: dict[str, list[ListOffsetsPartition]] = {}
        for partition in partitions:
            asked = ListOffsetsPartition(partition_index=partition.partition, timestamp=timestamp)
            by_topic.setdefault(partition.topic, []).append(asked)
        topics = tuple(ListOffsetsTopic(name=name, partitions=tuple(asked)) for name, asked in by_topic.items())
        answer: ListOffsetsResponse = await self._brokers.ask(leader, ListOffsetsRequest(topics=topics))
        offsets: dict[TopicPartition, int] = {}
        for topic in answer.topics:
            for p in topic.partitions:
                _raise(p.error_code, f"the end of {topic.name}-{p.partition_index} is not known")
                offsets[TopicPartition(topic.name, p.partition_index)] = p.offset
        return offsets


def _by_leader(metadata: MetadataResponse) -> dict[int, list[TopicPartition]]:
    by_leader: dict[int, list[TopicPartition]] = {}
    for topic in metadata.topics:
        _raise(topic.error_code, f"the topic {topic.name} cannot be read")
        for p in topic.partitions:
            by_leader.setdefault(p.leader_id, []).append(TopicPartition(topic.name or "", p.partition_index))
    return by_leader


def _raise(code: ErrorCode, message: str | None) -> None:
    if code is not ErrorCode.NONE:
        raise error_for(code, message)
