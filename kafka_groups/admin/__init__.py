"""Administration of groups: share groups, their offsets and configurations, and members of other groups (KIP-345).

Each name is imported on first use.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.admin.admin import KafkaAdmin
    from kafka_groups.admin.aio import AsyncKafkaAdmin
    from kafka_groups.admin.results import Results
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
    "RemovedMember",
    "Results",
    "ShareGroupDescription",
    "ShareGroupList",
    "ShareGroupMember",
    "ShareOffset",
]

_MODULES = MappingProxyType({
    "AsyncKafkaAdmin": "aio",
    "GroupConfigValue": "values",
    "KafkaAdmin": "admin",
    "ListedShareGroup": "values",
    "RemovedMember": "values",
    "Results": "results",
    "ShareGroupDescription": "values",
    "ShareGroupList": "values",
    "ShareGroupMember": "values",
    "ShareOffset": "values",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
