"""Task assignors decide which member of a streams group runs which task.

There are two interfaces: assignors that assign tasks to the processes of an application (KIP-924), and assignors that
assign them to the members of a group (KIP-1071, KIP-1357).

Each name is imported on first use, so that a topology, which needs only the order of hash tables, loads no assignor.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.assignment.application.assignments import (
        AssignedTask,
        AssignedTaskType,
        KafkaStreamsAssignment,
        TaskAssignment,
    )
    from kafka_groups.assignment.application.building_blocks import default_standby_task_assignment, identity_assignment
    from kafka_groups.assignment.application.built_in import (
        FallbackPriorTaskAssignor,
        HighAvailabilityTaskAssignor,
        LegacyStickyTaskAssignor,
        StickyTaskAssignor,
    )
    from kafka_groups.assignment.application.configs import AssignmentConfigs, RackAwareStrategy
    from kafka_groups.assignment.application.process_ids import ProcessId
    from kafka_groups.assignment.application.rack_aware import (
        RackAwareOptimizationParams,
        optimize_rack_aware_active_tasks,
        optimize_rack_aware_standby_tasks,
    )
    from kafka_groups.assignment.application.registered import Registered
    from kafka_groups.assignment.application.states import ACTIVE_LAG, UNKNOWN_LAG, ApplicationState, KafkaStreamsState
    from kafka_groups.assignment.application.task_assignment_validation import validate_task_assignment
    from kafka_groups.assignment.application.task_assignor import (
        AssignedMember,
        AssignmentError,
        GroupAssignment,
        GroupSubscription,
        MemberSubscription,
        TaskAssignmentError,
        TaskAssignor,
    )
    from kafka_groups.assignment.application.tasks import TaskInfo, TaskTopicPartition
    from kafka_groups.assignment.group.group_assignment_validation import check_assignment
    from kafka_groups.assignment.group.group_assignor import (
        DescribedSubtopology,
        GroupAssignorConfigs,
        GroupTaskAssignor,
        MemberAssignment,
        MemberAssignments,
        OffsetsBySubtopology,
        StreamsGroupSpec,
        StreamsMemberSpec,
        TaskAssignorError,
        TasksBySubtopology,
        TopologyDescriber,
    )
    from kafka_groups.assignment.group.sticky import StickyGroupAssignor
    from kafka_groups.assignment.registry import BUILT_IN_ASSIGNORS, OfferedAssignor, TaskAssignors

__all__ = [
    "ACTIVE_LAG",
    "BUILT_IN_ASSIGNORS",
    "UNKNOWN_LAG",
    "ApplicationState",
    "AssignedMember",
    "AssignedTask",
    "AssignedTaskType",
    "AssignmentConfigs",
    "AssignmentError",
    "DescribedSubtopology",
    "FallbackPriorTaskAssignor",
    "GroupAssignment",
    "GroupAssignorConfigs",
    "GroupSubscription",
    "GroupTaskAssignor",
    "HighAvailabilityTaskAssignor",
    "KafkaStreamsAssignment",
    "KafkaStreamsState",
    "LegacyStickyTaskAssignor",
    "MemberAssignment",
    "MemberAssignments",
    "MemberSubscription",
    "OfferedAssignor",
    "OffsetsBySubtopology",
    "ProcessId",
    "RackAwareOptimizationParams",
    "RackAwareStrategy",
    "Registered",
    "StickyGroupAssignor",
    "StickyTaskAssignor",
    "StreamsGroupSpec",
    "StreamsMemberSpec",
    "TaskAssignment",
    "TaskAssignmentError",
    "TaskAssignor",
    "TaskAssignorError",
    "TaskAssignors",
    "TaskInfo",
    "TaskTopicPartition",
    "TasksBySubtopology",
    "TopologyDescriber",
    "check_assignment",
    "default_standby_task_assignment",
    "identity_assignment",
    "optimize_rack_aware_active_tasks",
    "optimize_rack_aware_standby_tasks",
    "validate_task_assignment",
]

_MODULES = MappingProxyType({
    "ACTIVE_LAG": "application.states",
    "ApplicationState": "application.states",
    "AssignedMember": "application.task_assignor",
    "AssignedTask": "application.assignments",
    "AssignedTaskType": "application.assignments",
    "AssignmentConfigs": "application.configs",
    "AssignmentError": "application.task_assignor",
    "BUILT_IN_ASSIGNORS": "registry",
    "DescribedSubtopology": "group.group_assignor",
    "GroupAssignment": "application.task_assignor",
    "GroupAssignorConfigs": "group.group_assignor",
    "GroupSubscription": "application.task_assignor",
    "GroupTaskAssignor": "group.group_assignor",
    "HighAvailabilityTaskAssignor": "application.built_in",
    "StickyTaskAssignor": "application.built_in",
    "LegacyStickyTaskAssignor": "application.built_in",
    "FallbackPriorTaskAssignor": "application.built_in",
    "KafkaStreamsAssignment": "application.assignments",
    "KafkaStreamsState": "application.states",
    "MemberAssignment": "group.group_assignor",
    "MemberAssignments": "group.group_assignor",
    "MemberSubscription": "application.task_assignor",
    "OfferedAssignor": "registry",
    "OffsetsBySubtopology": "group.group_assignor",
    "ProcessId": "application.process_ids",
    "RackAwareOptimizationParams": "application.rack_aware",
    "RackAwareStrategy": "application.configs",
    "Registered": "application.registered",
    "StickyGroupAssignor": "group.sticky",
    "StreamsGroupSpec": "group.group_assignor",
    "StreamsMemberSpec": "group.group_assignor",
    "TaskAssignment": "application.assignments",
    "TaskAssignmentError": "application.task_assignor",
    "TaskAssignor": "application.task_assignor",
    "TaskAssignorError": "group.group_assignor",
    "TaskAssignors": "registry",
    "TaskInfo": "application.tasks",
    "TaskTopicPartition": "application.tasks",
    "TasksBySubtopology": "group.group_assignor",
    "TopologyDescriber": "group.group_assignor",
    "UNKNOWN_LAG": "application.states",
    "check_assignment": "group.group_assignment_validation",
    "default_standby_task_assignment": "application.building_blocks",
    "identity_assignment": "application.building_blocks",
    "optimize_rack_aware_active_tasks": "application.rack_aware",
    "optimize_rack_aware_standby_tasks": "application.rack_aware",
    "validate_task_assignment": "application.task_assignment_validation",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
