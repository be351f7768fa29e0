"""State of a streams group that is not in its records. It is lost when the coordinator moves."""

from attrs import define, field, frozen

from kafka_groups.broker.coordinators.groups.streams.computation import AssignmentComputation
from kafka_groups.broker.coordinators.groups.streams.records import StreamsGroupEpoch
from kafka_groups.broker.coordinators.groups.streams.tasks import TaskOffsets
from kafka_groups.broker.coordinators.groups.streams.topologies.configured_topology import (
    ConfiguredTopology,
    configured,
)
from kafka_groups.broker.coordinators.groups.streams.topologies.topology import StreamsTopology
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage
from kafka_groups.config.cluster.streams_group import StreamsGroupConfig

__all__ = ["ReportedOffsets", "StreamsSoftState"]


@frozen
class ReportedOffsets:
    """The offsets that a member has reported of its tasks, dormant ones included, and the ends of their changelogs."""

    offsets: TaskOffsets = field(factory=dict)
    ends: TaskOffsets = field(factory=dict)


@define
class StreamsSoftState:
    """Soft state of one group.

    Attributes:
        configured: The topology as last resolved against the topics of the cluster.
        endpoints_epoch: How often endpoints, or what can be asked there, have changed.
        shutdown_member: The member that asked all members to shut down, until the group is empty.
        reported: Offsets of tasks by member.
        computation: The computation of an assignment that takes its time.
        has_told_of_lags: Whether it is in the log that no member reports offsets of tasks.
        looked_at: The version of the topics, the group's record and its configuration at the last look at whether the
            group epoch has to increase.
    """

    configured: ConfiguredTopology | None = None
    endpoints_epoch: int = 0
    shutdown_member: str | None = None
    reported: dict[str, ReportedOffsets] = field(factory=dict)
    computation: AssignmentComputation = field(factory=AssignmentComputation)
    has_told_of_lags: bool = False
    looked_at: tuple[int, StreamsGroupEpoch, StreamsGroupConfig] | None = None
    _seen: tuple[int, StreamsTopology] | None = None

    def configure(self, topology: StreamsTopology, topics: TopicsImage) -> ConfiguredTopology:
        """Return what the topology becomes with the topics of the cluster. Nothing is computed if nothing changed.

        Raises:
            StreamsInvalidTopologyError: The numbers of partitions cannot be derived.
        """
        # Kafka resolves the topology again if the hash of its topics has changed (StreamsGroup.metadataHash). The
        # version of the image changes more often, but comparing it costs nothing with each heartbeat.
        now = (topics.version, topology)
        if self.configured is None or self._seen != now:
            self.configured, self._seen = configured(topology, topics), now
        return self.configured

    def forget(self, member_id: str) -> None:
        """Forget what a member has reported."""
        self.reported.pop(member_id, None)
