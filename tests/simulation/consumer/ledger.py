"""The rules of consumer groups for what is seen on the wire."""

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.consumer.holdings import PartitionHolding
from tests.simulation.consumer.membership import Partitions, Place
from tests.simulation.consumer.offset_requests import name_of
from tests.simulation.groups.epochs.ledger import EpochLedger
from tests.simulation.groups.epochs.seen_member import SeenMember

__all__ = ["ConsumerLedger", "consumer_ledger"]

ConsumerLedger = EpochLedger[PartitionHolding, Partitions]


def consumer_ledger(world: SimulatedWorld) -> ConsumerLedger:
    """The ledger of a consumer group."""
    return EpochLedger(world, _ConsumerRules(world.cluster))


@frozen
class _ConsumerRules:
    """A partition has one owner at a time, and no member owns it before the former one has given it up."""

    cluster: EmbeddedCluster
    heartbeat: ApiKey = ApiKey.CONSUMER_GROUP_HEARTBEAT
    most_unanswered: int = 2
    """A member may miss a response: the previous epoch will do."""

    def new_holding(self) -> PartitionHolding:
        """No partitions."""
        return PartitionHolding()

    def shown(self, owned: Partitions) -> str:
        """Partitions with the names of their topics."""
        return ", ".join(f"{name_of(self.cluster.metadata, topic_id)}-{number}" for topic_id, number in sorted(owned))

    def conflict(self, new: Partitions, held: Partitions) -> Partitions:
        """Partitions that two members have."""
        return new & held

    def committed(self, topic: str, partition: int) -> Place:
        """The partition itself."""
        found = self.cluster.metadata.topic(topic)
        assert found is not None
        return found.topic_id, partition

    def wrongly_accepted(self, _member: SeenMember[PartitionHolding], _request: Any) -> Iterable[str]:
        """All rules are those of groups with epochs."""
        return ()

    def wrongly_given(
        self, _member: SeenMember[PartitionHolding], _new: Partitions, _others: list[SeenMember[PartitionHolding]]
    ) -> Iterable[str]:
        """All rules are those of groups with epochs."""
        return ()
