"""Effects of streams groups: internal topics that the broker must create."""

from attrs import frozen

from kafka_groups.broker.coordinators.result import Effect
from kafka_groups.protocol.messages.streams_group import StreamsTopicInfo

__all__ = ["CreateInternalTopics"]


@frozen
class CreateInternalTopics(Effect):
    """The internal topics of a group's topology have to be created.

    It follows from each heartbeat of a group whose internal topics are missing, so it need not survive a move.

    Attributes:
        group_id: The group.
        topics: The topics with their numbers of partitions, replication factors and configs.
        heartbeat_interval_ms: The interval between heartbeats of the group's members.
    """

    group_id: str
    topics: tuple[StreamsTopicInfo, ...]
    heartbeat_interval_ms: int
