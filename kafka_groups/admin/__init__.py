"""Administration of groups, their offsets, configurations and members, of topics and brokers, and of transactions.

Each name is imported on first use.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from kafka_groups.lazy_exports import import_on_first_use

if TYPE_CHECKING:
    from kafka_groups.acls import (
        AclBinding,
        AclFilter,
        AclOperation,
        AclPatternType,
        AclPermission,
        AclResourceType,
    )
    from kafka_groups.admin.admin import KafkaAdmin
    from kafka_groups.admin.aio import AsyncKafkaAdmin
    from kafka_groups.admin.rules.classic_streams.classic_values import (
        ClassicStreamsGroupDescription,
        ClassicStreamsGroupMember,
    )
    from kafka_groups.admin.rules.config_values import ConfigResource, ConfigSynonym, DescribedConfig
    from kafka_groups.admin.rules.group_values import (
        ClassicGroupDescription,
        ClassicGroupMember,
        ConsumerGroupDescription,
        ConsumerGroupMember,
        ConsumerGroupOffset,
        GroupDescription,
        GroupList,
        GroupListing,
    )
    from kafka_groups.admin.rules.plans.plan_values import (
        CopyBasis,
        PlannedLoad,
        PlannedMove,
        PlannedThread,
        RackTraffic,
        StreamsPlan,
        TaskCounts,
        TaskPlace,
    )
    from kafka_groups.admin.rules.plans.what_if import PlannedProcess
    from kafka_groups.admin.rules.returned_values import (
        GroupConfigValue,
        ListedShareGroup,
        RemovedMember,
        ShareGroupDescription,
        ShareGroupList,
        ShareGroupMember,
        ShareOffset,
    )
    from kafka_groups.admin.rules.streams_values import (
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
    from kafka_groups.admin.rules.topic_values import (
        BrokerDescription,
        ClusterDescription,
        PartitionDescription,
        TopicDescription,
        TopicListing,
    )
    from kafka_groups.admin.rules.topics import TopicToCreate
    from kafka_groups.admin.rules.transaction_values import (
        FencedProducer,
        PartitionProducer,
        TransactionDescription,
        TransactionList,
        TransactionListing,
    )
    from kafka_groups.admin.rules.user_values import (
        UserDescription,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )
    from kafka_groups.client.calls.results import Results

__all__ = [
    "AclBinding",
    "AclFilter",
    "AclOperation",
    "AclPatternType",
    "AclPermission",
    "AclResourceType",
    "AsyncKafkaAdmin",
    "BrokerDescription",
    "ClassicGroupDescription",
    "ClassicGroupMember",
    "ClassicStreamsGroupDescription",
    "ClassicStreamsGroupMember",
    "ClusterDescription",
    "ConfigResource",
    "ConfigSynonym",
    "ConsumerGroupDescription",
    "ConsumerGroupMember",
    "ConsumerGroupOffset",
    "CopyBasis",
    "DescribedConfig",
    "FencedProducer",
    "GroupConfigValue",
    "GroupDescription",
    "GroupList",
    "GroupListing",
    "KafkaAdmin",
    "ListedShareGroup",
    "ListedStreamsGroup",
    "PartitionDescription",
    "PartitionProducer",
    "PlannedLoad",
    "PlannedMove",
    "PlannedProcess",
    "PlannedThread",
    "RackTraffic",
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
    "StreamsPlan",
    "StreamsSubtopologyDescription",
    "StreamsTopologyDescription",
    "TaskCounts",
    "TaskPlace",
    "TopicDescription",
    "TopicListing",
    "TopicToCreate",
    "TransactionDescription",
    "TransactionList",
    "TransactionListing",
    "UserDescription",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
]

_MODULES = MappingProxyType({
    "AclBinding": ".acls",
    "AclFilter": ".acls",
    "AclOperation": ".acls",
    "AclPatternType": ".acls",
    "AclPermission": ".acls",
    "AclResourceType": ".acls",
    "AsyncKafkaAdmin": "aio",
    "BrokerDescription": "rules.topic_values",
    "ClassicGroupDescription": "rules.group_values",
    "ClassicGroupMember": "rules.group_values",
    "ClassicStreamsGroupDescription": "rules.classic_streams.classic_values",
    "ClassicStreamsGroupMember": "rules.classic_streams.classic_values",
    "ClusterDescription": "rules.topic_values",
    "ConfigResource": "rules.config_values",
    "ConfigSynonym": "rules.config_values",
    "ConsumerGroupDescription": "rules.group_values",
    "ConsumerGroupMember": "rules.group_values",
    "ConsumerGroupOffset": "rules.group_values",
    "CopyBasis": "rules.plans.plan_values",
    "DescribedConfig": "rules.config_values",
    "FencedProducer": "rules.transaction_values",
    "GroupConfigValue": "rules.returned_values",
    "GroupDescription": "rules.group_values",
    "GroupList": "rules.group_values",
    "GroupListing": "rules.group_values",
    "KafkaAdmin": "admin",
    "ListedShareGroup": "rules.returned_values",
    "ListedStreamsGroup": "rules.streams_values",
    "PartitionDescription": "rules.topic_values",
    "PartitionProducer": "rules.transaction_values",
    "PlannedLoad": "rules.plans.plan_values",
    "PlannedMove": "rules.plans.plan_values",
    "PlannedProcess": "rules.plans.what_if",
    "PlannedThread": "rules.plans.plan_values",
    "RackTraffic": "rules.plans.plan_values",
    "RemovedMember": "rules.returned_values",
    "Results": ".client.calls.results",
    "ShareGroupDescription": "rules.returned_values",
    "ShareGroupList": "rules.returned_values",
    "ShareGroupMember": "rules.returned_values",
    "ShareOffset": "rules.returned_values",
    "StreamsGroupDescription": "rules.streams_values",
    "StreamsGroupList": "rules.streams_values",
    "StreamsGroupMemberDescription": "rules.streams_values",
    "StreamsGroupOffset": "rules.streams_values",
    "StreamsGroupTasks": "rules.streams_values",
    "StreamsInternalTopic": "rules.streams_values",
    "StreamsPlan": "rules.plans.plan_values",
    "StreamsSubtopologyDescription": "rules.streams_values",
    "StreamsTopologyDescription": "rules.streams_values",
    "TaskCounts": "rules.plans.plan_values",
    "TaskPlace": "rules.plans.plan_values",
    "TopicDescription": "rules.topic_values",
    "TopicListing": "rules.topic_values",
    "TopicToCreate": "rules.topics",
    "TransactionDescription": "rules.transaction_values",
    "TransactionList": "rules.transaction_values",
    "TransactionListing": "rules.transaction_values",
    "UserDescription": "rules.user_values",
    "UserScramCredentialDeletion": "rules.user_values",
    "UserScramCredentialUpsertion": "rules.user_values",
})  # fmt: skip

if not TYPE_CHECKING:  # so that a type checker reports a name that does not exist
    __getattr__, __dir__ = import_on_first_use(__name__, _MODULES)
