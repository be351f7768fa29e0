"""The task assignor of a simulated application in a classic group."""

from collections.abc import Mapping
from datetime import timedelta

from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    KafkaStreamsAssignment,
    StickyTaskAssignor,
    TaskAssignment,
    TaskAssignmentError,
)

__all__ = ["drawn_assignor"]

_TURN_S = 11
_CANNOT_TELL = 4
"""Every fourth turn, an assignor that cannot always tell raises an error."""


def wandering(state: ApplicationState) -> TaskAssignment:
    """Move all tasks to another process in each turn, and ask for the next turn."""
    turn = _turn(state)
    processes = sorted(state.kafka_streams_states(compute_task_lags=False))
    given = {each: KafkaStreamsAssignment.of(each) for each in processes}
    for number, task in enumerate(state.all_tasks):
        given[processes[(number + turn) % len(processes)]].assign_task(AssignedTask.active(task))
    first = given[processes[turn % len(processes)]]
    given[first.process_id] = first.with_followup_rebalance(state.now + timedelta(seconds=_TURN_S))
    return TaskAssignment(given.values())


def often_unable(state: ApplicationState) -> TaskAssignment:
    """Do the same, but be unable to tell now and then."""
    if _turn(state) % _CANNOT_TELL == 0:
        raise TaskAssignmentError("this is not the time to move tasks")
    return wandering(state)


def _turn(state: ApplicationState) -> int:
    return int(state.now.timestamp()) // _TURN_S


_DRAWN: tuple[Mapping[str, object], ...] = (
    {},
    {"task.assignor.class": wandering},
    {"task.assignor.class": often_unable},
    {"task.assignor.class": StickyTaskAssignor},
)


def drawn_assignor(seed: int) -> Mapping[str, object]:
    """Return the assignor of a seed as configuration: with both guarantees, as odd seeds have the other one."""
    return _DRAWN[seed // 2 % len(_DRAWN)]
