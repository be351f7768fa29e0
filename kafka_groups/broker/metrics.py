"""Every metric of an embedded broker: Kafka's name, unit, meaning, and how it is read.

The names are those of Kafka 4.4 in JMX: the MBean, a colon and its attribute, as Kafka's JmxTool writes them. Metrics
about times, rates, queues and threads have no counterpart in brokers that share one thread and, in simulations, one
virtual clock. What Kafka counts for each group is here the sum over all groups.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from attrs import field, frozen

from kafka_groups.broker.coordinators.groups.group_type import GroupType
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, SHARE_STATE_TOPIC
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.types import AcknowledgeType

__all__ = ["METRICS", "BrokerGauges", "BrokerMetric", "read_metrics"]


@frozen
class BrokerGauges:
    """The values that one broker's metrics are computed from, at one moment."""

    services: BrokerServices
    groups: Counter[tuple[str, str]] = field(init=False)

    @groups.default
    def _groups(self) -> Counter[tuple[str, str]]:
        shards = self.services.coordinators.groups.runtime.active_shards()
        return Counter((group.type, group.state) for shard in shards for group in shard.listed())

    def groups_of(self, kind: GroupType) -> int:
        """Number of groups of a type."""
        return sum(count for (of_kind, _), count in self.groups.items() if of_kind == kind)

    @property
    def offsets(self) -> int:
        """Number of committed offsets."""
        return sum(len(shard.offsets.table) for shard in self.services.coordinators.groups.runtime.active_shards())


@frozen
class BrokerMetric:
    """One metric.

    Attributes:
        name: Its key in `cluster.metrics()`: Kafka's MBean and attribute.
        unit: The unit of the values.
        doc: The meaning of the metric.
        read: Makes the value.
    """

    name: str
    unit: str
    doc: str
    read: Callable[[BrokerGauges], int]


def read_metrics(brokers: Iterable[BrokerGauges]) -> Mapping[str, int]:
    """Return the sum over some brokers by name."""
    counters = tuple(brokers)
    return MappingProxyType({metric.name: sum(map(metric.read, counters)) for metric in METRICS})


# ------------------------------------------------------------------------------------------------- the table

_GROUPS = "kafka.server:type=group-coordinator-metrics"
_SHARE_STATE = "kafka.server:type=share-coordinator-metrics"
_MANAGER = "kafka.coordinator.group:type=GroupMetadataManager"
_SESSIONS = "kafka.server:type=ShareSessionCache"
_SHARE_GROUPS = "kafka.server:type=ShareGroupMetrics"
_ACKNOWLEDGEMENTS = f"{_SHARE_GROUPS},name=RecordAcknowledgementsPerSec"
_STATES: Mapping[GroupType, tuple[str, ...]] = MappingProxyType({
    GroupType.CLASSIC: ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"),
    GroupType.CONSUMER: ("Empty", "Assigning", "Reconciling", "Stable", "Dead"),
    GroupType.SHARE: ("Empty", "Stable", "Dead"),
    GroupType.STREAMS: ("Empty", "NotReady", "Assigning", "Reconciling", "Stable", "Dead"),
})  # fmt: skip


def _of_groups(kind: GroupType) -> Iterator[BrokerMetric]:
    yield BrokerMetric(
        f"{_GROUPS},protocol={kind.value}:group-count",
        "groups",
        f"Groups of the type {kind.value}, in whatever state.",
        lambda counters: counters.groups_of(kind),
    )
    for state in _STATES[kind]:
        yield BrokerMetric(
            f"{_GROUPS},state={state}:{kind.value}-group-count",
            "groups",
            f"Groups of the type {kind.value} in the state {state}.",
            partial(_in_state, kind=kind, state=state),
        )


def _by_older_names() -> Iterator[BrokerMetric]:
    yield BrokerMetric(
        f"{_MANAGER},name=NumGroups:Value",
        "groups",
        "Classic groups, by an older name.",
        lambda counters: counters.groups_of(GroupType.CLASSIC),
    )
    for state in _STATES[GroupType.CLASSIC]:
        yield BrokerMetric(
            f"{_MANAGER},name=NumGroups{state}:Value",
            "groups",
            f"Classic groups in the state {state}, by an older name.",
            partial(_in_state, kind=GroupType.CLASSIC, state=state),
        )
    yield BrokerMetric(
        f"{_MANAGER},name=NumOffsets:Value",
        "offsets",
        "Committed offsets, by an older name.",
        lambda counters: counters.offsets,
    )


def _in_state(counters: BrokerGauges, kind: GroupType, state: str) -> int:
    return counters.groups[kind, state]


_OF_OFFSETS = (
    BrokerMetric(f"{_GROUPS}:offset-count", "offsets", "Committed offsets.", lambda counters: counters.offsets),
    BrokerMetric(
        f"{_GROUPS}:offset-commit-count",
        "offsets",
        "Offsets that were committed.",
        lambda counters: counters.services.coordinators.groups.counters.offset_commits,
    ),
    BrokerMetric(
        f"{_GROUPS}:offset-deletion-count",
        "offsets",
        "Offsets that an administrator deleted.",
        lambda counters: counters.services.coordinators.groups.counters.offset_deletions,
    ),
)
_OF_REBALANCES = (
    BrokerMetric(
        f"{_GROUPS}:group-completed-rebalance-count",
        "rebalances",
        "Rebalances of classic groups that ended with assignments.",
        lambda counters: counters.services.coordinators.groups.counters.classic_rebalances,
    ),
    BrokerMetric(
        f"{_GROUPS}:consumer-group-rebalance-count",
        "rebalances",
        "Heartbeats of consumer groups that began a new epoch of the group. Members that leave do not count.",
        lambda counters: counters.services.coordinators.groups.counters.consumer_rebalances,
    ),
    BrokerMetric(
        f"{_GROUPS}:share-group-rebalance-count",
        "rebalances",
        "Heartbeats of share groups that began a new epoch of the group. Members that leave do not count.",
        lambda counters: counters.services.coordinators.groups.counters.share_rebalances,
    ),
    BrokerMetric(
        f"{_GROUPS}:streams-group-rebalance-count",
        "rebalances",
        "Heartbeats of streams groups that began a new epoch of the group. Members that leave do not count.",
        lambda counters: counters.services.coordinators.groups.counters.streams_rebalances,
    ),
)
_OF_DESCRIPTIONS = (
    BrokerMetric(
        f"{_GROUPS}:streams-group-topology-description-set-success-count",
        "descriptions",
        "Descriptions of topologies that were stored (KIP-1331).",
        lambda counters: counters.services.coordinators.groups.counters.descriptions_stored,
    ),
    BrokerMetric(
        f"{_GROUPS}:streams-group-topology-description-get-success-count",
        "descriptions",
        "Descriptions of topologies that StreamsGroupDescribe has shown (KIP-1331).",
        lambda counters: counters.services.coordinators.groups.counters.descriptions_shown,
    ),
)


def _of_coordinator(mbean: str, topic: str, coordinator: str) -> Iterator[BrokerMetric]:
    yield BrokerMetric(
        f"{mbean},state=active:num-partitions",
        "partitions",
        f"Partitions of `{topic}` that the {coordinator} leads and has loaded.",
        lambda counters: len(counters.services.coordinators.hosted.runtimes[topic].active_shards()),
    )
    yield BrokerMetric(
        f"{mbean},state=loading:num-partitions",
        "partitions",
        f"Partitions of `{topic}` that are being loaded.",
        lambda counters: counters.services.coordinators.hosted.runtimes[topic].num_loading,
    )


_OF_WRITES = BrokerMetric(
    f"{_SHARE_STATE}:write-total",
    "writes",
    "Writes of the state of a share-partition.",
    lambda counters: counters.services.coordinators.share.writes,
)
_OF_SESSIONS = (
    BrokerMetric(
        f"{_SESSIONS},name=ShareSessionsCount:Value",
        "sessions",
        "Share sessions.",
        lambda counters: len(counters.services.share.sessions),
    ),
    BrokerMetric(
        f"{_SESSIONS},name=SharePartitionsCount:Value",
        "partitions",
        "Partitions in all share sessions. A partition counts in every session that has it.",
        lambda counters: counters.services.share.sessions.num_partitions,
    ),
)


def _of_acknowledgements() -> Iterator[BrokerMetric]:
    for kind in (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW):
        name = kind.name.capitalize()
        yield BrokerMetric(
            f"{_ACKNOWLEDGEMENTS},ackType={name}:Count",
            "records",
            f"Records that were acknowledged with {name}.",
            partial(_acknowledgements, kind=kind),
        )


def _acknowledgements(counters: BrokerGauges, kind: AcknowledgeType) -> int:
    return counters.services.share.acknowledgements[kind]


_DEAD_LETTERS = (
    BrokerMetric(
        f"{_SHARE_GROUPS},name=DeadLetterQueueRecordCount:Count",
        "records",
        "Dead letters that were written to the queues of share groups (KIP-1191). Kafka has one for each group.",
        lambda counters: counters.services.coordinators.dead_letters.counters.letters,
    ),
    BrokerMetric(
        f"{_SHARE_GROUPS},name=DeadLetterQueueTotalProduceRequestsPerSec:Count",
        "requests",
        "Batches of dead letters that were sent to queues. Kafka has one for each group.",
        lambda counters: counters.services.coordinators.dead_letters.counters.produce_requests,
    ),
    BrokerMetric(
        f"{_SHARE_GROUPS},name=DeadLetterQueueFailedProduceRequestsPerSec:Count",
        "requests",
        "Batches of dead letters that queues did not take. Kafka has one for each group.",
        lambda counters: counters.services.coordinators.dead_letters.counters.failed_produce_requests,
    ),
)

METRICS: tuple[BrokerMetric, ...] = (
    *_of_groups(GroupType.CLASSIC),
    *_of_groups(GroupType.CONSUMER),
    *_of_groups(GroupType.SHARE),
    *_of_groups(GroupType.STREAMS),
    *_by_older_names(),
    *_OF_OFFSETS,
    *_OF_REBALANCES,
    *_OF_DESCRIPTIONS,
    *_of_coordinator(_GROUPS, GROUP_TOPIC, "group coordinator"),
    *_of_coordinator(_SHARE_STATE, SHARE_STATE_TOPIC, "share coordinator"),
    _OF_WRITES,
    *_OF_SESSIONS,
    *_of_acknowledgements(),
    *_DEAD_LETTERS,
)
"""All metrics, in the order of the reference."""
