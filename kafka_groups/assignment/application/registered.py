"""An assignor as a broker, a plan or an application registers it: under a name, with a configuration."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

from attrs import field, fields, frozen

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.task_assignor import TaskAssignor
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import named, place_of, represented, sentences

__all__ = ["AssignFunction", "Registered", "import_assignor", "is_application_assignor"]

AssignFunction = Callable[[ApplicationState], TaskAssignment]
"""An assignor that is only a function."""

_KEYS: Final[Mapping[str, str]] = MappingProxyType({
    "max.warmup.replicas": "max_warmup_replicas",
    "probing.rebalance.interval.ms": "probing_rebalance_interval_ms",
    "rack.aware.assignment.traffic_cost": "rack_aware_traffic_cost",
    "rack.aware.assignment.non_overlap_cost": "rack_aware_non_overlap_cost",
    "rack.aware.assignment.strategy": "rack_aware_assignment_strategy",
})  # fmt: skip
"""The values of `AssignmentConfigs` that a registration gives, by Kafka's names. Groups and brokers have the others."""

_NOT_OF_PROGRAMS: Final = (
    f'File "{Path(__file__).parents[2]}',
    'File "<frozen importlib',
    f'File "{importlib.__file__}',
)
"""The begin of places in this package, and in Python's own code that imports modules."""

# Streams Rebalance Protocol, "Centralized Assignment Configuration": these are configured for the group, so that all
# assignors and the coordinator have the same values.
_OF_GROUPS: Final = ("acceptable.recovery.lag", "num.standby.replicas", "rack.aware.assignment.tags")


def _frozen_map(configs: Mapping[str, object]) -> Mapping[str, object]:
    return MappingProxyType({str(key): value for key, value in configs.items()})


class _FunctionAssignor(TaskAssignor):
    """An assignor that calls a function."""

    def __init__(self, function: AssignFunction) -> None:
        self._function = function

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        return self._function(application_state)


def import_assignor(place: str) -> object:
    """Return the class, function or object at a place such as `my_module:MyAssignor`.

    Raises:
        ConfigurationError: There is nothing, or the module cannot be imported.
    """
    module, colon, name = place.partition(":")
    if not (module and colon and name):
        raise ConfigurationError(f"'{place}' is not the place of a task assignor. Give module:Class.")
    try:
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # the module may be anybody's
        text = f"Could not import the task assignor '{place}': {named(error)}"
        remedy = "Check the name, and that Python finds the module (PYTHONPATH)"
        raise ConfigurationError(sentences(text, remedy, _place_in_program(error))) from error


def _place_in_program(error: BaseException) -> str:
    """Return where the program has raised an error; nothing if it was raised by a call of this package."""
    place = place_of(error)
    return "" if place.startswith(_NOT_OF_PROGRAMS) else place


def is_application_assignor(entry: object) -> bool:
    """Return whether something is an assignor of applications: an object, a class or a function."""
    if isinstance(entry, type):
        return issubclass(entry, TaskAssignor)
    # A function has no method `assign`; an object with one that is not a `TaskAssignor` may be an assignor by member.
    return isinstance(entry, TaskAssignor) or (callable(entry) and not hasattr(entry, "assign"))


def _found(assignor: object) -> object:
    found = import_assignor(assignor) if isinstance(assignor, str) else assignor
    if not is_application_assignor(found):
        raise ConfigurationError(
            f"{represented(found)} is not a task assignor. Register a subclass of TaskAssignor, an object of one, a "
            "function that takes an ApplicationState, or its place: module:Class."
        )
    if inspect.iscoroutinefunction(getattr(found, "assign", found)):
        raise ConfigurationError(
            f"The task assignor {represented(found)} is asynchronous. Make it an ordinary function."
        )
    return found


@frozen
class Registered:
    """A task assignor of applications (KIP-924) under the name by which groups choose it.

    Attributes:
        assignor: An object, a subclass of `TaskAssignor`, which is instantiated for each assignment, a function from
            `ApplicationState` to `TaskAssignment`, or where one of these is: `module:Class`.
        name: The name for `streams.assignor.name`; that of the class or function by default.
        configs: The configuration for `configure`. The keys `max.warmup.replicas`, `probing.rebalance.interval.ms`,
            `rack.aware.assignment.strategy`, `rack.aware.assignment.traffic_cost` and
            `rack.aware.assignment.non_overlap_cost` are also in `ApplicationState.assignment_configs`.
        is_of_application: True if it was registered with `of_application`.

    Raises:
        ConfigurationError: It is not an assignor, or a value of the configuration is out of bounds.
    """

    assignor: object = field(converter=_found)
    name: str = field(kw_only=True)
    configs: Mapping[str, object] = field(factory=dict, kw_only=True, converter=_frozen_map)
    is_of_application: bool = field(default=False, kw_only=True)

    @classmethod
    def of_application(cls, assignor: object, name: str, configs: Mapping[str, object]) -> Self:
        """Register the assignor of an application in a classic group, whose members assign its tasks (KIP-924).

        A class is made once, and configured, to find mistakes. An object is configured now, and not again.

        Args:
            assignor: An object, a subclass of `TaskAssignor`, or a function from `ApplicationState` to
                `TaskAssignment`.
            name: Its name in messages.
            configs: The configuration of the application, for `configure`. Assignments have their values from the
                application itself.

        Raises:
            ConfigurationError: It is not an assignor, cannot be made, or refuses the configuration.
        """
        return cls(assignor, name=name, configs=configs, is_of_application=True)

    @name.default
    def _default_name(self) -> str:
        holder = self.assignor if hasattr(self.assignor, "__qualname__") else type(self.assignor)
        return str(getattr(holder, "__name__", holder))

    def __attrs_post_init__(self) -> None:
        if not self.name:
            raise ConfigurationError(f"The task assignor {represented(self.assignor)} has an empty name. Give it one.")
        # Everything that can fail is tried here, so that nothing starts with an assignor that fails at the first
        # assignment.
        self.assignment_configs(AssignmentConfigs())
        made = self._configured()
        if self.is_of_application:
            return
        if isinstance(self.assignor, type) and made is self.new_assignor():
            raise ConfigurationError(
                f"The class {self.assignor.__qualname__} of the task assignor '{self.name}' makes the same object "
                "again, but each assignment needs a new one. Register the object if assignments may share it."
            )

    def __str__(self) -> str:
        return self.name

    def new_assignor(self) -> TaskAssignor:
        """Return the assignor for one assignment, configured.

        Raises:
            ConfigurationError: The class cannot be called without arguments, or refuses the configuration.
        """
        if self.is_of_application and isinstance(self.assignor, TaskAssignor):
            return self.assignor  # which was configured with the application
        return self._configured()

    def _configured(self) -> TaskAssignor:
        try:
            # A new object for each assignment, as in StreamsPartitionAssignor.createTaskAssignor: the class may keep
            # what it computes.
            made = _made(self.assignor)
            made.configure(self.configs)
        except Exception as error:  # the class may be anybody's
            text = f"Could not create or configure the task assignor '{self.name}': {named(error)}"
            raise ConfigurationError(sentences(text, self._remedy, _place_in_program(error))) from error
        return made

    @property
    def _remedy(self) -> str:
        if self.is_of_application:
            return (
                "Give task.assignor.class a class that can be called without arguments, or an object, whose configure "
                "accepts the keys of the application"
            )
        return "Register a class that can be called without arguments and accepts its configuration"

    def assignment_configs(self, of_group: AssignmentConfigs) -> AssignmentConfigs:
        """Return the values of a group together with those of this registration.

        Raises:
            ConfigurationError: A value is out of bounds, or belongs to groups.
        """
        if self.is_of_application:
            return of_group  # whose values are the application's
        for key in self.configs:
            if key in _OF_GROUPS:
                raise ConfigurationError(
                    f"The configuration of the task assignor '{self.name}' has '{key}', which groups and brokers set: "
                    f"streams.{key}."
                )
        own = {name: _value(key, self.configs[key]) for key, name in _KEYS.items() if key in self.configs}
        known = {each.name: getattr(of_group, each.name) for each in fields(AssignmentConfigs)}
        return AssignmentConfigs(**{**known, **own})


def _made(assignor: Any) -> TaskAssignor:
    if isinstance(assignor, TaskAssignor):
        return assignor
    made = assignor() if isinstance(assignor, type) else _FunctionAssignor(assignor)
    if not isinstance(made, TaskAssignor):
        raise TypeError(f"{represented(assignor)} made {represented(made)}, which is not a TaskAssignor")
    return made


def _value(key: str, value: object) -> object:
    """Return a value that may have come as text."""
    if not isinstance(value, str) or key == "rack.aware.assignment.strategy":
        return value
    try:
        return int(value)
    except ValueError:
        raise ConfigurationError(f"{key} must be a whole number, not '{value}'.") from None
