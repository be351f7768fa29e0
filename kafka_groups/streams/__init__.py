"""Streams groups (KIP-1071): members, topologies and tasks. Each name is imported on first use."""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.protocol.messages.streams_group import UserEndpoint
    from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus, StreamsStatus
    from kafka_groups.streams.member.aio import AsyncStreamsGroupMember
    from kafka_groups.streams.member.member import StreamsGroupMember
    from kafka_groups.streams.member.rules.known_group import EndpointPartitions
    from kafka_groups.streams.member.rules.member_events import (
        GroupMembershipOperation,
        StatusesChanged,
        StreamsMembershipEvent,
        TasksAssigned,
        TasksLost,
        TasksRevoked,
    )
    from kafka_groups.streams.member.rules.states import MembershipState
    from kafka_groups.streams.member.rules.task_offsets import TaskPosition
    from kafka_groups.streams.member.rules.tasks import MemberTasks
    from kafka_groups.streams.member.rules.topology import ChangelogTopic, GroupTopology, RepartitionTopic, Subtopology
    from kafka_groups.streams.member.rules.topology_builder import GroupTopologyBuilder, TopologyError
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
    "AsyncStreamsGroupMember": "member.aio",
    "ChangelogTopic": "member.rules.topology",
    "EndpointPartitions": "member.rules.known_group",
    "GroupMembershipOperation": "member.rules.member_events",
    "MembershipState": "member.rules.states",
    "RepartitionTopic": "member.rules.topology",
    "StatusesChanged": "member.rules.member_events",
    "StreamsGroupHeartbeatStatus": ".protocol.messages.streams_group_heartbeat",
    "StreamsGroupMember": "member.member",
    "StreamsMembershipEvent": "member.rules.member_events",
    "StreamsStatus": ".protocol.messages.streams_group_heartbeat",
    "Subtopology": "member.rules.topology",
    "MemberTasks": "member.rules.tasks",
    "TaskId": ".types",
    "TaskPosition": "member.rules.task_offsets",
    "TasksAssigned": "member.rules.member_events",
    "TasksLost": "member.rules.member_events",
    "TasksRevoked": "member.rules.member_events",
    "GroupTopology": "member.rules.topology",
    "GroupTopologyBuilder": "member.rules.topology_builder",
    "TopologyError": "member.rules.topology_builder",
    "UserEndpoint": ".protocol.messages.streams_group",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
