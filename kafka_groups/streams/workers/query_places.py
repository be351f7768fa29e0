"""The processes of a group that answer queries, as a worker knows them."""

from collections.abc import Mapping

from attrs import field, frozen

from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions

__all__ = ["QueryPlaces"]


@frozen
class QueryPlaces:
    """The processes of a group, and the sizes of topics.

    Attributes:
        endpoints: The source partitions of each `application.server` of the group.
        partition_counts: The numbers of partitions of topics; empty before the worker has had tasks.
    """

    endpoints: Mapping[UserEndpoint, EndpointPartitions] = field(factory=dict)
    partition_counts: Mapping[str, int] = field(factory=dict)
