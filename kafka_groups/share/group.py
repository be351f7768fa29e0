"""Lag and configuration of a share group, as the brokers report them."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from kafka_groups.admin.rules.config_questions import TopicConfigValues, describe_topic_configs
from kafka_groups.admin.rules.group_configs import describe_configs
from kafka_groups.admin.rules.share_groups import describe_groups
from kafka_groups.admin.rules.share_offsets import describe_offsets
from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.client.calls.client import AdminClient
from kafka_groups.client.calls.partition_offsets import LATEST, offsets_at
from kafka_groups.client.calls.questions import Asking
from kafka_groups.client.calls.results import Results
from kafka_groups.share.group_progress import GroupProgress
from kafka_groups.types import TopicPartition

__all__ = ["GroupConfig", "GroupLag", "ShareGroupInfo", "config_of", "lag_of"]

GroupLag = Mapping[TopicPartition, int | None]
"""Number of records of each partition that are not accepted, rejected or archived yet; None if it is unknown."""
GroupConfig = Mapping[str, str | None]
"""The configuration of a group by Kafka's names; None for a value that the broker does not show."""

T = TypeVar("T")


class ShareGroupInfo:
    """Asks the brokers about one share group, and retries retriable errors.

    Args:
        group_id: The group.
        connect: Makes a client with connections of its own, for one question. Takes the level of its warnings.
    """

    def __init__(self, group_id: str, connect: Callable[[int], AdminClient]) -> None:
        self._group_id = group_id
        self._connect = connect
        self._warning_level = logging.INFO

    @contextmanager
    def logging_warnings(self) -> Iterator[None]:
        """Log brokers that cannot be reached as warnings in the block, for questions that nobody knows of.

        Otherwise they are logged at the level `INFO`: the caller waits for the answer, and gets the error.
        """
        self._warning_level = logging.WARNING
        try:
            yield
        finally:
            self._warning_level = logging.INFO

    async def lag(self, topics: Iterable[str], timeout_ms: int) -> GroupLag:
        """Return the lag of the group (KIP-1226).

        Args:
            topics: The topics to ask for; if empty, all that the group has state for and you may describe.
            timeout_ms: Longest time to try.

        Raises:
            KafkaGroupsError: The brokers do not tell, or cannot be reached.
        """
        wanted = sorted(topics)
        return await self._answer(lambda ask: lag_of(ask, self._group_id, wanted), timeout_ms)

    async def progress(
        self, partitions: Iterable[TopicPartition], timeout_ms: int
    ) -> Mapping[TopicPartition, GroupProgress]:
        """Return how far the group is with partitions. Those of which the brokers don't tell the lag are left out.

        Raises:
            KafkaGroupsError: The brokers do not tell, or cannot be reached.
        """
        wanted = sorted(partitions)
        return await self._answer(lambda ask: _progress_of(ask, self._group_id, wanted), timeout_ms)

    async def config(self, timeout_ms: int) -> GroupConfig:
        """Return the configuration of the group.

        Raises:
            KafkaGroupsError: The brokers do not tell, or cannot be reached.
        """
        return await self._answer(lambda ask: config_of(ask, self._group_id), timeout_ms)

    async def member_count(self, timeout_ms: int) -> int:
        """Return the number of members of the group; 0 if it does not exist.

        Raises:
            KafkaGroupsError: The brokers cannot be reached.
        """
        described = await self._answer(lambda ask: describe_groups(ask, [self._group_id]), timeout_ms)
        group = described.values.get(self._group_id)
        return 0 if group is None else len(group.members)

    async def reader_count(self, topic: str, timeout_ms: int) -> int:
        """Return the number of members of the group that subscribe to a topic; 0 if the group does not exist.

        Raises:
            KafkaGroupsError: The brokers do not tell, or cannot be reached.
        """
        described = await self._answer(lambda ask: describe_groups(ask, [self._group_id]), timeout_ms)
        group = described.checked().values.get(self._group_id)
        return 0 if group is None else sum(topic in member.topics for member in group.members)

    async def topic_config(self, topic: str, timeout_ms: int) -> TopicConfigValues:
        """Return the configuration of a topic.

        Raises:
            KafkaGroupsError: The topic does not exist, the brokers do not tell, or they cannot be reached.
        """
        return (await self.topic_configs([topic], timeout_ms))[topic]

    async def topic_configs(self, topics: Iterable[str], timeout_ms: int) -> Results[str, TopicConfigValues]:
        """Return the configurations of topics, or their errors.

        Raises:
            KafkaGroupsError: The brokers cannot be reached.
        """
        return await self._answer(lambda ask: describe_topic_configs(ask, topics), timeout_ms)

    async def _answer(self, question: Callable[[Asking], Awaitable[T]], timeout_ms: int) -> T:
        client = self._connect(self._warning_level)
        try:
            return await question(client.within(timeout_ms))
        finally:
            await client.close()


async def lag_of(ask: Asking, group_id: str, topics: Sequence[str] = ()) -> GroupLag:
    """Return the lag of a group, by default for all topics that it has state for and you may describe.

    If you name a topic that you may not describe, the result is an error. Otherwise such topics are left out.
    """
    found = (await partitions_of_topics(ask, topics)).checked() if topics else None
    wanted = None if found is None else [each for some in found.values.values() for each in some]
    offsets = (await describe_offsets(ask, {group_id: wanted}))[group_id].checked()
    return {partition: offset.lag for partition, offset in offsets.values.items()}


async def _progress_of(
    ask: Asking, group_id: str, partitions: Sequence[TopicPartition]
) -> Mapping[TopicPartition, GroupProgress]:
    """Ask for the ends first: what is appended in between makes the lag larger, and too few records seem finished."""
    ends = (await offsets_at(ask, partitions, LATEST)).checked().values
    stable = (await offsets_at(ask, partitions, LATEST, committed=True)).checked().values
    offsets = (await describe_offsets(ask, {group_id: partitions}))[group_id].checked().values
    return {
        partition: GroupProgress(start, max(0, ends[partition] - start - offset.lag), stable[partition])
        for partition, offset in offsets.items()
        # KIP-1226: the lag is -1 (None here) while the start offset or the count of finished records is unknown: before
        # the group's first acknowledgement in the partition, and with brokers older than Kafka 4.2.
        if (start := offset.start_offset) is not None and offset.lag is not None
    }


async def config_of(ask: Asking, group_id: str) -> GroupConfig:
    """Return the configuration of a group."""
    configs = (await describe_configs(ask, [group_id]))[group_id]
    return {name: config.value for name, config in configs.items()}
