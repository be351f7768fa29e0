"""Topologies of streams and tables, and members of streams groups (KIP-1071). Each name is imported on first use."""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups import serdes
    from kafka_groups.admin.rules.group_topology.group_topology import (
        ChangelogTopic,
        GroupTopology,
        RepartitionTopic,
        Subtopology,
    )
    from kafka_groups.admin.rules.group_topology.topology_builder import GroupTopologyBuilder, TopologyError
    from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatStatus, StreamsStatus
    from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
    from kafka_groups.serdes import Window, Windowed
    from kafka_groups.streams.aio import AsyncKafkaStreams
    from kafka_groups.streams.app import KafkaStreams
    from kafka_groups.streams.dsl.branched import BranchedKStream
    from kafka_groups.streams.dsl.builder import StreamsBuilder
    from kafka_groups.streams.dsl.cogrouped import CogroupedKStream
    from kafka_groups.streams.dsl.global_table import GlobalKTable
    from kafka_groups.streams.dsl.grouped import KGroupedStream
    from kafka_groups.streams.dsl.grouped_table import KGroupedTable
    from kafka_groups.streams.dsl.optimization import Optimization
    from kafka_groups.streams.dsl.session_windowed import SessionWindowedKStream
    from kafka_groups.streams.dsl.stream import KStream
    from kafka_groups.streams.dsl.suppression import Suppressed
    from kafka_groups.streams.dsl.table import KTable
    from kafka_groups.streams.dsl.windowed import TimeWindowedKStream
    from kafka_groups.streams.dsl.windowed_cogrouped import (
        SessionWindowedCogroupedKStream,
        TimeWindowedCogroupedKStream,
    )
    from kafka_groups.streams.dsl.windows import (
        EmitStrategy,
        JoinWindows,
        SessionWindows,
        SlidingWindows,
        TimeWindows,
        UnlimitedWindows,
    )
    from kafka_groups.streams.errors import (
        InvalidStateStoreError,
        StateStoreMigratedError,
        StoreNotAvailableError,
        StreamsError,
        StreamsNotStartedError,
        UnknownStateStoreError,
    )
    from kafka_groups.streams.member.aio import AsyncStreamsGroupMember
    from kafka_groups.streams.member.member import StreamsGroupMember
    from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
    from kafka_groups.streams.member.rules.member_events import (
        GroupMembershipOperation,
        StatusesChanged,
        StreamsMembershipEvent,
        TasksAssigned,
        TasksLost,
        TasksRevoked,
    )
    from kafka_groups.streams.member.rules.member_tasks import MemberTasks
    from kafka_groups.streams.member.rules.states import MembershipState
    from kafka_groups.streams.member.rules.task_position import TaskPosition
    from kafka_groups.streams.processors import extractors
    from kafka_groups.streams.queries.placement import KeyQueryMetadata, StreamsMetadata
    from kafka_groups.streams.runtime.restore_listeners import (
        StandbyUpdateListener,
        StateRestoreListener,
        SuspendReason,
    )
    from kafka_groups.streams.serving.server import StateServer
    from kafka_groups.streams.state import stores
    from kafka_groups.streams.state.key_value import KeyValueStore, TimestampedKeyValueStore, ValueAndTimestamp
    from kafka_groups.streams.state.position import Position
    from kafka_groups.streams.state.session_stores import SessionStore
    from kafka_groups.streams.state.versioned_stores import (
        NOT_PUT,
        VALID_TO_UNDEFINED,
        VersionedKeyValueStore,
        VersionedRecord,
    )
    from kafka_groups.streams.state.window_stores import WindowStore
    from kafka_groups.streams.tasks.error_context import ErrorContext, ErrorResponse, UncaughtErrorResponse
    from kafka_groups.streams.topology.context import Cancellable, Processor, ProcessorContext, PunctuationType
    from kafka_groups.streams.topology.fixed_keys import FixedKeyProcessor, FixedKeyProcessorContext, FixedKeyRecord
    from kafka_groups.streams.topology.records import Record, RecordMetadata, SourceRecord
    from kafka_groups.streams.topology.topology import Topology
    from kafka_groups.streams.workers.application_metrics import StreamsMetric
    from kafka_groups.streams.workers.application_state import StreamsState
    from kafka_groups.types import TaskId

__all__ = [
    "NOT_PUT",
    "VALID_TO_UNDEFINED",
    "AsyncKafkaStreams",
    "AsyncStreamsGroupMember",
    "BranchedKStream",
    "Cancellable",
    "ChangelogTopic",
    "CogroupedKStream",
    "EmitStrategy",
    "EndpointPartitions",
    "ErrorContext",
    "ErrorResponse",
    "FixedKeyProcessor",
    "FixedKeyProcessorContext",
    "FixedKeyRecord",
    "GlobalKTable",
    "GroupMembershipOperation",
    "GroupTopology",
    "GroupTopologyBuilder",
    "InvalidStateStoreError",
    "JoinWindows",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KafkaStreams",
    "KeyQueryMetadata",
    "KeyValueStore",
    "MemberTasks",
    "MembershipState",
    "Optimization",
    "Position",
    "Processor",
    "ProcessorContext",
    "PunctuationType",
    "Record",
    "RecordMetadata",
    "RepartitionTopic",
    "SessionStore",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "SessionWindows",
    "SlidingWindows",
    "SourceRecord",
    "StandbyUpdateListener",
    "StateRestoreListener",
    "StateServer",
    "StateStoreMigratedError",
    "StatusesChanged",
    "StoreNotAvailableError",
    "StreamsBuilder",
    "StreamsError",
    "StreamsGroupHeartbeatStatus",
    "StreamsGroupMember",
    "StreamsMembershipEvent",
    "StreamsMetadata",
    "StreamsMetric",
    "StreamsNotStartedError",
    "StreamsState",
    "StreamsStatus",
    "Subtopology",
    "Suppressed",
    "SuspendReason",
    "TaskId",
    "TaskPosition",
    "TasksAssigned",
    "TasksLost",
    "TasksRevoked",
    "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream",
    "TimeWindows",
    "TimestampedKeyValueStore",
    "Topology",
    "TopologyError",
    "UncaughtErrorResponse",
    "UnknownStateStoreError",
    "UnlimitedWindows",
    "UserEndpoint",
    "ValueAndTimestamp",
    "VersionedKeyValueStore",
    "VersionedRecord",
    "Window",
    "WindowStore",
    "Windowed",
    "extractors",
    "serdes",
    "stores",
]

_MODULES = MappingProxyType({
    "NOT_PUT": "state.versioned_stores",
    "VALID_TO_UNDEFINED": "state.versioned_stores",
    "AsyncKafkaStreams": "aio",
    "AsyncStreamsGroupMember": "member.aio",
    "BranchedKStream": "dsl.branched",
    "Cancellable": "topology.context",
    "ChangelogTopic": ".admin.rules.group_topology.group_topology",
    "CogroupedKStream": "dsl.cogrouped",
    "EmitStrategy": "dsl.windows",
    "EndpointPartitions": "member.rules.endpoints",
    "ErrorContext": "tasks.error_context",
    "ErrorResponse": "tasks.error_context",
    "FixedKeyProcessor": "topology.fixed_keys",
    "FixedKeyProcessorContext": "topology.fixed_keys",
    "FixedKeyRecord": "topology.fixed_keys",
    "GlobalKTable": "dsl.global_table",
    "GroupMembershipOperation": "member.rules.member_events",
    "GroupTopology": ".admin.rules.group_topology.group_topology",
    "GroupTopologyBuilder": ".admin.rules.group_topology.topology_builder",
    "InvalidStateStoreError": "errors",
    "JoinWindows": "dsl.windows",
    "KGroupedStream": "dsl.grouped",
    "KGroupedTable": "dsl.grouped_table",
    "KStream": "dsl.stream",
    "KTable": "dsl.table",
    "KafkaStreams": "app",
    "KeyQueryMetadata": "queries.placement",
    "KeyValueStore": "state.key_value",
    "MemberTasks": "member.rules.member_tasks",
    "MembershipState": "member.rules.states",
    "Optimization": "dsl.optimization",
    "Position": "state.position",
    "Processor": "topology.context",
    "ProcessorContext": "topology.context",
    "PunctuationType": "topology.context",
    "Record": "topology.records",
    "RecordMetadata": "topology.records",
    "RepartitionTopic": ".admin.rules.group_topology.group_topology",
    "SessionStore": "state.session_stores",
    "SessionWindowedCogroupedKStream": "dsl.windowed_cogrouped",
    "SessionWindowedKStream": "dsl.session_windowed",
    "SessionWindows": "dsl.windows",
    "SlidingWindows": "dsl.windows",
    "SourceRecord": "topology.records",
    "StandbyUpdateListener": "runtime.restore_listeners",
    "StateRestoreListener": "runtime.restore_listeners",
    "StateServer": "serving.server",
    "StateStoreMigratedError": "errors",
    "StatusesChanged": "member.rules.member_events",
    "StoreNotAvailableError": "errors",
    "StreamsBuilder": "dsl.builder",
    "StreamsError": "errors",
    "StreamsGroupHeartbeatStatus": ".protocol.messages.streams_group_heartbeat",
    "StreamsGroupMember": "member.member",
    "StreamsMembershipEvent": "member.rules.member_events",
    "StreamsMetric": "workers.application_metrics",
    "StreamsMetadata": "queries.placement",
    "StreamsNotStartedError": "errors",
    "StreamsState": "workers.application_state",
    "StreamsStatus": ".protocol.messages.streams_group_heartbeat",
    "Subtopology": ".admin.rules.group_topology.group_topology",
    "Suppressed": "dsl.suppression",
    "SuspendReason": "runtime.restore_listeners",
    "TaskId": ".types",
    "TaskPosition": "member.rules.task_position",
    "TasksAssigned": "member.rules.member_events",
    "TasksLost": "member.rules.member_events",
    "TasksRevoked": "member.rules.member_events",
    "TimeWindowedCogroupedKStream": "dsl.windowed_cogrouped",
    "TimeWindowedKStream": "dsl.windowed",
    "TimeWindows": "dsl.windows",
    "TimestampedKeyValueStore": "state.key_value",
    "Topology": "topology.topology",
    "TopologyError": ".admin.rules.group_topology.topology_builder",
    "UncaughtErrorResponse": "tasks.error_context",
    "UnknownStateStoreError": "errors",
    "UnlimitedWindows": "dsl.windows",
    "UserEndpoint": ".protocol.messages.streams_group_parts",
    "ValueAndTimestamp": "state.key_value",
    "VersionedKeyValueStore": "state.versioned_stores",
    "VersionedRecord": "state.versioned_stores",
    "Window": ".serdes",
    "WindowStore": "state.window_stores",
    "Windowed": ".serdes",
    "extractors": "processors.extractors:",
    "serdes": ".serdes:",
    "stores": "state.stores:",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
