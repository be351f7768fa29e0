"""The sub-topologies of an application in a story, and their tasks."""

from collections.abc import Collection, Iterable, Sequence, Set

from attrs import field, frozen

from kafka_groups.assignment.application.tasks import TaskInfo, TaskTopicPartition
from kafka_groups.errors import ConfigurationError
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["StorySubtopology"]

RackNames = str | Collection[str]
"""The racks of the replicas of a partition: one name, or several."""


def _as_racks(racks: Sequence[RackNames]) -> tuple[frozenset[str], ...]:
    if isinstance(racks, str):
        raise ConfigurationError(f"racks must be a list with an entry for each partition, such as [{racks!r}].")
    return tuple(frozenset([each] if isinstance(each, str) else each) for each in racks)


@frozen(kw_only=True)
class StorySubtopology:
    """A sub-topology.

    Attributes:
        id: Its id.
        tasks: How many tasks it has, which is the number of partitions of its topics.
        is_stateful: Whether its tasks have a store with a changelog.
        topics: The topics that it reads.
        racks: The racks of the replicas of each partition. If there are fewer than partitions, they repeat. Empty if
            the racks are not known.
        records: The records that the changelog of a task has when the task has run.
        writes_per_second: How many records a running task adds to its changelog.

    Raises:
        ConfigurationError: A number is out of bounds, or `racks` is not a list.
    """

    id: str
    tasks: int
    is_stateful: bool
    topics: tuple[str, ...]
    racks: tuple[frozenset[str], ...] = field(converter=_as_racks)
    records: int
    writes_per_second: int

    def __attrs_post_init__(self) -> None:
        _check_at_least("tasks", self.tasks, 1)
        _check_at_least("records", self.records, 0)
        _check_at_least("writes_per_second", self.writes_per_second, 0)

    @property
    def task_ids(self) -> tuple[TaskId, ...]:
        """Its tasks, by partition."""
        return tuple(TaskId(self.id, partition) for partition in range(self.tasks))

    def infos(self, failed_racks: Set[str]) -> dict[TaskId, TaskInfo]:
        """Return its tasks as assignors see them.

        Args:
            failed_racks: The racks whose brokers are down. The racks of a partition without any other are not known.
        """
        return {task: self._info(task, failed_racks) for task in self.task_ids}

    def _info(self, task: TaskId, failed_racks: Set[str]) -> TaskInfo:
        racks = self._racks_of(task, failed_racks)
        stores = [f"store-{self.id}"] if self.is_stateful else []
        partitions = [
            *(_partition(topic, task, racks, is_source=True) for topic in self.topics),
            *(_partition(f"application-{store}-changelog", task, racks, is_source=False) for store in stores),
        ]
        return TaskInfo(task, self.is_stateful, frozenset(stores), tuple(partitions))

    def _racks_of(self, task: TaskId, failed_racks: Iterable[str]) -> frozenset[str] | None:
        if not self.racks:
            return None
        return self.racks[task.partition % len(self.racks)].difference(failed_racks) or None


def _check_at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ConfigurationError(f"{name} must be at least {least}, not {value}.")


def _partition(topic: str, task: TaskId, racks: frozenset[str] | None, *, is_source: bool) -> TaskTopicPartition:
    place = TopicPartition(topic, task.partition)
    return TaskTopicPartition(place, is_source, not is_source, lambda _place: racks)
