"""The task assignors that a broker offers, by name."""

import inspect
from collections.abc import Iterable, Iterator
from typing import Final, Self, cast

from attrs import frozen

from kafka_groups.assignment.group.interface import GroupTaskAssignor
from kafka_groups.assignment.group.sticky import StickyGroupAssignor
from kafka_groups.errors import ConfigurationError

__all__ = ["BUILT_IN_ASSIGNORS", "TaskAssignors"]

BUILT_IN_ASSIGNORS: Final[tuple[GroupTaskAssignor, ...]] = (StickyGroupAssignor(),)
"""The assignors that can be registered by name alone."""


@frozen
class TaskAssignors:
    """The registered task assignors of a broker (`group.streams.assignors`). Make one with `TaskAssignors.of`.

    Attributes:
        assignors: The assignors. The first one is the default.
    """

    assignors: tuple[GroupTaskAssignor, ...] = BUILT_IN_ASSIGNORS

    @classmethod
    def of(cls, entries: Iterable[object]) -> Self:
        """Register assignors.

        Args:
            entries: Names of built-in assignors, and assignors of your own: objects, or classes to call without
                arguments. The first entry is the default.

        Raises:
            ConfigurationError: There are no entries, a name is not built in, an object is not an assignor, or two
                assignors have the same name.
        """
        assignors = tuple(_built_in(entry) if isinstance(entry, str) else _own(entry) for entry in entries)
        if not assignors:
            raise ConfigurationError(f"No task assignors. Register at least one; built-in names: {_BUILT_IN_NAMES}.")
        for name in _duplicates(assignor.name for assignor in assignors):
            raise ConfigurationError(f"Two task assignors have the name '{name}'. Give each assignor its own name.")
        return cls(assignors)

    def __str__(self) -> str:
        return ",".join(self.names)

    @property
    def default(self) -> GroupTaskAssignor:
        """The assignor of groups that do not select one."""
        return self.assignors[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all registered assignors, the default first."""
        return tuple(assignor.name for assignor in self.assignors)

    def named(self, name: str) -> GroupTaskAssignor:
        """Return the assignor with this name.

        Raises:
            ConfigurationError: No assignor with this name is registered.
        """
        for assignor in self.assignors:
            if assignor.name == name:
                return assignor
        raise ConfigurationError(
            f"Unknown task assignor '{name}'. Registered assignors: {', '.join(self.names)}. "
            "Choose one of these, or register yours in group.streams.assignors."
        )


def _built_in(name: str) -> GroupTaskAssignor:
    for assignor in BUILT_IN_ASSIGNORS:
        if assignor.name == name:
            return assignor
    raise ConfigurationError(
        f"Unknown task assignor '{name}'. Built-in names: {_BUILT_IN_NAMES}. To register your own, pass the object."
    )


def _own(entry: object) -> GroupTaskAssignor:
    assignor = _made(entry) if isinstance(entry, type) else entry
    name, assign = getattr(assignor, "name", None), getattr(assignor, "assign", None)
    if not isinstance(name, str) or not name or not callable(assign):
        raise ConfigurationError(
            f"{entry!r} is not a task assignor. Register an object with a name, which is text, and a method assign; "
            f"or a built-in name: {_BUILT_IN_NAMES}."
        )
    if inspect.iscoroutinefunction(assign):
        raise ConfigurationError(
            f"The method assign of the task assignor '{name}' is asynchronous. Make it an ordinary method: the "
            "coordinator calls it and uses what it returns."
        )
    return cast(GroupTaskAssignor, assignor)


def _made(assignor_class: type[object]) -> object:
    try:
        return assignor_class()
    except Exception as error:  # the class may be anybody's
        raise ConfigurationError(
            f"Could not create the task assignor {assignor_class.__qualname__}: {error!r}. Register a class that can "
            "be called without arguments, or an object."
        ) from error


def _duplicates(names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


_BUILT_IN_NAMES = ", ".join(assignor.name for assignor in BUILT_IN_ASSIGNORS)
