"""A cluster that offers task assignors of a user, over TCP, and members of one streams group."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import sent, subtopology
from tests.support.requests.raw_client import RawClient

__all__ = ["GROUP", "PARTITIONS", "TOPOLOGY", "AssignorScene", "tasks", "with_assignors"]

GROUP, TOPIC, PARTITIONS = "app", "in", 4
TOPOLOGY = sent(subtopology("0", sources=(TOPIC,)))
_SETTINGS = {
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "offsets.topic.num.partitions": 1,
}


@frozen
class AssignorScene:
    """A cluster and a connection to it."""

    cluster: EmbeddedCluster
    client: RawClient

    def member(self, member_id: str) -> StreamsMember:
        """A member that has not joined yet."""
        return StreamsMember(self.client, GROUP, member_id)

    def stored(self) -> int:
        """How many records the coordinator has written."""
        topic = self.cluster.metadata.topic("__consumer_offsets")
        return 0 if topic is None else self.cluster.logs.get(topic.topic_id, 0).end_offset


@asynccontextmanager
async def with_assignors(*assignors: object, **settings: object) -> AsyncIterator[AssignorScene]:
    """A cluster over TCP that offers these task assignors."""
    async with EmbeddedCluster(settings={**_SETTINGS, "group.streams.assignors": assignors, **settings}) as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        host, _, port = cluster.bootstrap_servers.partition(":")
        async with RawClient(cluster.network, host, int(port)) as client:
            await client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=(GROUP,)))
            yield AssignorScene(cluster, client)


def tasks(*numbers: int) -> frozenset[tuple[str, int]]:
    """Tasks of the only sub-topology."""
    return frozenset(("0", number) for number in numbers)
