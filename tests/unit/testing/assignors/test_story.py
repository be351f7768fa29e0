"""Stories as data."""

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.testing.assignors import AssignorStory, StoryStep


def test_a_story_is_shown_as_calls() -> None:
    story = AssignorStory((StoryStep("join", "a", {"threads": 2}), StoryStep("rebalance", remark="0 moved")))
    assert str(story) == "test.join('a', threads=2)\ntest.rebalance()  # 0 moved"
    assert repr(story) == (
        "<AssignorStory of 2 steps:\n    test.join('a', threads=2)\n    test.rebalance()  # 0 moved\n>"
    )


def test_remarks_do_not_make_a_story_another_one() -> None:
    assert AssignorStory((StoryStep("settle", remark="1"),)) == AssignorStory((StoryStep("settle"),))


def test_a_step_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"A story has no step 'explode'. Use one of: subtopology, join"):
        StoryStep("explode")  # type: ignore[arg-type]
