"""The input of an assignor: the processes of an application, their state, and the tasks."""

from collections.abc import Callable, Iterable, Mapping, Set
from datetime import datetime
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.read_only import ReadOnlyMapping, read_only
from kafka_groups.assignment.application.tasks import TaskInfo, ordered_tasks, task_order
from kafka_groups.errors import IllegalStateError
from kafka_groups.types import TaskId

__all__ = ["ACTIVE_LAG", "UNKNOWN_LAG", "ApplicationState", "KafkaStreamsState"]

ACTIVE_LAG: Final = -2
"""The lag of a task that has been active and running in a process."""
UNKNOWN_LAG: Final = -3
"""The lag of a task if the ends of changelogs could not be found out. It sorts before `ACTIVE_LAG`, as in Java."""

_NO_TASKS: Final[Mapping[str, Set[TaskId]]] = MappingProxyType({})


def _sorted(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids))


def _tags(tags: Mapping[str, str]) -> Mapping[str, str]:
    return ReadOnlyMapping("KafkaStreamsState.client_tags", tags)


def _in_order(tasks: Mapping[TaskId, TaskInfo]) -> Mapping[TaskId, TaskInfo]:
    return ReadOnlyMapping("ApplicationState.all_tasks", {task: tasks[task] for task in ordered_tasks(tasks)})


@read_only
@frozen(kw_only=True)
class KafkaStreamsState:
    """A process of the application (KIP-924). All its methods are free of side effects.

    Attributes:
        process_id: Its id.
        consumer_client_ids: The ids of its members in the group, sorted.
        previous_active_tasks: The active tasks that it has, in the order of tasks.
        previous_standby_tasks: The tasks of which it has a copy, in the order of tasks.
        host_info: Its `application.server`, as host and port; None if it is not set.
        client_tags: Its client tags.
        rack_id: Its `client.rack`; None if it is not set.
    """

    process_id: ProcessId
    consumer_client_ids: tuple[str, ...] = field(converter=_sorted)
    previous_active_tasks: Set[TaskId] = field(factory=tuple, converter=ordered_tasks)
    previous_standby_tasks: Set[TaskId] = field(factory=tuple, converter=ordered_tasks)
    host_info: tuple[str, int] | None = None
    client_tags: Mapping[str, str] = field(factory=dict, converter=_tags)
    rack_id: str | None = None
    _previous_by_consumer: Mapping[str, Set[TaskId]] = _NO_TASKS
    _lags: Mapping[TaskId, int] | None = None

    @property
    def num_processing_threads(self) -> int:
        """The number of its threads, which is its capacity."""
        return len(self.consumer_client_ids)

    def lag_for(self, task: TaskId) -> int:
        """Return how many changelog records its state of a task lacks.

        Returns:
            `ACTIVE_LAG` if the task has been active here, `UNKNOWN_LAG` if the end of the changelog is not known, and
            all of the changelog if it has no state of the task.

        Raises:
            IllegalStateError: Lags were not asked for (`kafka_streams_states`), or the task has no changelog.
        """
        lags = self._known_lags()
        # KafkaStreamsState.lagFor in Kafka Streams refuses these tasks, too: 0 would pass for a complete copy.
        if task not in lags:
            raise IllegalStateError(
                f"There is no lag of task {task} in process {self.process_id}: only tasks with changelogs have one."
            )
        return lags[task]

    def prev_tasks_by_lag(self, consumer_client_id: str) -> Set[TaskId]:
        """Return the tasks that one of its members has had, those with the smallest lag first.

        Raises:
            IllegalStateError: Lags were not asked for (`kafka_streams_states`).
        """
        lags = self._known_lags()
        tasks = self._previous_by_consumer.get(consumer_client_id, frozenset())
        # Tasks without changelogs have no lag, and tasks that are gone are nobody's concern.
        known = [task for task in tasks if task in lags]
        return dict.fromkeys(sorted(known, key=lambda task: (lags[task], task_order(task)))).keys()

    def stateful_tasks_to_lag_sums(self) -> Mapping[TaskId, int]:
        """Return the lag of each task with a changelog, as `lag_for` does.

        Raises:
            IllegalStateError: Lags were not asked for (`kafka_streams_states`).
        """
        return ReadOnlyMapping("KafkaStreamsState.stateful_tasks_to_lag_sums()", self._known_lags())

    def _known_lags(self) -> Mapping[TaskId, int]:
        # An assignor that does not need lags gets none, because it can take requests to find them out. KIP-924,
        # "ApplicationState", has the same switch.
        if self._lags is None:
            raise IllegalStateError(
                "The lags of tasks were not asked for. Call kafka_streams_states(compute_task_lags=True)."
            )
        return self._lags


@read_only
@frozen
class ApplicationState:
    """An application whose tasks must be assigned (KIP-924).

    Attributes:
        all_tasks: The tasks by id, in the order of tasks.
        assignment_configs: The configuration.
        now: The time of the assignment, for follow-up rebalances. The KIP does not provide it, but an assignor
            that reads a clock cannot be tested or run in simulated time.
    """

    all_tasks: Mapping[TaskId, TaskInfo] = field(converter=_in_order)
    assignment_configs: AssignmentConfigs
    now: datetime
    _states: Callable[[bool], Mapping[ProcessId, KafkaStreamsState]] = field(repr=False)

    def kafka_streams_states(self, *, compute_task_lags: bool) -> Mapping[ProcessId, KafkaStreamsState]:
        """Return the processes by id, in the order of ids.

        Args:
            compute_task_lags: Whether their methods about lags may be used.

        Raises:
            TaskAssignmentError: The lags cannot be found out now.
        """
        states = self._states(compute_task_lags)
        ordered = {id_: states[id_] for id_ in sorted(states)}
        return ReadOnlyMapping("ApplicationState.kafka_streams_states()", ordered)
