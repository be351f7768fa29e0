"""The tasks of a topology whose topics have numbers of partitions."""

from collections.abc import Callable, Iterator, Mapping

from attrs import evolve, field, frozen

from kafka_groups.assignment.application.neutral import ApplicationInput
from kafka_groups.assignment.application.tasks import TaskInfo, TaskTopicPartition
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["SubtopologyTopics", "tasks_of_topology", "with_stores"]

_CHANGELOG = "-changelog"

FindRacks = Callable[[TopicPartition], frozenset[str] | None]
"""Returns the racks of the brokers that have a partition; None if they are not known."""


@frozen
class SubtopologyTopics:
    """The topics of a sub-topology, with their numbers of partitions.

    Attributes:
        sources: The topics that it reads, repartition topics included.
        changelogs: The topics with the changes of its stores. A source can be one of them.
    """

    sources: Mapping[str, int]
    changelogs: Mapping[str, int] = field(factory=dict)


def tasks_of_topology(
    subtopologies: Mapping[str, SubtopologyTopics], find_racks: FindRacks, *, application_id: str
) -> dict[TaskId, TaskInfo]:
    """Return the tasks: one for each partition of the largest source of a sub-topology.

    Args:
        subtopologies: The sub-topologies, by id.
        find_racks: Returns the racks of a partition. It is called at the first use.
        application_id: The application, with which the names of changelogs begin.
    """
    tasks: dict[TaskId, TaskInfo] = {}
    for subtopology_id, topics in subtopologies.items():
        stores = frozenset(_stores(topics, f"{application_id}-"))
        # KIP-1071, "Rebalance Process": a task is a sub-topology and a partition. Sources with fewer partitions are
        # read by some of the tasks only.
        for partition in range(max(topics.sources.values(), default=0)):
            task = TaskId(subtopology_id, partition)
            places = tuple(_places(topics, partition, find_racks))
            tasks[task] = TaskInfo(task, bool(topics.changelogs), stores, places)
    return tasks


def with_stores(given: ApplicationInput, stores: Mapping[str, frozenset[str]]) -> ApplicationInput:
    """Return an input whose tasks have the stores that a description of the topology names, by sub-topology."""
    tasks = {
        task: evolve(info, state_store_names=stores.get(task.subtopology_id, info.state_store_names))
        for task, info in given.tasks.items()
    }
    return evolve(given, tasks=tasks) if stores else given


def _stores(topics: SubtopologyTopics, prefix: str) -> Iterator[str]:
    """Yield the stores that changelogs name. A source that is used as one has the name of no store."""
    for name in topics.changelogs:
        if name not in topics.sources and name.startswith(prefix) and name.endswith(_CHANGELOG):
            yield name[len(prefix) : -len(_CHANGELOG)]


def _places(topics: SubtopologyTopics, partition: int, find_racks: FindRacks) -> Iterator[TaskTopicPartition]:
    # A source that is a changelog as well comes once, with both roles.
    for name, count in {**topics.changelogs, **topics.sources}.items():
        if partition < count:
            yield TaskTopicPartition(
                TopicPartition(name, partition),
                is_source=name in topics.sources,
                is_changelog=name in topics.changelogs,
                find_racks=find_racks,
            )
