"""Task assignors decide which member of a streams group runs which task (KIP-1071, KIP-1357).

Each name is imported on first use, so that a topology, which needs only the order of hash tables, loads no assignor.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
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

_MODULES = MappingProxyType({
    "BUILT_IN_ASSIGNORS": "registry",
    "AssignmentConfigs": "interface",
    "DescribedSubtopology": "interface",
    "GroupAssignment": "interface",
    "GroupTaskAssignor": "interface",
    "MemberAssignment": "interface",
    "OffsetsBySubtopology": "interface",
    "StickyTaskAssignor": "sticky",
    "StreamsGroupSpec": "interface",
    "StreamsMemberSpec": "interface",
    "TaskAssignorError": "interface",
    "TaskAssignors": "registry",
    "TasksBySubtopology": "interface",
    "TopologyDescriber": "interface",
    "check_assignment": "validation",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
