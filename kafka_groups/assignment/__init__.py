"""Task assignors decide which member of a streams group runs which task (KIP-1071, KIP-1357).

Each name is imported on first use, so that a topology, which needs only the order of hash tables, loads no assignor.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.assignment.group.interface import (
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
    from kafka_groups.assignment.group.validation import check_assignment
    from kafka_groups.assignment.registry import BUILT_IN_ASSIGNORS, TaskAssignors

__all__ = [
    "BUILT_IN_ASSIGNORS",
    "DescribedSubtopology",
    "GroupAssignorConfigs",
    "GroupTaskAssignor",
    "MemberAssignment",
    "MemberAssignments",
    "OffsetsBySubtopology",
    "StickyGroupAssignor",
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
    "GroupAssignorConfigs": "group.interface",
    "DescribedSubtopology": "group.interface",
    "MemberAssignments": "group.interface",
    "GroupTaskAssignor": "group.interface",
    "MemberAssignment": "group.interface",
    "OffsetsBySubtopology": "group.interface",
    "StickyGroupAssignor": "group.sticky",
    "StreamsGroupSpec": "group.interface",
    "StreamsMemberSpec": "group.interface",
    "TaskAssignorError": "group.interface",
    "TaskAssignors": "registry",
    "TasksBySubtopology": "group.interface",
    "TopologyDescriber": "group.interface",
    "check_assignment": "group.validation",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
