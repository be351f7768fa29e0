"""The task assignors that a broker offers, by name."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Self, cast

from attrs import field, frozen

from kafka_groups.assignment.application.registered import Registered, import_assignor, is_application_assignor
from kafka_groups.assignment.group.group_assignor import GroupTaskAssignor
from kafka_groups.assignment.group.sticky import StickyGroupAssignor
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import named, represented, sentences

__all__ = ["BUILT_IN_ASSIGNORS", "OfferedAssignor", "TaskAssignors"]

OfferedAssignor = GroupTaskAssignor | Registered
"""An assignor that assigns tasks to members (KIP-1357), or to processes (KIP-924)."""


def _highly_available() -> Registered:
    return Registered(
        "kafka_groups.assignment.application.built_in:HighAvailabilityTaskAssignor", name="highly_available"
    )


BUILT_IN_ASSIGNORS: Final[Mapping[str, Callable[[], OfferedAssignor]]] = MappingProxyType(
    {"sticky": StickyGroupAssignor, "highly_available": _highly_available}
)
"""Functions that make the assignors that can be registered by name alone. They are imported on first use."""


def _default_assignors() -> tuple[OfferedAssignor, ...]:
    return (StickyGroupAssignor(),)


@frozen
class TaskAssignors:
    """The registered task assignors of a broker (`group.streams.assignors`). Make one with `TaskAssignors.of`.

    Attributes:
        assignors: The assignors. The first one is the default.
    """

    assignors: tuple[OfferedAssignor, ...] = field(factory=_default_assignors)

    @classmethod
    def of(cls, entries: Iterable[object]) -> Self:
        """Register assignors.

        Args:
            entries: Names of built-in assignors, and assignors of your own. Those that assign to members (KIP-1357) are
                objects, or classes to call without arguments. Those that assign to processes (KIP-924) are objects,
                classes, functions, places such as `my_module:MyAssignor`, or any of these with a name and a
                configuration as `Registered`. The first entry is the default.

        Raises:
            ConfigurationError: There are no entries, a name is not built in, an object is not an assignor, or two
                assignors have the same name.
        """
        assignors = tuple(map(_offered, entries))
        if not assignors:
            raise ConfigurationError(
                f"There are no task assignors. Register at least one. Built-in names: {_BUILT_IN_NAMES}."
            )
        for name in _duplicates(assignor.name for assignor in assignors):
            raise ConfigurationError(f"Two task assignors have the name '{name}'. Give each assignor its own name.")
        return cls(assignors)

    def __str__(self) -> str:
        return ",".join(self.names)

    @property
    def default(self) -> OfferedAssignor:
        """The assignor of groups that do not select one."""
        return self.assignors[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all registered assignors, the default first."""
        return tuple(assignor.name for assignor in self.assignors)

    def named(self, name: str) -> OfferedAssignor:
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


def _offered(entry: object) -> OfferedAssignor:
    # There are four kinds of entries: a place in a module, a name of a built-in assignor, and objects of either
    # interface. A class of one's own may have both methods' names, so KIP-924's interface is told by its base class.
    if isinstance(entry, str):
        return _at_place(entry) if ":" in entry else _built_in(entry)
    if isinstance(entry, Registered):
        return entry
    return Registered(entry) if is_application_assignor(entry) else _by_member(entry)


def _at_place(place: str) -> OfferedAssignor:
    found = import_assignor(place)
    return found if isinstance(found, Registered) else _offered(found)


def _built_in(name: str) -> OfferedAssignor:
    if name not in BUILT_IN_ASSIGNORS:
        raise ConfigurationError(
            f"Unknown task assignor '{name}'. Built-in names: {_BUILT_IN_NAMES}. To register your own, pass the object "
            "or its place, module:Class."
        )
    return BUILT_IN_ASSIGNORS[name]()


def _by_member(entry: object) -> GroupTaskAssignor:
    assignor = _made(entry) if isinstance(entry, type) else entry
    name, assign = getattr(assignor, "name", None), getattr(assignor, "assign", None)
    if not isinstance(name, str) or not name or not callable(assign):
        raise ConfigurationError(
            f"{represented(entry)} is not a task assignor. Register a TaskAssignor or a function, an object with a "
            f"name, which is text, and a method assign, or a built-in name: {_BUILT_IN_NAMES}."
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
        text = f"Could not create the task assignor {assignor_class.__qualname__}: {named(error)}"
        remedy = "Register a class that can be called without arguments, or an object"
        raise ConfigurationError(sentences(text, remedy)) from error


def _duplicates(names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


_BUILT_IN_NAMES = ", ".join(BUILT_IN_ASSIGNORS)
