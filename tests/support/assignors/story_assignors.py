"""Small assignors of applications for tests of the test kit, and the beginning of a story."""

from collections.abc import Callable

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.testing.assignors import AssignorTest
from kafka_groups.types import TaskId

__all__ = ["assigned", "dealt_out", "first", "story_of", "with_more"]


def assigned(
    state: ApplicationState, plan: Callable[[int, TaskId], int], among: int | None = None
) -> list[KafkaStreamsAssignment]:
    """Give each task, by its number, to the process of a number, in the order of member ids."""
    states = sorted(
        state.kafka_streams_states(compute_task_lags=False).values(), key=lambda each: each.consumer_client_ids
    )
    found = [KafkaStreamsAssignment.of(each.process_id) for each in states]
    for number, task in enumerate(state.all_tasks):
        found[plan(number, task) % (among or len(found))].assign_task(AssignedTask.active(task))
    return found


def dealt_out(state: ApplicationState) -> TaskAssignment:
    return TaskAssignment(assigned(state, lambda number, task: number))


def with_more(
    more: Callable[[ApplicationState, list[KafkaStreamsAssignment]], object],
) -> Callable[..., TaskAssignment]:
    """An assignor that deals tasks out, and then makes a mistake."""

    def assign(state: ApplicationState) -> TaskAssignment:
        found = assigned(state, lambda number, task: number)
        more(state, found)
        return TaskAssignment(found)

    return assign


def story_of(assignor: object, *, unassigned: bool = False, unrepeatable: bool = False) -> AssignorTest:
    test = AssignorTest(assignor, restore_rate=100, allow_unassigned=unassigned, allow_unrepeatable=unrepeatable)
    test.subtopology("0", tasks=4, records=1_000)
    test.subtopology("1", tasks=1, stateful=False)
    test.join("a")
    test.join("b")
    return test


def first(state: ApplicationState) -> TaskId:
    return next(iter(state.all_tasks))
