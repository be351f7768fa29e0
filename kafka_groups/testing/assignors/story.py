"""A story as data: the calls of an `AssignorTest`, to print, to repeat, and to run with another assignor."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from attrs import evolve, field, frozen

from kafka_groups.errors import ConfigurationError

__all__ = ["AssignorStory", "StoryCall", "StoryStep"]

StoryCall = Literal[
    "subtopology",
    "join",
    "leave",
    "restart",
    "resize",
    "fail_rack",
    "restore_rack",
    "configure",
    "advance",
    "rebalance",
    "settle",
    "on_classic_group",
]
"""The methods of `AssignorTest` that a story consists of."""


@frozen
class StoryStep:
    """A call of a method of `AssignorTest`.

    Attributes:
        method: The name of the method.
        argument: Its positional argument, or None if it takes none.
        options: Its keyword arguments.
        remark: What it led to, as text; not part of the call.
    """

    method: StoryCall
    argument: Any = None
    options: Mapping[str, Any] = field(factory=dict)
    remark: str = field(default="", eq=False)

    def __attrs_post_init__(self) -> None:
        if self.method not in get_args(StoryCall):
            known = ", ".join(get_args(StoryCall))
            raise ConfigurationError(f"A story has no step {self.method!r}. Use one of: {known}.")

    def __str__(self) -> str:
        arguments = [] if self.argument is None else [repr(self.argument)]
        arguments += [f"{name}={value!r}" for name, value in self.options.items()]
        call = f"test.{self.method}({', '.join(arguments)})"
        return f"{call}  # {self.remark}" if self.remark else call

    def with_remark(self, remark: str) -> "StoryStep":
        """Return the step with a remark."""
        return evolve(self, remark=remark)


@frozen(repr=False)
class AssignorStory:
    """A sequence of calls that says what happens to an application. `AssignorTest.play` runs it.

    Attributes:
        steps: The calls, in order.
    """

    steps: tuple[StoryStep, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))

    def __repr__(self) -> str:
        lines = "".join(f"\n    {step}" for step in self.steps)
        return f"<AssignorStory of {len(self.steps)} steps:{lines}\n>"
