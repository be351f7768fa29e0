"""Effects of streams groups: internal topics that the broker must create, and assignments that take their time."""

from attrs import frozen

from kafka_groups.assignment import Registered
from kafka_groups.assignment.application.neutral import ApplicationInput
from kafka_groups.broker.coordinators.result import Effect
from kafka_groups.protocol.messages.streams_group_parts import StreamsTopicInfo

__all__ = ["ComputeAssignment", "CreateInternalTopics"]


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


@frozen
class ComputeAssignment(Effect):
    """An assignor of applications must run (KIP-924). The coordinator does not wait: it receives the result later.

    It follows from the group epoch, so it need not survive a move.

    Attributes:
        group_id: The group.
        epoch: The group epoch that the assignment is for.
        assignor: The assignor.
        given: The assignor's input.
    """

    group_id: str
    epoch: int
    assignor: Registered
    given: ApplicationInput
