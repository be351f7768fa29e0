"""Streams groups (KIP-1071): members, topologies and tasks. Each name is imported on first use."""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.protocol.messages.streams_group import UserEndpoint
    from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus, StreamsStatus
    from kafka_groups.streams.aio import AsyncStreamsGroupMember
    from kafka_groups.streams.endpoints import EndpointPartitions
    from kafka_groups.streams.member import StreamsGroupMember
    from kafka_groups.streams.member_events import (
        GroupMembershipOperation,
        StatusesChanged,
        StreamsMembershipEvent,
        TasksAssigned,
        TasksLost,
        TasksRevoked,
    )
    from kafka_groups.streams.states import MembershipState
    from kafka_groups.streams.task_offsets import TaskPosition
    from kafka_groups.streams.tasks import MemberTasks
    from kafka_groups.streams.topology import ChangelogTopic, GroupTopology, RepartitionTopic, Subtopology
    from kafka_groups.streams.topology_builder import GroupTopologyBuilder, TopologyError
    from kafka_groups.types import TaskId

__all__ = [
    "AsyncStreamsGroupMember",
    "ChangelogTopic",
    "EndpointPartitions",
    "GroupMembershipOperation",
    "GroupTopology",
    "GroupTopologyBuilder",
    "MemberTasks",
    "MembershipState",
    "RepartitionTopic",
    "StatusesChanged",
    "StreamsGroupHeartbeatStatus",
    "StreamsGroupMember",
    "StreamsMembershipEvent",
    "StreamsStatus",
    "Subtopology",
    "TaskId",
    "TaskPosition",
    "TasksAssigned",
    "TasksLost",
    "TasksRevoked",
    "TopologyError",
    "UserEndpoint",
]

_MODULES = MappingProxyType({
    "AsyncStreamsGroupMember": "aio",
    "ChangelogTopic": "topology",
    "EndpointPartitions": "endpoints",
    "GroupMembershipOperation": "member_events",
    "MembershipState": "states",
    "RepartitionTopic": "topology",
    "StatusesChanged": "member_events",
    "StreamsGroupHeartbeatStatus": ".protocol.messages.streams_group_heartbeat",
    "StreamsGroupMember": "member",
    "StreamsMembershipEvent": "member_events",
    "StreamsStatus": ".protocol.messages.streams_group_heartbeat",
    "Subtopology": "topology",
    "MemberTasks": "tasks",
    "TaskId": ".types",
    "TaskPosition": "task_offsets",
    "TasksAssigned": "member_events",
    "TasksLost": "member_events",
    "TasksRevoked": "member_events",
    "GroupTopology": "topology",
    "GroupTopologyBuilder": "topology_builder",
    "TopologyError": "topology_builder",
    "UserEndpoint": ".protocol.messages.streams_group",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
