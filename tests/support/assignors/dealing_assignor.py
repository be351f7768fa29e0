"""An assignor that looks at everything it is told, in Python as in Java (DealingAssignor.java).

Each task goes to the process that ranks first: by what it has been dealt, by what it has had, by its lag, by the racks
of the task's partitions, and by its tag `zone`. Copies go to the next ones. Every third process asks for another
rebalance.
The result can have one of the mistakes that leaders refuse.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from attrs import define, field

from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignmentError,
    GroupAssignment,
    GroupSubscription,
    KafkaStreamsAssignment,
    KafkaStreamsState,
    ProcessId,
    TaskAssignment,
    TaskAssignor,
    TaskInfo,
)
from kafka_groups.types import TaskId

__all__ = ["MISTAKES", "DealingAssignor", "HeardResult"]

MISTAKES: Final = ("unknown_task", "unknown_process", "missing_process", "twice", "standby")

Heard = tuple[GroupAssignment, GroupSubscription, AssignmentError]
HeardResult = Heard | None
Dealt = dict[ProcessId, dict[TaskId, AssignedTask]]

_MOST_LAG: Final = 1 << 40


@define
class DealingAssignor(TaskAssignor):
    """The assignor.

    Attributes:
        mistake: One of `MISTAKES`, or nothing.
        heard: The arguments of its callback.
    """

    mistake: str = ""
    heard: HeardResult = field(default=None, repr=False)

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        """Deal the tasks out."""
        states = application_state.kafka_streams_states(compute_task_lags=True)
        ids = list(states)
        dealt: Dealt = {id_: {} for id_ in ids}
        for task in application_state.all_tasks.values():
            ranks = {id_: _rank(states[id_], task, len(dealt[id_]), at) for at, id_ in enumerate(ids)}
            copies = application_state.assignment_configs.num_standby_replicas if task.is_stateful else 0
            for place, id_ in enumerate(sorted(ids, key=ranks.__getitem__)[: 1 + copies]):
                dealt[id_][task.id] = AssignedTask.standby(task.id) if place else AssignedTask.active(task.id)
        self._spoil(dealt, ids, list(application_state.all_tasks.values()))
        now = application_state.now
        assignments = [KafkaStreamsAssignment.of(id_, each.values()) for id_, each in sorted(dealt.items())]
        return TaskAssignment(
            [
                each.with_followup_rebalance(now + timedelta(seconds=5 * (at + 1))) if at % 3 == 1 else each
                for each in assignments
                for at in [ids.index(each.process_id) if each.process_id in ids else -1]
            ]
        )

    def _spoil(self, dealt: Dealt, ids: Sequence[ProcessId], tasks: Sequence[TaskInfo]) -> None:
        first, last = dealt[ids[0]], dealt[ids[-1]]
        match self.mistake:
            case "unknown_task":
                first[TaskId("99", 0)] = AssignedTask.active(TaskId("99", 0))
            case "unknown_process":
                dealt[ProcessId(UUID(int=7 << 64 | 7))] = {}
            case "missing_process":
                del dealt[ids[-1]]
            case "twice":
                for each in (first, last):
                    each[tasks[0].id] = AssignedTask.active(tasks[0].id)
            case "standby":
                stateless = [task.id for task in tasks if not task.is_stateful][:1]
                for task in stateless:
                    last.setdefault(task, AssignedTask.standby(task))

    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        """Note what it is told."""
        self.heard = assignment, subscription, error


def _rank(state: KafkaStreamsState, task: TaskInfo, count: int, index: int) -> str:
    had_active = 0 if task.id in state.previous_active_tasks else 1
    had_copy = 0 if task.id in state.previous_standby_tasks else 1
    lag = min(state.lag_for(task.id), _MOST_LAG) + 3 if task.is_stateful else 0
    zone = state.client_tags.get("zone", "")
    return f"{count // 3:05}|{had_active}|{had_copy}|{lag:020}|{_crossed(state, task):03}|{zone}|{index:05}"


def _crossed(state: KafkaStreamsState, task: TaskInfo) -> int:
    return sum(
        2 if each.is_source else 1
        for each in task.topic_partitions
        if not state.rack_id or state.rack_id not in (each.rack_ids or ())
    )
