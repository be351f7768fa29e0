"""The assignment that a member of a classic group gets from its leader."""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import frozen

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.errors import MemberDataError
from kafka_groups.errors.texts import sentences
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.member.rules.member_events import TaskInputs
from kafka_groups.streams.member.rules.member_tasks import MemberTasks

__all__ = ["AssignmentCode", "ClassicAssignment"]


class AssignmentCode(enum.IntEnum):
    """The errors of an assignment (AssignorError in Kafka Streams)."""

    NONE = 0
    INCOMPLETE_SOURCE_TOPIC_METADATA = 1
    VERSION_PROBING = 2
    ASSIGNMENT_ERROR = 3
    SHUTDOWN_REQUESTED = 4


@frozen
class ClassicAssignment:
    """An assignment as the member uses it.

    Attributes:
        info: What the leader has sent.
        tasks: The tasks.
        inputs: The input partitions of each active task.
    """

    info: AssignmentInfo
    tasks: MemberTasks
    inputs: TaskInputs

    @classmethod
    def decode(
        cls, data: bytes, topology_with: Callable[[Iterable[str]], GroupTopology], leader: str
    ) -> "ClassicAssignment":
        """Read an assignment.

        Args:
            data: The bytes.
            topology_with: Returns the member's topology, with those of some topics that its patterns match.
            leader: The leader of the group, for errors.

        Raises:
            StreamsError: There is no user data, or it cannot be read, or does not fit the partitions or the topology.
            TopologyError: Two sources of the topology read one of the topics.
        """
        try:
            assignment = ConsumerProtocolAssignment.decode(data)
            info = decode_assignment(assignment.user_data)
            inputs = info.inputs(assignment.assigned_partitions)
        except MemberDataError as error:
            # Also without any user data. Nothing in it says that there are no tasks, so it is no empty assignment: the
            # leader is not a Kafka Streams application.
            raise StreamsError(
                sentences(
                    f"The leader of the group, {leader}, has sent an assignment that cannot be read",
                    str(error),
                    "Members of one group must all run the same application",
                )
            ) from error
        tasks = MemberTasks(active=inputs, standby=(task for task, _ in info.standby_tasks))
        # Other members may have found topics that match a pattern before this one.
        topics = {partition.topic for its in inputs.values() for partition in its}
        _check_known(tasks, inputs, topology_with(topics), leader)
        return cls(info, tasks, inputs)

    @property
    def endpoints(self) -> Mapping[UserEndpoint, EndpointPartitions]:
        """The partitions of each `application.server`. They show the target: a task may still be on its way."""
        return endpoints_of(self.info.host_maps)


def _check_known(tasks: MemberTasks, inputs: TaskInputs, topology: GroupTopology, leader: str) -> None:
    read = {each.subtopology_id: each.read_topics for each in topology.subtopologies}
    unknown = [f"the task {task}" for task in sorted(tasks.ids) if task.subtopology_id not in read]
    unknown += [
        f"the partition {partition} for task {task}"
        for task in sorted(inputs)
        for partition in sorted(inputs[task])
        if partition.topic not in read.get(task.subtopology_id, ())
    ]
    if unknown:
        raise StreamsError(
            f"The leader of the group, {leader}, has assigned {unknown[0]}, which the topology of this application does"
            " not have. All members of the group must run the same topology: stop those that run another one, or give"
            " one of the applications another application.id."
        )


def endpoints_of(host_maps: HostMaps) -> Mapping[UserEndpoint, EndpointPartitions]:
    """Return the partitions by endpoint. A process may be listed more than once."""
    found: dict[UserEndpoint, EndpointPartitions] = {}
    for endpoint, its in _listed(host_maps):
        found[endpoint] = found.get(endpoint, EndpointPartitions()) | its
    return found


def _listed(host_maps: HostMaps) -> Iterator[tuple[UserEndpoint, EndpointPartitions]]:
    for (host, port), partitions in host_maps.active:
        yield UserEndpoint(host=host, port=port), EndpointPartitions(active=frozenset(partitions))
    for (host, port), partitions in host_maps.standby:
        yield UserEndpoint(host=host, port=port), EndpointPartitions(standby=frozenset(partitions))
