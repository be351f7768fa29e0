"""The topics of the groups in a simulation: their names, and how they grow."""

from typing import Any

from attrs import define, field

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafka_groups.testing.simulation import SimulatedWorld
from tests.simulation.groups.coordination import link_to

__all__ = ["TopicNames", "add_partition"]

_CREATE_PARTITIONS = 3


@define(eq=False)
class TopicNames:
    """The names of topics by id, also of those that were deleted since they were asked for."""

    cluster: EmbeddedCluster
    _known: dict[Any, str] = field(factory=dict)

    def of(self, topic_id: Any) -> str:
        """Return the name of a topic."""
        topic = self.cluster.metadata.topic_by_id(topic_id)
        if topic is not None:
            self._known[topic_id] = topic.name
        return self._known[topic_id]


async def add_partition(world: SimulatedWorld, group_id: str, name: str) -> None:
    """Let a topic have another partition. The broker that an administrator asks is that of a group."""
    topic = world.cluster.metadata.topic(name)
    assert topic is not None
    wanted = CreatePartitionsTopic(name=name, count=topic.num_partitions + 1, assignments=None)
    request = CreatePartitionsRequest(topics=(wanted,), timeout_ms=5_000, validate_only=False)
    link = link_to(world, group_id, "admin")
    try:
        await link.find(world.rng.randrange(3))
        await link.ask(request, _CREATE_PARTITIONS)
        world.struck["topic_grown"] += 1
    except KafkaGroupsError as error:
        world.note("admin met", type(error).__name__)
    finally:
        link.close()
