"""The test kit for task assignors (KIP-924): `AssignorTest`, and strategies for hypothesis.

Each name is imported on first use, so that only the strategies need hypothesis.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.testing.assignors.assignor_harness import AssignorTest
    from kafka_groups.testing.assignors.failure import AssignorTestError, check_task_assignment
    from kafka_groups.testing.assignors.results import AssignorStatistics, ProcessTasks, RebalanceResult
    from kafka_groups.testing.assignors.rules import AssignorMistake, AssignorRule
    from kafka_groups.testing.assignors.story import AssignorStory, StoryStep
    from kafka_groups.testing.assignors.strategies import application_states, assignor_stories

__all__ = [
    "AssignorMistake",
    "AssignorRule",
    "AssignorStatistics",
    "AssignorStory",
    "AssignorTest",
    "AssignorTestError",
    "ProcessTasks",
    "RebalanceResult",
    "StoryStep",
    "application_states",
    "assignor_stories",
    "check_task_assignment",
]

_MODULES = MappingProxyType({
    "AssignorMistake": "rules",
    "AssignorRule": "rules",
    "AssignorStatistics": "results",
    "AssignorStory": "story",
    "AssignorTest": "assignor_harness",
    "AssignorTestError": "failure",
    "ProcessTasks": "results",
    "RebalanceResult": "results",
    "StoryStep": "story",
    "application_states": "strategies",
    "assignor_stories": "strategies",
    "check_task_assignment": "failure",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
