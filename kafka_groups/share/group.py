"""What the brokers tell of a share group: its lag and its configuration."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from kafka_groups.client.brokers import Brokers, raise_for
from kafka_groups.errors import (
    KafkaGroupsError,
    OperationTimeoutError,
    UnknownTopicOrPartitionError,
    error_for,
    is_retriable,
)
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponsePartition,
)
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kafka_groups.types import TopicPartition

__all__ = ["GroupConfig", "GroupLag", "ShareGroupInfo", "config_of", "lag_of"]

_RETRY_MS = 100

GroupLag = Mapping[TopicPartition, int | None]
"""How many records of each partition the group has still to accept, reject or give up; None if that is not known."""
GroupConfig = Mapping[str, str | None]
"""The configuration of a group by Kafka's names; None for a value that the broker does not show."""

T = TypeVar("T")


class ShareGroupInfo:
    """Asks the brokers about one share group; a question that fails with a retriable error is asked again.

    Args:
        group_id: The group.
        connect: Makes connections to the brokers for one question.
        clock: Time.
    """

    def __init__(self, group_id: str, connect: Callable[[], Brokers], clock: Clock) -> None:
        self._group_id = group_id
        self._connect = connect
        self._clock = clock

    async def lag(self, topics: Iterable[str], timeout_ms: int) -> GroupLag:
        """The lag of the group (KIP-1226).

        Args:
            topics: The topics to ask for; if empty, all that the group has state for and you may see.
            timeout_ms: Longest time to try.

        Raises:
            KafkaGroupsError: The brokers do not tell, or cannot be reached.
        """
        wanted = sorted(topics)
        return await self._answer(lambda brokers: lag_of(brokers, self._group_id, wanted), timeout_ms)

    async def config(self, timeout_ms: int) -> GroupConfig:
        """The configuration of the group.

        Raises:
            KafkaGroupsError: The brokers do not tell, or cannot be reached.
        """
        return await self._answer(lambda brokers: config_of(brokers, self._group_id), timeout_ms)

    async def _answer(self, question: Callable[[Brokers], Awaitable[T]], timeout_ms: int) -> T:
        brokers = self._connect()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await self._until_answered(question, brokers, self._clock.now_ms() + timeout_ms)
        except TimeoutError as error:
            if isinstance(error, KafkaGroupsError):
                raise
            text = f"The brokers did not tell of the share group {self._group_id} within {timeout_ms} ms."
            raise OperationTimeoutError(text) from error
        finally:
            brokers.close()

    async def _until_answered(
        self, question: Callable[[Brokers], Awaitable[T]], brokers: Brokers, deadline_ms: int
    ) -> T:
        while True:
            try:
                return await question(brokers)
            except KafkaGroupsError as error:
                may_pass = is_retriable(error) and not isinstance(error, UnknownTopicOrPartitionError)
                if not may_pass or self._clock.now_ms() + _RETRY_MS >= deadline_ms:
                    raise
            await asyncio.sleep(_RETRY_MS / 1000)


async def lag_of(brokers: Brokers, group_id: str, topics: Sequence[str] = ()) -> GroupLag:
    """Ask once for the lag of a group; without topics, of all that it has state for and you may see."""
    asked = await _partitions_of(brokers, topics) if topics else None
    coordinator = await brokers.coordinator_of(group_id)
    group = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=asked)
    answer: DescribeShareGroupOffsetsResponse = await brokers.ask(
        coordinator, DescribeShareGroupOffsetsRequest(groups=(group,))
    )
    (told,) = answer.groups
    raise_for(told.error_code, told.error_message)
    return {
        TopicPartition(topic.topic_name, partition.partition_index): _known_lag(topic.topic_name, partition)
        for topic in told.topics
        for partition in topic.partitions
    }


async def config_of(brokers: Brokers, group_id: str) -> GroupConfig:
    """Ask once for the configuration of a group."""
    group = DescribeConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group_id, configuration_keys=None)
    answer: DescribeConfigsResponse = await brokers.ask_any(DescribeConfigsRequest(resources=(group,)))
    (told,) = answer.results
    raise_for(told.error_code, told.error_message)
    return {config.name: config.value for config in told.configs}


async def _partitions_of(brokers: Brokers, topics: Sequence[str]) -> tuple[DescribeShareGroupOffsetsRequestTopic, ...]:
    """All partitions of topics: asked for by name, a topic that you may not see is an error and not left out."""
    wanted = tuple(MetadataRequestTopic(name=name) for name in topics)
    answer: MetadataResponse = await brokers.ask_any(MetadataRequest(topics=wanted, allow_auto_topic_creation=False))
    for topic in answer.topics:
        if topic.error_code:
            raise error_for(topic.error_code, f"{topic.error_code.name}: the topic {topic.name}")
    return tuple(
        DescribeShareGroupOffsetsRequestTopic(
            topic_name=topic.name or "", partitions=tuple(p.partition_index for p in topic.partitions)
        )
        for topic in answer.topics
    )


def _known_lag(topic: str, partition: DescribeShareGroupOffsetsResponsePartition) -> int | None:
    if partition.error_code:
        message = partition.error_message or f"{partition.error_code.name}: {topic}-{partition.partition_index}"
        raise error_for(partition.error_code, message)
    return partition.lag if partition.lag >= 0 else None
