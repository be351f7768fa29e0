"""Defects planted on purpose in the assignors of applications: Java's recorded answers must show each."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka_groups.assignment.application import built_in, threads
from kafka_groups.assignment.application.algorithms import balance, previous_owners, standby_tasks, sticky
from kafka_groups.assignment.application.algorithms.caught_up import CaughtUp
from kafka_groups.assignment.application.algorithms.least_loaded import LeastLoaded
from kafka_groups.assignment.application.algorithms.movements import Movements
from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan
from kafka_groups.assignment.application.algorithms.previous_owners import PreviousOwners
from kafka_groups.assignment.application.algorithms.rack_aware import rack_awareness
from kafka_groups.assignment.application.algorithms.sticky import Sticky
from kafka_groups.assignment.application.algorithms.sticky_choice import StickyChoice
from kafka_groups.assignment.application.algorithms.task_pairs import TaskPairs
from kafka_groups.assignment.application.assignments import KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.states import ACTIVE_LAG
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.assignment.java_queue import JavaQueue
from kafka_groups.types import TaskId
from tests.support.planted_defects import Patch, by_name

__all__ = ["DEFECTS"]


def equal_loads_go_to_the_last_process(patch: Patch) -> None:
    """Of processes with equal loads, the one with the largest id is taken."""
    made = LeastLoaded.__init__

    def backwards(self: LeastLoaded, plans: Plans, *load: Any) -> None:
        made(self, dict(reversed(list(plans.items()))), *load)

    patch.setattr(LeastLoaded, "__init__", backwards)


def threads_do_not_break_ties(patch: Patch) -> None:
    """The legacy class does not look at threads when loads are equal."""
    made = StickyChoice.__init__

    def without(self: StickyChoice, *arguments: Any, prefers_threads: bool, is_sorted: bool) -> None:
        del prefers_threads
        made(self, *arguments, prefers_threads=False, is_sorted=is_sorted)

    patch.setattr(StickyChoice, "__init__", without)


def quota_is_off_by_one(patch: Patch) -> None:
    """A thread keeps one task more than its share."""
    returned = Sticky._return_active

    def more(self: Sticky, left: set[TaskId], quota: int, *, must_preserve: bool) -> None:
        returned(self, left, quota + 1, must_preserve=must_preserve)

    patch.setattr(Sticky, "_return_active", more)


def tasks_do_not_go_where_copies_were(patch: Patch) -> None:
    """Previous copies do not count until processes have their share."""
    patch.setattr(Sticky, "_promote_standby", lambda _self, _tasks, _left, _quota: None)


def tasks_come_in_their_order(patch: Patch) -> None:
    """Previous owners get their tasks back in the order of tasks, instead of that of a hash table."""

    def sorted_tasks(tasks: Iterable[TaskId], *, is_copy: bool = False) -> list[TaskId]:
        del is_copy
        return in_task_order(tasks)

    patch.setattr(sticky, "in_java_order", sorted_tasks)
    patch.setattr(PreviousOwners, "active_in_java_order", lambda self: in_task_order(self.active))


def previous_copies_come_in_the_order_of_ids(patch: Patch) -> None:
    """Of several processes that had copies, the one with the smallest id is taken."""
    patch.setattr(previous_owners, "in_hash_table_order", sorted)


def the_first_of_several_owners_keeps_a_task(patch: Patch) -> None:
    """A task that ran in several processes stays in the first, and not in the last."""
    of = PreviousOwners.of
    patch.setattr(PreviousOwners, "of", lambda plans: of(dict(reversed(list(plans.items())))))


def pairs_do_not_count(patch: Patch) -> None:
    """Copies do not avoid tasks that are together elsewhere."""
    patch.setattr(TaskPairs, "meets_another", lambda _self, _task, _plan: True)


def tag_of_the_source_is_ignored(patch: Patch) -> None:
    """A copy may have the tags of the process where the task runs."""
    shared_values = standby_tasks._shared_values

    def without(used: Sequence[ProcessPlan], plans: Plans, tags: Sequence[str]) -> set[tuple[str, str]]:
        return shared_values(used[1:], plans, tags)

    patch.setattr(standby_tasks, "_shared_values", without)


def copies_move_by_load_alone(patch: Patch) -> None:
    """A copy moves to a process with less load that has the task already."""
    patch.setattr(ProcessPlan, "has", lambda self, task: task in self.active)


def warm_up_budget_is_not_shared(patch: Patch) -> None:
    """Copies that move have warm-ups of their own."""
    moved = Movements.move_standby

    def anew(self: Movements, tasks: Sequence[TaskId]) -> int:
        self._warmups_left += 1
        return moved(self, tasks)

    patch.setattr(Movements, "move_standby", anew)


def tasks_that_run_are_behind(patch: Patch) -> None:
    """A lag of -2 is not acceptable."""
    has_state = CaughtUp.has_state

    def never_running(self: CaughtUp, task: TaskId, plan: ProcessPlan) -> bool:
        return plan.state.lag_for(task) != ACTIVE_LAG and has_state(self, task, plan)

    patch.setattr(CaughtUp, "has_state", never_running)


def movements_are_made_in_the_order_of_tasks(patch: Patch) -> None:
    """It does not matter how many processes can help."""
    patch.setattr(Movements, "_in_order", lambda _self, moves: iter(moves))


def loads_are_not_balanced(patch: Patch) -> None:
    """Nothing moves after tasks were dealt out."""
    patch.setattr(balance, "_moves_any", lambda _pairs, _tasks_of: False)


def racks_do_not_count(patch: Patch) -> None:
    """Tasks stay in racks where they cost more."""
    patch.setattr(rack_awareness, "move_active_tasks", lambda _tasks, _plans, _costs, _strategy: None)


def tasks_without_state_cost_something_to_move(patch: Patch) -> None:
    """A task without state stays in another rack than what it reads."""
    patch.setattr(rack_awareness, "_STATELESS_NON_OVERLAP", 10)


def copies_do_not_change_racks(patch: Patch) -> None:
    """Copies stay in racks where they cost more."""
    patch.setattr(rack_awareness, "move_standby_tasks", lambda _plans, _costs, _strategy, _may_move: None)


def probing_is_not_asked_for(patch: Patch) -> None:
    """No rebalance follows."""

    def silent(assignments: Sequence[KafkaStreamsAssignment], _state: object) -> TaskAssignment:
        return TaskAssignment(assignments)

    patch.setattr(built_in, "_asking_again", silent)


def rest_is_given_in_the_order_of_tasks(patch: Patch) -> None:
    """Threads get what is left in the order of tasks, instead of that of the heap."""

    def in_order(self: JavaQueue[Any]) -> Any:
        return iter([value for _, value in sorted(self._heap, key=lambda entry: entry[0])])

    patch.setattr(JavaQueue, "__iter__", in_order)


def heap_is_made_one_by_one(patch: Patch) -> None:
    """The queue of a pass is filled task by task, instead of at once."""
    patch.setattr(JavaQueue, "of", JavaQueue)


def threads_forget_what_they_had(patch: Patch) -> None:
    """Tasks beyond the share of a thread are not remembered."""
    keep = threads._Pass._keep

    def forgetful(self: Any, queue: JavaQueue[TaskId], had: Mapping[str, Iterable[TaskId]]) -> dict[TaskId, str]:
        keep(self, queue, had)
        return {}

    patch.setattr(threads._Pass, "_keep", forgetful)


DEFECTS = by_name(
    equal_loads_go_to_the_last_process,
    threads_do_not_break_ties,
    quota_is_off_by_one,
    tasks_do_not_go_where_copies_were,
    tasks_come_in_their_order,
    previous_copies_come_in_the_order_of_ids,
    the_first_of_several_owners_keeps_a_task,
    pairs_do_not_count,
    tag_of_the_source_is_ignored,
    copies_move_by_load_alone,
    warm_up_budget_is_not_shared,
    tasks_that_run_are_behind,
    movements_are_made_in_the_order_of_tasks,
    loads_are_not_balanced,
    racks_do_not_count,
    tasks_without_state_cost_something_to_move,
    copies_do_not_change_racks,
    probing_is_not_asked_for,
    rest_is_given_in_the_order_of_tasks,
    heap_is_made_one_by_one,
    threads_forget_what_they_had,
)
"""Each makes some answer differ from Java's."""
