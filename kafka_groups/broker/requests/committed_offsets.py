"""Code shared by the handlers of requests about committed offsets."""

from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import TypeVar
from uuid import UUID

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.runtime.scheduling.cooperative_yield import COSTLY, USUAL, CooperativeYield

__all__ = ["in_slices", "named_topic"]

T = TypeVar("T")

_AT_ONCE = 200
"""The number of partitions in one operation of the group coordinator."""
_OPERATION = 4 * COSTLY
"""The fixed cost of an operation: each append compacts some of the log."""


async def in_slices(items: Sequence[T], turns: CooperativeYield) -> AsyncIterator[list[T]]:
    """Return items a few at a time, and let others have their turn in between."""
    left = iter(items)
    while some := list(islice(left, _AT_ONCE)):
        yield some
        await turns.spend(_OPERATION + USUAL * len(some))


def named_topic(metadata: ClusterMetadata, name: str, topic_id: UUID | None) -> TopicMetadata | None:
    """Return the topic that a request names: by id in newer versions, by name before. None if it does not exist."""
    return metadata.topic(name) if topic_id is None else metadata.topic_by_id(topic_id)
