"""Task assignors decide which member of a streams group runs which task (KIP-1071, KIP-1357)."""

from kafka_groups.assignment.interface import (
    AssignmentConfigs,
    DescribedSubtopology,
    GroupAssignment,
    GroupTaskAssignor,
    MemberAssignment,
    OffsetsBySubtopology,
    StreamsGroupSpec,
    StreamsMemberSpec,
    TaskAssignorError,
    TasksBySubtopology,
    TopologyDescriber,
)
from kafka_groups.assignment.registry import BUILT_IN_ASSIGNORS, TaskAssignors
from kafka_groups.assignment.sticky import StickyTaskAssignor
from kafka_groups.assignment.validation import check_assignment

__all__ = [
    "BUILT_IN_ASSIGNORS",
    "AssignmentConfigs",
    "DescribedSubtopology",
    "GroupAssignment",
    "GroupTaskAssignor",
    "MemberAssignment",
    "OffsetsBySubtopology",
    "StickyTaskAssignor",
    "StreamsGroupSpec",
    "StreamsMemberSpec",
    "TaskAssignorError",
    "TaskAssignors",
    "TasksBySubtopology",
    "TopologyDescriber",
    "check_assignment",
]
