"""Code shared by the handlers of requests to the share coordinator of share-group state.

KIP-932, "The share coordinator and the share-group state topic".
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.broker.runtime.scheduling.cooperative_yield import USUAL, CooperativeYield
from kafka_groups.errors import (
    BrokerError,
    InvalidRequestError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.share_state import ShareStatePartitionResult, ShareStateTopicResult

__all__ = [
    "check_existing",
    "check_share_coordinator",
    "each_answered",
    "each_settled",
    "state_key",
]

T = TypeVar("T")

_NO_TOPIC = UUID(int=0)
_MOST_TOGETHER = 100
"""The number of share-partitions of one request that are handled at the same time."""


def state_key(group_id: str, topic_id: UUID | None, partition: int) -> StateKey:
    """Return the key of a share-partition. A topic id of zeros is that of no topic."""
    return group_id, topic_id or _NO_TOPIC, partition


def check_existing(services: BrokerServices, key: StateKey) -> None:
    """Raise an error if a partition does not exist.

    Raises:
        UnknownTopicOrPartitionError: The partition does not exist.
    """
    if services.cluster.metadata.partition(key[1], key[2]) is None:
        raise UnknownTopicOrPartitionError(f"The partition {key[2]} of the topic with id {key[1]} does not exist.")


def check_share_coordinator(services: BrokerServices, key: StateKey) -> None:
    """Raise an error if this broker does not coordinate the state of a share-partition.

    Raises:
        NotCoordinatorError: Another broker does, or the topic of the states does not exist yet.
        CoordinatorLoadInProgressError: The states are still being read.
        InvalidRequestError: The number of the partition is negative.
    """
    services.coordinators.share.check(key)
    if key[2] < 0:
        raise InvalidRequestError(f"The partition id {key[2]} is negative.")


async def each_settled(
    request: Any, operation: Callable[[StateKey, Any], Awaitable[None]], turns: CooperativeYield
) -> tuple[ShareStateTopicResult, ...]:
    """Do something with each share-partition of a request, and return the results: success or an error.

    Args:
        request: Has topics with partitions. As in Kafka, nothing is done without a group id.
        operation: Takes the key of the share-partition and its part of the request.
        turns: Those of the request.
    """

    async def settled(key: StateKey, partition: Any) -> ShareStatePartitionResult:
        try:
            await operation(key, partition)
        except BrokerError as error:
            return ShareStatePartitionResult(partition=key[2], error_code=code_of(error), error_message=str(error))
        return ShareStatePartitionResult(partition=key[2])

    by_topic = await each_answered(request, settled, turns)
    return tuple(ShareStateTopicResult(topic_id=topic_id, partitions=results) for topic_id, results in by_topic)


async def each_answered(
    request: Any, answer: Callable[[StateKey, Any], Coroutine[Any, Any, T]], turns: CooperativeYield
) -> list[tuple[UUID | None, tuple[T, ...]]]:
    """Return the answer for each share-partition of a request, by topic. Without a group id there is none.

    They do not wait for each other.

    Args:
        request: Has topics with partitions.
        answer: Takes the key of the share-partition and its part of the request.
        turns: Those of the request.
    """
    topics = request.topics if request.group_id else ()
    partitions = [(topic.topic_id, partition) for topic in topics for partition in topic.partitions]
    answers: list[T] = []
    for begin in range(0, len(partitions), _MOST_TOGETHER):
        together = partitions[begin : begin + _MOST_TOGETHER]
        await turns.spend(USUAL * len(together))
        answers += await _all(
            [
                answer(state_key(request.group_id, topic_id, partition.partition), partition)
                for topic_id, partition in together
            ]
        )
    rest = iter(answers)
    return [(topic.topic_id, tuple(islice(rest, len(topic.partitions)))) for topic in topics]


async def _all(answers: list[Coroutine[Any, Any, T]]) -> list[T]:
    return [await answers[0]] if len(answers) == 1 else await asyncio.gather(*answers)
