"""Questions about a group and its topics that a share consumer does not ask: lag and end offsets."""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from kafka_groups.client.brokers import Address, raise_for, total_lag
from kafka_groups.config.share import ShareConsumerConfig
from kafka_groups.errors import KafkaGroupsError, error_for, is_retriable
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafka_groups.share.parts import Environment, brokers_for
from kafka_groups.types import TopicPartition

__all__ = ["GroupQuestions"]

_LOG = logging.getLogger(__name__)
_LAG_AGE_MS = 2_000
_EARLIEST, _LATEST = -2, -1


class GroupQuestions:
    """Asks about one group and its topics, on a separate thread that starts with the first question.

    Args:
        config: Where the brokers are, and the group.
        topics: The topics.
        environment: Another network or clock, for tests.
    """

    def __init__(self, config: ShareConsumerConfig, topics: Sequence[str], environment: Environment) -> None:
        self._group_id = config.group_id
        self._topics = tuple(topics)
        self._clock = environment.clock
        self._brokers = brokers_for(config, network=environment.network, clock=environment.clock)
        self._thread = LoopThread(f"share-group-questions-{config.group_id}")
        self._lag: int | None = None
        self._lag_asked_ms: int | None = None
        self._asking: asyncio.Task[None] | None = None

    def lag(self) -> int | None:
        """Return how many records are still to be processed, as of a few seconds ago; does not wait.

        None if it is unknown: it was not asked yet, the broker does not support it (before Kafka 4.2), there is no
        permission to describe the group, or a partition was not read yet.
        """
        now_ms = self._clock.now_ms()
        if self._lag_asked_ms is None or now_ms - self._lag_asked_ms >= _LAG_AGE_MS:
            self._lag_asked_ms = now_ms
            self._started().call_soon(self._begin_refresh)
        return self._lag

    def end_offsets(self) -> Mapping[TopicPartition, int]:
        """Return the end offsets of the topics, without empty partitions; blocks for some seconds at most.

        Raises:
            KafkaGroupsError: A broker did not answer the question.
        """
        return self._started().run(self._end_offsets())

    def is_through(self, ends: Mapping[TopicPartition, int], *, skips_backlog: bool = False) -> bool | None:
        """Whether the group has processed everything before these offsets; blocks for some seconds at most.

        None if the brokers do not support the question.

        Args:
            ends: The end offsets when the run began.
            skips_backlog: Whether the group starts at the end of a partition. Then a partition without lag had no
                records for the group, which has never acknowledged anything there.
        """
        try:
            lags, now = self._started().run(self._lags_and_ends())
        except KafkaGroupsError as error:
            _LOG.info("how far the group %s is cannot be told: %s", self._group_id, error)
            return False if is_retriable(error) else None
        # Not the start offsets: they are written with the acknowledgements after those that moved them.
        since = {partition: now.get(partition, end) - end for partition, end in ends.items()}
        unknown = 0 if skips_backlog else -1
        known = {partition: lags.get(partition, -1) for partition in since}
        return all(0 <= (lag if lag >= 0 else unknown) <= since[partition] for partition, lag in known.items())

    def close(self) -> None:
        """Drop all connections and end the thread."""
        self._thread.stop(last=self._end() if self._thread.is_running else None)

    async def _end(self) -> None:
        if self._asking is not None:  # first, as it may be opening a connection that nobody would close
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        self._brokers.close()

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
        return total_lag(await self._lags())

    async def _lags_and_ends(self) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
        return await self._lags(), await self._end_offsets()

    async def _lags(self) -> Mapping[TopicPartition, int]:
        """Return the lags of the partitions of these topics for which the group has state."""
        coordinator = await self._brokers.coordinator_of(self._group_id)
        lags = await self._brokers.share_group_lags(coordinator, self._group_id)
        return {partition: lag for partition, lag in lags.items() if partition.topic in self._topics}

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
                raise_for(p.error_code, f"the end of {topic.name}-{p.partition_index} is not known")
                offsets[TopicPartition(topic.name, p.partition_index)] = p.offset
        return offsets


def _by_leader(metadata: MetadataResponse) -> dict[int, list[TopicPartition]]:
    by_leader: dict[int, list[TopicPartition]] = {}
    for topic in metadata.topics:
        raise_for(topic.error_code, f"the topic {topic.name} cannot be read")
        for p in topic.partitions:
            by_leader.setdefault(p.leader_id, []).append(TopicPartition(topic.name or "", p.partition_index))
    return by_leader
