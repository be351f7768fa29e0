"""The failure of an assignor in a test, with the story that led to it."""

from collections.abc import Iterable, Iterator

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.testing.assignors.rules import AssignorMistake, mistakes_of
from kafka_groups.testing.assignors.story import AssignorStory

__all__ = ["AssignorTestError", "check_task_assignment"]


class AssignorTestError(AssertionError):
    """An assignor has broken rules.

    Attributes:
        mistakes: What is wrong.
        story: What has happened until then; None if the assignment was checked on its own. `AssignorTest.play` repeats
            it.
    """

    def __init__(
        self, mistakes: Iterable[AssignorMistake], *, assignor: str | None = None, story: AssignorStory | None = None
    ) -> None:
        self.mistakes = tuple(mistakes)
        self.story = story
        super().__init__("\n".join([_heading(assignor, story), *_lines(self.mistakes, story)]))


def _heading(assignor: str | None, story: AssignorStory | None) -> str:
    if story is None:
        return "The assignment breaks rules of task assignors."
    return f"The assignor {assignor} failed in step {len(story.steps)}, test.{story.steps[-1].method}."


def _lines(mistakes: Iterable[AssignorMistake], story: AssignorStory | None) -> Iterator[str]:
    yield from (f"- {each}" for each in mistakes)
    if story is not None:
        yield "The story so far:"
        yield from (f"{number:>4}  {step}" for number, step in enumerate(story.steps, 1))


def check_task_assignment(
    application_state: ApplicationState, task_assignment: TaskAssignment, *, allow_unassigned: bool = False
) -> None:
    """Check the assignment of an application by the rules of `AssignorRule`.

    It finds what `validate_task_assignment` finds, and also tasks that are active nowhere and processes that are named
    twice. It names all mistakes.

    Args:
        application_state: What the assignor has seen.
        task_assignment: What it has returned.
        allow_unassigned: Whether tasks may be active nowhere.

    Raises:
        AssignorTestError: The assignment breaks a rule.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    mistakes = list(mistakes_of(application_state, task_assignment, {}, allow_unassigned=allow_unassigned))
    if mistakes:
        raise AssignorTestError(mistakes)
