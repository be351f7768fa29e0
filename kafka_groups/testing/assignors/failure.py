"""The failure of an assignor in a test, with the story that led to it."""

from collections.abc import Iterable, Iterator

from kafka_groups.testing.assignors.rules import AssignorMistake
from kafka_groups.testing.assignors.story import AssignorStory

__all__ = ["AssignorTestError"]


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
