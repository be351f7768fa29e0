"""The rebalances of a story: they are checked, carried out and counted."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from attrs import define, evolve, field, frozen

from kafka_groups.admin.rules.streams_leader.group_round import LeadingError
from kafka_groups.assignment.application.assignor_run import computed
from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.registered import Registered
from kafka_groups.assignment.application.task_assignor import TaskAssignmentError
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.errors import IllegalStateError
from kafka_groups.errors.texts import counted, named, sentences
from kafka_groups.testing.assignors.classic_rounds import ClassicRounds, StoryRound
from kafka_groups.testing.assignors.failure import AssignorTestError
from kafka_groups.testing.assignors.observed_assignor import ObservedAssignor, is_same_assignment
from kafka_groups.testing.assignors.results import AssignorStatistics, ProcessTasks, RebalanceResult
from kafka_groups.testing.assignors.rules import AssignorMistake, AssignorRule, mistakes_of
from kafka_groups.testing.assignors.story import AssignorStory
from kafka_groups.testing.assignors.story_application import StoryApplication
from kafka_groups.types import TaskId

__all__ = ["Rebalancing"]

_RETRY: Final = timedelta(seconds=1)
"""The time until a group asks an assignor again that has raised `TaskAssignmentError`."""
_SHOWN_MOVES: Final = 5
_MOST_ROUNDS: Final = 20
"""The rounds of a classic group in which members may join again at once. Two hand a task over."""


@frozen
class _Assigned:
    """The outcome of a rebalance.

    Attributes:
        followup_at: When the next one is due, or None.
        postponed: The error of an assignor that cannot tell now, or None.
        rounds: How many rounds it took.
    """

    followup_at: datetime | None
    postponed: TaskAssignmentError | None = None
    rounds: int = 1


@define(eq=False)
class Rebalancing:
    """Assigns the tasks of an application.

    Attributes:
        registered: The assignor.
        application: The application.
        allow_unassigned: Whether tasks may be active nowhere.
        allow_unrepeatable: Whether the same state may give another assignment.
        classic: The rounds of the application's classic group; None in a streams group.
        statistics: The metrics so far.
    """

    registered: Registered
    application: StoryApplication
    allow_unassigned: bool = field(kw_only=True)
    allow_unrepeatable: bool = field(kw_only=True)
    classic: ClassicRounds | None = field(default=None, init=False)
    statistics: AssignorStatistics = field(factory=AssignorStatistics, init=False)

    def check_ready(self) -> None:
        """Check that there is something to assign.

        Raises:
            IllegalStateError: There are no processes or no tasks.
        """
        if not self.application.group.present:
            raise IllegalStateError("No process is in the group. Call join first.")
        if not self.application.subtopologies:
            raise IllegalStateError("The application has no tasks. Call subtopology first.")
        names = [each for each in self.application.subtopologies if not each.isdecimal()]
        if self.classic is not None and names:
            raise IllegalStateError(
                f"Members of a classic group know sub-topologies by numbers. Give sub-topology {names[0]!r} one."
            )

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        copied = self.application.advance(seconds)
        self.statistics = evolve(
            self.statistics,
            records_copied=self.statistics.records_copied + copied.records,
            restoring_seconds=self.statistics.restoring_seconds + copied.restoring_seconds,
        )

    def run(self, configs: AssignmentConfigs, story: AssignorStory) -> RebalanceResult:
        """Assign the tasks once.

        Raises:
            AssignorTestError: The assignor has broken a rule.
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        before, owners = self._processes(), dict(self.application.owners)
        if self.classic is None:
            assigned = self._assign(configs, story)
        else:
            assigned = self._assign_in_rounds(self.classic, configs, story)
        result = self._result(before, owners, assigned)
        self._count(result)
        return result

    def settle(self, configs: AssignmentConfigs, story: AssignorStory, most: int) -> tuple[int, RebalanceResult]:
        """Assign the tasks until nothing moves and no follow-up is due. Return the number of rebalances, too.

        Raises:
            AssignorTestError: The assignor has broken a rule, or the tasks do not become stable.
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        result = self.run(configs, story)
        for count in range(1, most):
            if result.followup_at is None and not result.is_changed:
                return count, result
            self.advance(self._seconds_until(result.followup_at))
            result = self.run(configs, story)
        if result.followup_at is None and not result.is_changed:
            return most, result
        raise self._failure(story, _unsettled(result, most))

    # ---------------------------------------------------------------------------------------- running it

    def _assign(self, configs: AssignmentConfigs, story: AssignorStory) -> _Assigned:
        """Assign as the coordinator of a streams group does: what it computes is what members get."""
        __tracebackhide__ = True  # pytest shows the line of the test
        observed = ObservedAssignor(self.registered)
        try:
            found = computed(self._as_registered(observed), self.application.as_input(configs))
        except TaskAssignmentError as error:
            return _Assigned(self.application.now + _RETRY, error)
        except Exception as error:  # the assignor is the user's
            raise self._failure(story, _raised("assign", error)) from error
        self._check(observed, story)
        self.application.carry_out(found.outcome.group_assignment.members)
        return _Assigned(min(found.outcome.deadlines.values(), default=None))

    def _assign_in_rounds(self, classic: ClassicRounds, configs: AssignmentConfigs, story: AssignorStory) -> _Assigned:
        """Assign as the leader of a classic group does, in rounds until no member joins again at once."""
        __tracebackhide__ = True  # pytest shows the line of the test
        for rounds in range(1, _MOST_ROUNDS + 1):
            observed = ObservedAssignor(self.registered)
            found = self._round(classic, observed, configs, story)
            if found.error is not None:
                raise self._failure(story, _raised("assign", found.error.cause)) from found.error.cause
            postponed = observed.error if isinstance(observed.error, TaskAssignmentError) else None
            if not found.joins_again or postponed is not None:
                return _Assigned(found.followup_at, postponed, rounds)
        text = f"After {counted(_MOST_ROUNDS, 'round')} of the classic group, members still join again at once."
        raise self._failure(story, AssignorMistake(AssignorRule.SETTLES, text))

    def _round(
        self, classic: ClassicRounds, observed: ObservedAssignor, configs: AssignmentConfigs, story: AssignorStory
    ) -> StoryRound:
        __tracebackhide__ = True  # pytest shows the line of the test
        try:
            found = classic.lead(self._as_registered(observed), configs)
        except LeadingError as error:
            if observed.result is not None:  # then the result is wrong, and the rules say how
                self._check(observed, story)
            cause = observed.error or error
            raise self._failure(story, _raised("assign", cause)) from cause
        if observed.result is not None:
            self._check(observed, story)
        return found

    def _as_registered(self, observed: ObservedAssignor) -> Registered:
        return Registered(observed, name=self.registered.name, configs=self.registered.configs)

    def _check(self, observed: ObservedAssignor, story: AssignorStory) -> None:
        __tracebackhide__ = True  # pytest shows the line of the test
        mistakes = [*self._mistakes(observed), *self._unrepeated(observed)]
        if mistakes:
            raise self._failure(story, *mistakes)
        error = observed.callback_error
        if error is not None:
            raise self._failure(story, _raised("on_assignment_computed", error)) from error

    def _mistakes(self, observed: ObservedAssignor) -> Iterator[AssignorMistake]:
        state, result = observed.seen()
        return mistakes_of(state, result, self.application.group.names, allow_unassigned=self.allow_unassigned)

    def _unrepeated(self, observed: ObservedAssignor) -> Iterator[AssignorMistake]:
        if self.allow_unrepeatable:
            return
        state, result = observed.seen()
        try:
            other = self.registered.new_assignor().assign(state)
            if is_same_assignment(result, other):
                return
            text = "A second call with the same state returned another assignment"
        except Exception as error:  # the assignor is the user's
            text = f"A second call with the same state raised {named(error)}"
        hint = "Pass allow_unrepeatable=True if that is intended."
        yield AssignorMistake(AssignorRule.REPEATABLE, sentences(text, hint))

    def _failure(self, story: AssignorStory, *mistakes: AssignorMistake) -> AssignorTestError:
        return AssignorTestError(mistakes, assignor=self.registered.name, story=story)

    def _seconds_until(self, followup_at: datetime | None) -> float:
        if followup_at is None:
            return self.application.seconds_to_restore()
        return max(0.0, (followup_at - self.application.now).total_seconds())

    # ------------------------------------------------------------------------------------------- results

    def _processes(self) -> dict[str, ProcessTasks]:
        return {
            each.name: ProcessTasks(each.active_tasks, each.standby_tasks, each.threads)
            for each in self.application.group.present
        }

    def _result(
        self,
        before: dict[str, ProcessTasks],
        owners: dict[TaskId, str],
        assigned: _Assigned,
    ) -> RebalanceResult:
        restoring = list(self.application.restoring())
        after, present = self._processes(), self.application.group.present
        return RebalanceResult(
            processes=after,
            members={id_: tasks for each in present for id_, tasks in each.members.items()},
            moved_tasks=self._moves(owners),
            is_changed=before != after,
            records_to_copy=sum(lag for _, _, lag in restoring),
            restoring_tasks=frozenset(task for process, task, _ in restoring if task in process.active_tasks),
            followup_at=assigned.followup_at,
            postponed=assigned.postponed,
            rounds=assigned.rounds,
        )

    def _moves(self, before: dict[TaskId, str]) -> dict[TaskId, tuple[str, str]]:
        after = self.application.owners
        moved = [task for task, name in after.items() if before.get(task, name) != name]
        return {task: (before[task], after[task]) for task in in_task_order(moved)}

    def _count(self, result: RebalanceResult) -> None:
        known = self.statistics
        self.statistics = evolve(
            known,
            rebalances=known.rebalances + (result.postponed is None),
            postponed=known.postponed + (result.postponed is not None),
            moved_tasks=known.moved_tasks + len(result.moved_tasks),
            most_restoring_tasks=max(known.most_restoring_tasks, len(result.restoring_tasks)),
            greatest_load_difference=max(known.greatest_load_difference, result.load_difference),
        )


def _raised(method: str, error: Exception) -> AssignorMistake:
    return AssignorMistake(AssignorRule.NO_ERROR, sentences(f"{method} raised {named(error)}"))


def _unsettled(result: RebalanceResult, most: int) -> AssignorMistake:
    moves = [f"{task} from {source} to {target}" for task, (source, target) in result.moved_tasks.items()]
    more = f" and {len(moves) - _SHOWN_MOVES} more" if len(moves) > _SHOWN_MOVES else ""
    rebalances = counted(most, "rebalance")
    if moves:
        text = f"After {rebalances}, tasks still move: {', '.join(moves[:_SHOWN_MOVES])}{more}"
    elif result.is_changed:
        text = f"After {rebalances}, standby tasks still move"
    elif result.postponed is not None:
        text = f"After {rebalances}, assign still raises {named(result.postponed)}"
    else:
        text = f"After {rebalances}, the assignor still asks for another one, at {result.followup_at}"
    return AssignorMistake(AssignorRule.SETTLES, sentences(text))
