"""The application of a run: its topology, its topics, its tasks, and what administrators change."""

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, RepartitionTopic
from kafka_groups.admin.rules.group_topology.topology_builder import GroupTopologyBuilder
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.types import TaskId
from tests.simulation.groups.topics import add_partition

__all__ = [
    "CHANGELOG",
    "GROUP",
    "SOURCES",
    "STATEFUL",
    "TOPOLOGY",
    "Tasks",
    "disturb_topics",
    "grow",
    "partition_of",
    "subtopology_of",
    "tasks_of",
]

GROUP = "app"
SOURCES = {"lines": 5, "news": 2}
GROWING = "news"
REPARTITION, CHANGELOG = "app-words-repartition", "app-counts-changelog"
STATEFUL = "1"
TOPOLOGY = (
    GroupTopologyBuilder()
    .add_subtopology("0", sources=["lines"], sinks=[REPARTITION])
    .add_subtopology(
        STATEFUL, repartition_sources=[RepartitionTopic(REPARTITION)], changelogs=[ChangelogTopic(CHANGELOG)]
    )
    .add_subtopology("2", sources=[GROWING])
    .build()
)
Tasks = frozenset[TaskId]
_READ = {"0": "lines", STATEFUL: REPARTITION, "2": GROWING}
_MOST = 6


def tasks_of(metadata: ClusterMetadata) -> Tasks:
    """All tasks of the application."""
    counts = {name: metadata.topic(name) for name in SOURCES}
    numbers = {name: 0 if topic is None else topic.num_partitions for name, topic in counts.items()}
    sizes = {"0": numbers["lines"], STATEFUL: numbers["lines"], "2": numbers[GROWING]}
    return frozenset(TaskId(each, number) for each, count in sizes.items() for number in range(count))


def partition_of(task: TaskId) -> tuple[str, int]:
    """The topic that a task reads, and the number of the partition."""
    return _READ[task.subtopology_id], task.partition


def subtopology_of(topic: str) -> str:
    """The id of the sub-topology that reads a topic."""
    return next(subtopology_id for subtopology_id, name in _READ.items() if name == topic)


async def disturb_topics(world: SimulatedWorld) -> None:
    """Let a topic have another partition, and with it the application another task."""
    topic = world.cluster.metadata.topic(GROWING)
    if topic is not None and topic.num_partitions < _MOST:
        await grow(world)


async def grow(world: SimulatedWorld) -> None:
    """Let a topic have another partition."""
    await add_partition(world, GROUP, GROWING)
