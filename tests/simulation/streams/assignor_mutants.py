"""Defects planted on purpose in how groups use assignors: each must be caught by the simulation within a few seeds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.assignment.application import outcome
from kafka_groups.broker.coordinators.groups.streams import groups
from kafka_groups.broker.coordinators.groups.streams.computation import AssignmentComputation
from kafka_groups.broker.coordinators.groups.streams.groups import StreamsGroups
from kafka_groups.broker.runtime.groups.assignor_runs import AssignorRuns
from tests.support.planted_defects import Patch, by_name

__all__ = ["ASSIGNOR_MUTANTS"]


def results_are_not_checked(patch: Patch) -> None:
    """Whatever an assignor returns is used."""
    patch.setattr(outcome, "first_mistake", lambda *_: None)


def computations_never_end(patch: Patch) -> None:
    """After an assignor has failed, its group waits for a result for ever."""
    failed = AssignmentComputation.failed

    def fail_and_wait(self: AssignmentComputation, *args: Any) -> int:
        self.is_running = True
        return failed(self, *args)

    patch.setattr(AssignmentComputation, "failed", fail_and_wait)


def failures_are_final(patch: Patch) -> None:
    """An assignor that has failed is never run again, whatever has changed."""
    may_begin = AssignmentComputation.may_begin

    def begin_once(self: AssignmentComputation, *args: Any) -> bool:
        return self._failure is None and may_begin(self, *args)

    patch.setattr(AssignmentComputation, "may_begin", begin_once)


def hanging_assignors_are_waited_for_without_being_told(patch: Patch) -> None:
    """An assignor that takes too long is given up, and its group is not told."""

    def give_up(_self: AssignorRuns, _name: str, lane: Any, run: Any) -> None:
        if lane.running is run:
            lane.running = None

    patch.setattr(AssignorRuns, "_give_up", give_up)


def results_are_lost(patch: Patch) -> None:
    """A result is taken, and no record of it is written."""
    patch.setattr(groups, "write_target", lambda *_: None)


def only_the_first_member_gets_tasks(patch: Patch) -> None:
    """Of a process with several members, one gets nothing."""
    computed = StreamsGroups.assignment_computed

    def take_some(self: StreamsGroups, effect: Any, result: Any, now_ms: int) -> Any:
        if not isinstance(result, Exception) and len(result.outcome.group_assignment.members) > 1:
            members = dict(result.outcome.group_assignment.members)
            members.pop(min(members))
            object.__setattr__(result.outcome.group_assignment, "members", members)
        return computed(self, effect, result, now_ms)

    patch.setattr(StreamsGroups, "assignment_computed", take_some)


ASSIGNOR_MUTANTS = by_name(
    results_are_not_checked,
    computations_never_end,
    failures_are_final,
    hanging_assignors_are_waited_for_without_being_told,
    results_are_lost,
    only_the_first_member_gets_tasks,
)

CAUGHT_BY: Mapping[str, int] = MappingProxyType({
    "results_are_not_checked": 702,
    "computations_never_end": 701,
    "failures_are_final": 701,
    "hanging_assignors_are_waited_for_without_being_told": 710,
    "results_are_lost": 701,
    "only_the_first_member_gets_tasks": 701,
})  # fmt: skip
"""The seeds that catch defects which the first one does not see. They are tried first, and need not stay right."""
