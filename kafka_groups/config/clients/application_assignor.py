"""The task assignor of an application in a classic group: `task.assignor.class` (KIP-924)."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from attrs import frozen

from kafka_groups.assignment import (
    BUILT_IN_ASSIGNORS,
    FallbackPriorTaskAssignor,
    HighAvailabilityTaskAssignor,
    LegacyStickyTaskAssignor,
    Registered,
    StickyTaskAssignor,
    TaskAssignor,
)
from kafka_groups.assignment.application.registered import import_assignor
from kafka_groups.config.clients.prefixed import PREFIXED
from kafka_groups.config.keys import HIDDEN, without_login
from kafka_groups.config.settings import KeyTable, is_secret
from kafka_groups.config.suggestions import did_you_mean, near_names
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import represented, sentences
from kafka_groups.functions import idle_kind, mismatch

__all__ = ["ChosenAssignor", "keys_for_assignor", "read_assignor"]

_KEY: Final = "task.assignor.class"
_KAFKA: Final[Mapping[str, type[TaskAssignor]]] = MappingProxyType({
    each.__name__: each
    for each in (
        HighAvailabilityTaskAssignor, StickyTaskAssignor, LegacyStickyTaskAssignor, FallbackPriorTaskAssignor
    )
})  # fmt: skip
"""The assignors of Kafka Streams, by name."""
_NAMED: Final[Mapping[str, type[TaskAssignor]]] = {**_KAFKA, "highly_available": HighAvailabilityTaskAssignor}
_INTERNAL_STICKY: Final = "org.apache.kafka.streams.processor.internals.assignment.StickyTaskAssignor"
"""The name that `LegacyStickyTaskAssignor` had in Kafka Streams before it was called so."""
_OF_JAVA = re.compile(r"(org|com|io|net)(\.[a-z_$][\w$]*)+\.[A-Z][\w$.]*")

_USE_YOUR_OWN: Final = (
    "Use a subclass of TaskAssignor, an object of one, a function that takes an ApplicationState, or the name of one "
    f"of Kafka Streams: {', '.join(_KAFKA)}"
)
_USE_A_NAME: Final = f"Use {', '.join(_KAFKA)}, or the place of your own: module:Class"


@frozen
class ChosenAssignor:
    """The assignor that a configuration names.

    Attributes:
        assignor: A subclass of `TaskAssignor`, an object of one, or a function.
        name: Where it is defined, or the name of a class of Kafka Streams.
    """

    assignor: object
    name: str

    def configured(self, configs: Mapping[str, object]) -> Registered:
        """Return it for an application. A class is made once, to find mistakes.

        Args:
            configs: The keys of the application, for `configure`.

        Raises:
            ConfigurationError: It cannot be made, or refuses the configuration.
        """
        return Registered.of_application(self.assignor, self.name, configs)


def read_assignor(value: object) -> ChosenAssignor | Registered:
    """Read an assignor as a user names it, and import it. One that was configured for an application stays as it is.

    Args:
        value: A subclass of `TaskAssignor`, an object of one, a function from `ApplicationState` to `TaskAssignment`,
            the place of one of these, such as `my_module:MyAssignor`, or the name of one of Kafka Streams' classes.

    Raises:
        ConfigurationError: It is not such an assignor, or cannot be imported.
    """
    if isinstance(value, ChosenAssignor) or (isinstance(value, Registered) and value.is_of_application):
        return value
    found = _named(value.strip()) if isinstance(value, str) else value
    _check(found, value)
    return ChosenAssignor(found, _name_of(value, found))


def _name_of(value: object, found: object) -> str:
    """Return where an assignor is defined, or the name of one of Kafka Streams."""
    if isinstance(found, type) and found in _KAFKA.values():
        return found.__name__
    if isinstance(value, str):
        return value.strip()
    function = found.func if isinstance(found, partial) else found
    holder: Any = function if hasattr(function, "__qualname__") else type(function)
    return f"{holder.__module__}:{holder.__qualname__}"


# ------------------------------------------------------------------------------------------------ what text may name


def _named(place: str) -> object:
    if place in _NAMED:
        return _NAMED[place]
    if ":" in place:
        return import_assignor(place)
    if place in BUILT_IN_ASSIGNORS:
        raise _by_member(place)
    if _OF_JAVA.fullmatch(place):
        raise _java(place)
    raise _invalid(place, "no task assignor of Kafka Streams has this name", _suggested(place))


def _java(name: str) -> ConfigurationError:
    simple = "LegacyStickyTaskAssignor" if name == _INTERNAL_STICKY else name.rpartition(".")[2]
    if name.startswith("org.apache.kafka.") and simple in _KAFKA:
        return _invalid(name, "it is a class of Java", f"In Python the name is {simple}")
    return _invalid(
        name, "it is a class of Java", "Write it in Python, as a subclass of TaskAssignor, and give its place"
    )


def _suggested(name: str) -> str:
    module, dot, simple = name.rpartition(".")
    if dot and module and simple:
        return f"{did_you_mean([f'{module}:{simple}'])} {_USE_A_NAME}"
    near = near_names(name, _KAFKA)
    return f"{did_you_mean(near)} {_USE_A_NAME}" if near else _USE_A_NAME


# --------------------------------------------------------------------------------------------- what may be an assignor


def _check(found: Any, value: object) -> None:
    """Refuse what cannot be an assignor by process, as far as that is seen without a call."""
    if isinstance(found, TaskAssignor):
        _check_call(found.assign, value, 1)
    elif isinstance(found, type) and issubclass(found, TaskAssignor):
        _check_call(found.assign, value, 2)
    elif isinstance(found, Registered):
        raise _invalid(value, "it is a registration for brokers", "Give the assignor itself")
    elif callable(getattr(found, "assign", None)) and hasattr(found, "name"):
        raise _by_member(value)
    elif isinstance(found, type) or hasattr(found, "assign") or not callable(found):
        raise _invalid(value, "it is not a TaskAssignor", _USE_YOUR_OWN)
    else:
        _check_call(found, value, 1)


def _check_call(function: Callable[..., object], value: object, arguments: int) -> None:
    if (kind := idle_kind(function)) is not None:
        raise _invalid(value, f"it is {kind}", "Make it an ordinary function that returns a TaskAssignment")
    if (why := mismatch(function, arguments)) is not None:
        raise _invalid(value, f"it cannot be called with an ApplicationState ({why})", "Let it take that alone")


def _by_member(value: object) -> ConfigurationError:
    return _invalid(
        value,
        "it assigns tasks to members (KIP-1357), and such assignors run in brokers",
        "Use one that assigns them to processes, such as StickyTaskAssignor",
    )


def _invalid(value: object, why: str, remedy: str) -> ConfigurationError:
    return ConfigurationError(sentences(f"Invalid value {represented(value)} for {_KEY}: {why}", remedy))


# ------------------------------------------------------------------------------------------------ what `configure` gets


def keys_for_assignor(table: KeyTable, given: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Return the keys that a user gave by their dotted names, with their values, and without secrets.

    Args:
        table: The keys of the application.
        given: The keys as they were given; those of a prefix in one mapping each.
    """
    pairs = (pair for name, value in given for pair in _single(table, name, value))
    return {name: _without_secret(table, name, value) for name, value in pairs}


def _single(table: KeyTable, spelling: str, value: object) -> Iterable[tuple[str, object]]:
    """Yield a key by its dotted name. The mapping of a prefix has one key for each of its entries."""
    attribute = table.attribute(spelling)
    name = spelling if attribute is None else table.key(attribute).name
    if attribute in PREFIXED and isinstance(value, Mapping):
        yield from ((f"{name}.{each}", its) for each, its in value.items())
    else:
        yield name, value


def _without_secret(table: KeyTable, name: str, value: object) -> object:
    attribute = table.attribute(name)
    if is_secret(name) if attribute is None else table.key(attribute).secret:
        return HIDDEN
    return without_login(value) if isinstance(value, str) else value
