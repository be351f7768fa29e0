"""StreamsGroupDescribe (key 89), v0-v1: returns state, topology, members and tasks of streams groups (KIP-1071)."""

import enum

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.authorized_operations import NOT_ASKED
from kafka_groups.protocol.messages.streams_group_parts import (
    KeyValue,
    StreamsTopicInfo,
    TaskIds,
    TaskOffset,
    UserEndpoint,
)
from kafka_groups.protocol.messages.topology_description import DescribedTopology


class TopologyDescriptionStatus(enum.IntEnum):
    """The reason why a response has the description of a topology, or lacks it (KIP-1331)."""

    NOT_REQUESTED = 0
    NOT_STORED = 1
    ERROR = 2
    AVAILABLE = 3


@frozen(kw_only=True)
class StreamsGroupDescribeRequest:
    """Ids of groups that share a coordinator."""

    group_ids: tuple[str, ...] = ()
    include_authorized_operations: bool = False
    include_topology_description: bool = False  # v1+


@frozen(kw_only=True)
class StreamsGroupDescribeSubtopology:
    """A sub-topology, with the numbers of partitions that its topics have or will have."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    state_changelog_topics: tuple[StreamsTopicInfo, ...] = ()
    repartition_source_topics: tuple[StreamsTopicInfo, ...] = ()


@frozen(kw_only=True)
class StreamsGroupDescribeTopology:
    """The group's topology. The sub-topologies are None while it cannot work with the existing topics."""

    epoch: int
    subtopologies: tuple[StreamsGroupDescribeSubtopology, ...] | None = None


@frozen(kw_only=True)
class StreamsGroupDescribeAssignment:
    """The tasks that a member has, or will have."""

    active_tasks: tuple[TaskIds, ...] = ()
    standby_tasks: tuple[TaskIds, ...] = ()
    warmup_tasks: tuple[TaskIds, ...] = ()


@frozen(kw_only=True)
class StreamsGroupDescribeResponseMember:
    """One member. Ids and endpoint are None if the member did not send them."""

    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: UserEndpoint | None = None
    client_tags: tuple[KeyValue, ...] = ()
    task_offsets: tuple[TaskOffset, ...] = ()
    task_end_offsets: tuple[TaskOffset, ...] = ()
    assignment: StreamsGroupDescribeAssignment
    target_assignment: StreamsGroupDescribeAssignment
    is_classic: bool = False


@frozen(kw_only=True)
class StreamsGroupDescribeResponseGroup:
    """One group. Its state is an empty string if there is an error.

    `assignment_epoch` is older than `group_epoch` until the assignor has run.
    """

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_id: str
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    topology: StreamsGroupDescribeTopology | None = None
    members: tuple[StreamsGroupDescribeResponseMember, ...] = ()
    authorized_operations: int = NOT_ASKED
    topology_description: DescribedTopology | None = None  # v1+
    topology_description_status: int = TopologyDescriptionStatus.NOT_REQUESTED  # v1+
    assignor_name: str | None = None  # v1+


@frozen(kw_only=True)
class StreamsGroupDescribeResponse:
    """One result for each group of the request. An unknown group gets GROUP_ID_NOT_FOUND."""

    throttle_time_ms: int = 0
    groups: tuple[StreamsGroupDescribeResponseGroup, ...] = ()
