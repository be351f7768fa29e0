"""Administration of groups: share and streams groups, their offsets and configurations, members of other groups.

Each name is imported on first use.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.admin.admin import KafkaAdmin
    from kafka_groups.admin.aio import AsyncKafkaAdmin
    from kafka_groups.admin.results import Results
    from kafka_groups.admin.streams_values import (
        ListedStreamsGroup,
        StreamsGroupDescription,
        StreamsGroupList,
        StreamsGroupMemberDescription,
        StreamsGroupOffset,
        StreamsGroupTasks,
        StreamsInternalTopic,
        StreamsSubtopologyDescription,
        StreamsTopologyDescription,
    )
    from kafka_groups.admin.values import (
        GroupConfigValue,
        ListedShareGroup,
        RemovedMember,
        ShareGroupDescription,
        ShareGroupList,
        ShareGroupMember,
        ShareOffset,
    )

__all__ = [
    "AsyncKafkaAdmin",
    "GroupConfigValue",
    "KafkaAdmin",
    "ListedShareGroup",
    "ListedStreamsGroup",
    "RemovedMember",
    "Results",
    "ShareGroupDescription",
    "ShareGroupList",
    "ShareGroupMember",
    "ShareOffset",
    "StreamsGroupDescription",
    "StreamsGroupList",
    "StreamsGroupMemberDescription",
    "StreamsGroupOffset",
    "StreamsGroupTasks",
    "StreamsInternalTopic",
    "StreamsSubtopologyDescription",
    "StreamsTopologyDescription",
]

_MODULES = MappingProxyType({
    "AsyncKafkaAdmin": "aio",
    "GroupConfigValue": "values",
    "KafkaAdmin": "admin",
    "ListedShareGroup": "values",
    "ListedStreamsGroup": "streams_values",
    "RemovedMember": "values",
    "Results": "results",
    "ShareGroupDescription": "values",
    "ShareGroupList": "values",
    "ShareGroupMember": "values",
    "ShareOffset": "values",
    "StreamsGroupDescription": "streams_values",
    "StreamsGroupList": "streams_values",
    "StreamsGroupMemberDescription": "streams_values",
    "StreamsGroupOffset": "streams_values",
    "StreamsGroupTasks": "streams_values",
    "StreamsInternalTopic": "streams_values",
    "StreamsSubtopologyDescription": "streams_values",
    "StreamsTopologyDescription": "streams_values",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
