"""The topology that a user gives for a classic group, and whether it is that of the group's tasks."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from kafka_groups.admin.rules.classic_streams.classic_groups import DecodedClassicGroup
from kafka_groups.admin.rules.group_topology.given_topology import GivenTopology, topology_with_topics
from kafka_groups.admin.rules.group_topology.group_topology import GroupTopology
from kafka_groups.admin.rules.streams_leader.hand_over import Inputs, inputs_of_tasks
from kafka_groups.assignment import TaskInfo
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.client.events import listed
from kafka_groups.errors import ConfigurationError
from kafka_groups.types import TaskId

__all__ = ["TopologyOf", "check_topology", "subtopologies_with_patterns", "topology_of"]

TopologyOf = Callable[[Iterable[str]], GroupTopology]
"""Returns the topology of an application whose patterns read those of some topics that they match."""


def topology_of(given: GivenTopology, group_id: str) -> TopologyOf:
    """Return a function that returns the topology that a caller gave for a group.

    Raises:
        ConfigurationError: It is not a topology.
        TopologyError: The topology is empty or contradicts itself.
    """
    topology_with_topics(given, group_id, ())
    return lambda topics: topology_with_topics(given, group_id, topics)


def subtopologies_with_patterns(topology_of: TopologyOf, topology: GroupTopology) -> frozenset[str]:
    """Return the ids of the sub-topologies that read topics because these exist."""
    always = {each.subtopology_id: each.read_topics for each in topology_of(()).subtopologies}
    return frozenset(
        each.subtopology_id
        for each in topology.subtopologies
        if each.read_topics != always.get(each.subtopology_id, frozenset())
    )


def check_topology(group: DecodedClassicGroup, topology: GroupTopology, tasks: Mapping[TaskId, TaskInfo]) -> None:
    """Refuse a topology that is not that of a group.

    Tasks that nobody has are no difference by themselves: they may be on their way, or an assignor has left them out.

    Args:
        group: The group.
        topology: The topology.
        tasks: The tasks of the topology.

    Raises:
        ConfigurationError: Tasks or topics differ. The message names them.
    """
    inputs = inputs_of_tasks(tasks)
    differences = [*_other_tasks(group, inputs), *_other_topics(group, topology, inputs)]
    if differences:
        raise ConfigurationError(
            f"The topology is not that of the group {group.group_id}: {'; '.join(differences)}. Give the function that "
            "builds the topology of the application as it runs now. If a topic has just gained partitions, wait until "
            "the group has assigned them."
        )


def _other_tasks(group: DecodedClassicGroup, inputs: Inputs) -> Iterator[str]:
    running = {task: partitions for each in group.members for task, partitions in each.inputs.items()}
    held = running.keys() | {task for each in group.members for task in each.standby_tasks}
    unknown = held - inputs.keys()
    if unknown:
        yield f"the group has the tasks {listed(in_task_order(unknown))}, which the topology does not have"
    other = [
        f"{task} ({listed(sorted(running[task]))}, but {listed(inputs[task])} in the topology)"
        for task in in_task_order(running.keys() & inputs.keys())
        if running[task] != frozenset(inputs[task])
    ]
    if other:
        yield f"tasks of the group read other partitions: {listed(other)}"


def _other_topics(group: DecodedClassicGroup, topology: GroupTopology, inputs: Inputs) -> Iterator[str]:
    read = frozenset[str]().union(*(each.read_topics for each in topology.subtopologies))
    unread = read - group.subscribed_topics
    if unread:
        tasks = [task for task, partitions in inputs.items() if any(each.topic in unread for each in partitions)]
        yield f"nobody in the group reads {listed(sorted(unread))} for the tasks {listed(in_task_order(tasks))}"
    others = group.subscribed_topics - read
    if others:
        yield f"the group reads {listed(sorted(others))}, which the topology does not read"
