"""The cluster as a producer sees it: topics, leaders, and ways to learn more."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.types import TopicIdPartition

__all__ = ["ClusterTopics", "ProducerCluster"]


class ClusterTopics(Protocol):
    """The topics that a producer writes to, as `Metadata` knows them."""

    def id_of(self, name: str) -> UUID | None:
        """Return the id of a topic."""

    def leader_of(self, partition: TopicIdPartition) -> int | None:
        """Return the leader of a partition."""

    def partition_count(self, name: str) -> int | None:
        """Return the number of partitions of a topic."""

    def is_missing(self, name: str) -> bool:
        """Return whether a topic did not exist when it was asked about last."""

    def error_of(self, name: str) -> ErrorCode:
        """Return the topic's error when it was asked about last."""

    def apply_hint(
        self, partition: TopicIdPartition, leader: LeaderIdAndEpoch, endpoints: Iterable[NodeEndpoint]
    ) -> bool:
        """Store the leader that a broker named in an error, and return whether the leader changed."""


@frozen
class ProducerCluster:
    """The producer's ways to learn about the cluster.

    Attributes:
        topics: What is known.
        refresh: Has the metadata fetched again soon.
        want: Has the metadata of topics fetched, now and regularly, in place of those of the last call.
        made_again: Receives topics that were deleted and made again, with their numbers of partitions now.
    """

    topics: ClusterTopics
    refresh: Callable[[], None]
    want: Callable[[Iterable[str]], None]
    made_again: Callable[[Mapping[str, int]], None]
