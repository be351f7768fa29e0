"""The tasks of a topology whose topics have their numbers of partitions."""

from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.streams_leader.topology_counts import TopologyCounts
from kafka_groups.assignment import TaskInfo
from kafka_groups.assignment.application.topology_tasks import FindRacks, SubtopologyTopics, tasks_of_topology
from kafka_groups.types import TaskId

__all__ = ["application_tasks"]


def application_tasks(
    topology: GroupTopology, counts: TopologyCounts, find_racks: FindRacks, application_id: str
) -> dict[TaskId, TaskInfo]:
    """Return the tasks of an application.

    Args:
        topology: Its topology.
        counts: The numbers of partitions of its topics.
        find_racks: Returns the racks of a partition, at the first use.
        application_id: Its id, with which the names of changelogs begin.
    """
    known = {**counts.changelogs, **counts.read}
    topics = {
        each.subtopology_id: SubtopologyTopics(
            {name: counts.read[name] for name in sorted(each.read_topics)},
            {topic.name: known[topic.name] for topic in each.changelogs},
        )
        for each in topology.subtopologies
    }
    return tasks_of_topology(topics, find_racks, application_id=application_id)
