"""The tasks that an assignor assigns, and the partitions that they read and write."""

from collections.abc import Callable, Iterable, Mapping, Set

from attrs import field, frozen

from kafka_groups.assignment.application.read_only import read_only
from kafka_groups.assignment.java_order import copied, grown, in_hash_order, string_hash
from kafka_groups.types import TaskId, TopicPartition

__all__ = [
    "TaskInfo",
    "TaskTopicPartition",
    "in_java_order",
    "in_task_order",
    "ordered_tasks",
    "source_partitions",
    "task_hash",
    "task_order",
]

_WORD = 0xFFFF_FFFF
_Racks = frozenset[str] | None


def task_order(task: TaskId) -> tuple[bool, int, str, int]:
    """Return what to sort a task by, as Kafka Streams does: the ids of sub-topologies that are numbers by their value.

    `TaskId` itself compares as text, as the brokers do: with them, `10_0` comes before `2_0`.
    """
    # TaskId.compareTo in Kafka Streams compares numbers. Ids that are not numbers, which brokers accept, come after
    # them.
    id_ = task.subtopology_id
    is_number = id_.isascii() and id_.isdecimal()
    return not is_number, int(id_) if is_number else 0, id_, task.partition


def in_task_order(tasks: Iterable[TaskId]) -> list[TaskId]:
    """Return tasks in the order of Kafka Streams."""
    return sorted(tasks, key=task_order)


def in_java_order(tasks: Iterable[TaskId], *, is_copy: bool = False) -> list[TaskId]:
    """Return tasks in the order of a hash table of Java to which they were added in their order, and nothing else.

    Args:
        tasks: The tasks.
        is_copy: Whether the table was made as a copy of a sorted collection, instead of task by task.
    """
    known = in_task_order(tasks)
    return in_hash_order(known, task_hash, (copied if is_copy else grown)(len(known)))


def task_hash(task: TaskId) -> int:
    """Return the hash code of a task in Kafka Streams: that of two numbers, and of nothing."""
    # TaskId.hashCode in Kafka Streams hashes the sub-topology, the partition and the name of a named topology, which is
    # null (0) here. A hash of text stands in for a sub-topology that is not a number.
    id_ = task.subtopology_id
    number = int(id_) if id_.isascii() and id_.isdecimal() else string_hash(id_)
    return 31**3 + 31**2 * number + 31 * task.partition & _WORD


def ordered_tasks(tasks: Iterable[TaskId] = ()) -> Set[TaskId]:
    """Return a set of tasks that is gone over in the order of Kafka Streams."""
    # Keys of a dictionary are a set with an order.
    return dict.fromkeys(in_task_order(tasks)).keys()


@read_only
@frozen
class TaskTopicPartition:
    """A partition of a task (KIP-924).

    Attributes:
        topic_partition: The partition.
        is_source: Whether the task reads it.
        is_changelog: Whether it keeps the changes of one of the task's stores. A source can be a changelog, too.
    """

    topic_partition: TopicPartition
    is_source: bool
    is_changelog: bool
    _find_racks: Callable[[TopicPartition], _Racks] = field(default=lambda _partition: None, eq=False, repr=False)

    @property
    def rack_ids(self) -> frozenset[str] | None:
        """The racks of the brokers that have it; None if they are not known. They are looked up at the first use."""
        return self._find_racks(self.topic_partition)


@read_only
@frozen
class TaskInfo:
    """A task (KIP-924).

    Attributes:
        id: Its id.
        is_stateful: Whether it has state that another process would have to restore. Here, these are the tasks with
            changelogs. In Java, they are those with any store.
        state_store_names: The names of its stores, as far as they are known.
        topic_partitions: Its sources and changelogs.
    """

    id: TaskId
    is_stateful: bool
    state_store_names: frozenset[str] = frozenset()
    topic_partitions: tuple[TaskTopicPartition, ...] = ()


def source_partitions(tasks: Iterable[TaskId], known: Mapping[TaskId, TaskInfo]) -> frozenset[TopicPartition]:
    """Return the partitions that tasks read, as far as the tasks are known."""
    infos = (known[task] for task in tasks if task in known)
    return frozenset(each.topic_partition for info in infos for each in info.topic_partitions if each.is_source)
