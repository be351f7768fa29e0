"""Features of Kafka that the embedded broker does not have yet, with the reasons.

A test compares this table with what each release was captured to answer: no other difference is allowed, and neither is
an entry that is not a difference any more. The documentation's list is made from the table, too.
"""

import enum
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from attrs import frozen

from kafka_groups.protocol.apis import ApiKey

__all__ = ["LOWEST_SUPPORTED_VERSIONS", "UNSUPPORTED", "Unsupported", "UnsupportedKind"]


class UnsupportedKind(enum.Enum):
    """The kind of an entry. Each value is a heading."""

    API = "API"
    API_VERSION = "Version of an API"
    GROUP_CONFIG = "Config of a group"
    BROKER_CONFIG = "Config of a broker"
    RESOURCE = "Resource with configs"


@frozen
class Unsupported:
    """One thing that a release has and the embedded broker lacks.

    Attributes:
        kind: The kind of the feature.
        name: Its name.
        why: The area that the feature belongs to, and the reason why it is missing.
        key: The key of an API.
        supported: The lowest supported version of an API.
    """

    kind: UnsupportedKind
    name: str
    why: str
    key: int = -1
    supported: int = 0


def _configs(kind: UnsupportedKind, why: str, names: str) -> Iterator[Unsupported]:
    return (Unsupported(kind, name, why) for name in names.split())


def _apis(why: str, **keys: int) -> Iterator[Unsupported]:
    return (Unsupported(UnsupportedKind.API, name, why, key=key) for name, key in keys.items())


_SHARE_STATE = "Buffers, threads and replicas of the share coordinator, whose records are in memory"
_DELEGATION_TOKENS = "Delegation tokens"
_CLUSTER = "Replicas, quorum and log directories: the brokers share one log and have no controllers"
_QUOTAS = "Quotas, which nothing would enforce: DescribeClientQuotas answers that there are none"
_OLD = "Replaced by SaslHandshake v1, which all current clients use"
_INNER = "Buffers, threads and delays that the embedded broker has no counterpart of"

UNSUPPORTED: tuple[Unsupported, ...] = (
    *_configs(
        UnsupportedKind.BROKER_CONFIG,
        _SHARE_STATE,
        "share.coordinator.append.linger.ms share.coordinator.cached.buffer.max.bytes "
        "share.coordinator.load.buffer.size "
        "share.coordinator.state.topic.compression.codec "
        "share.coordinator.state.topic.min.isr share.coordinator.state.topic.segment.bytes "
        "share.coordinator.threads share.coordinator.write.timeout.ms",
    ),
    *_apis(
        _DELEGATION_TOKENS,
        CreateDelegationToken=38,
        RenewDelegationToken=39,
        ExpireDelegationToken=40,
        DescribeDelegationToken=41,
    ),
    *_apis(
        _CLUSTER,
        OffsetForLeaderEpoch=23,
        AlterReplicaLogDirs=34,
        DescribeLogDirs=35,
        ElectLeaders=43,
        AlterPartitionReassignments=45,
        ListPartitionReassignments=46,
        DescribeQuorum=55,
        UnregisterBroker=64,
        AddRaftVoter=80,
        RemoveRaftVoter=81,
        UnregisterController=94,
    ),
    *_apis(_QUOTAS, AlterClientQuotas=49),
    Unsupported(UnsupportedKind.API_VERSION, "SaslHandshake", _OLD, key=ApiKey.SASL_HANDSHAKE, supported=1),
    *_configs(
        UnsupportedKind.BROKER_CONFIG,
        _INNER,
        "group.coordinator.append.linger.ms group.coordinator.background.threads "
        "group.coordinator.cached.buffer.max.bytes group.coordinator.threads "
        "share.fetch.purgatory.purge.interval.requests",
    ),
    *_configs(
        UnsupportedKind.GROUP_CONFIG,
        _INNER,
        "consumer.assignor.offload.enable share.assignor.offload.enable streams.assignor.offload.enable",
    ),
)
"""The table."""

LOWEST_SUPPORTED_VERSIONS: Mapping[int, int] = MappingProxyType(
    {each.key: each.supported for each in UNSUPPORTED if each.kind is UnsupportedKind.API_VERSION}
)
"""The lowest version of an API that is supported, where the release has a lower one."""
