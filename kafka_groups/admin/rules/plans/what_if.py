"""The change of a group that is planned: another assignor, other numbers of copies, members, processes."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

import attrs
from attrs import field, frozen

from kafka_groups.admin.rules.plans.application_configs import ApplicationConfigs, application_configs
from kafka_groups.assignment import OfferedAssignor, TaskAssignors
from kafka_groups.config.places import checked_name
from kafka_groups.errors import ConfigurationError

__all__ = ["ClassicWhatIf", "PlannedProcess", "WhatIf", "checked_classic_what_if", "checked_what_if"]

_FORM: Final = (
    "Give threads=NUMBER, rack=NAME and tag.KEY=VALUE, separated by commas, such as threads=2,rack=a,tag.zone=b."
)
_TAG: Final = "tag."
_NEEDED: Final = (
    "choose a task assignor. Only a plan of a classic group has a default, and needs the topology of its application"
)
_KEPT: Final = (
    "brokers keep the configuration of a streams group, and a Registered has that of its assignor. Leave it out; for a "
    "classic group, give the topology of its application, too"
)


def _check_threads(_instance: object, _attribute: "attrs.Attribute[int]", value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"threads={value!r}: a process that joins has a whole number of threads, 1 or more.")


def _check_rack(_instance: object, _attribute: "attrs.Attribute[str | None]", value: object) -> None:
    if value is not None:
        checked_name(value, "rack")


def _as_tags(tags: Any) -> Any:
    if not isinstance(tags, Mapping):
        raise ConfigurationError(f"client_tags={tags!r}: give a dictionary of client tags.")
    return {
        checked_name(key, "client_tags"): checked_name(value, f"client_tags[{key!r}]") for key, value in tags.items()
    }


@frozen(kw_only=True)
class PlannedProcess:
    """A process that would join a streams group. It has no state.

    Attributes:
        threads: The number of its threads. Each is a member of the group.
        rack: Its rack (`client.rack`), or None.
        client_tags: Its client tags.

    Raises:
        ConfigurationError: A value is invalid.
    """

    threads: int = field(default=1, validator=_check_threads)
    rack: str | None = field(default=None, validator=_check_rack)
    client_tags: Mapping[str, str] = field(factory=dict, converter=_as_tags)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the process that is written like this: `threads=2,rack=a,tag.zone=b`. Every part may be left out.

        Raises:
            ConfigurationError: The text is not of this form.
        """
        values: dict[str, str] = {}
        for part in filter(None, text.split(",")):
            key, equals, value = part.strip().partition("=")
            if not (equals and value) or key in values:
                raise ConfigurationError(f"Invalid part '{part}' of the process '{text}'. {_FORM}")
            values[key] = value
        return cls._of(text, values)

    @classmethod
    def _of(cls, text: str, values: Mapping[str, str]) -> Self:
        tags = {
            key.removeprefix(_TAG): value
            for key, value in values.items()
            if len(key) > len(_TAG) and key.startswith(_TAG)
        }
        for key in values:
            if key not in ("threads", "rack") and key.removeprefix(_TAG) not in tags:
                raise ConfigurationError(f"Unknown key '{key}' of the process '{text}'. {_FORM}")
        threads = values.get("threads", "1")
        if not (threads.isascii() and threads.isdecimal() and int(threads)):
            raise ConfigurationError(f"Invalid number of threads '{threads}' of the process '{text}'. {_FORM}")
        return cls(threads=int(threads), rack=values.get("rack"), client_tags=tags)


@frozen(kw_only=True)
class WhatIf:
    """A change of a streams group.

    Attributes:
        assignor: The assignor that assigns its tasks.
        standby_replicas: The number of copies of each task with state; None is that of the group's configuration.
        leaving: Ids of members that leave.
        joining: Processes that join.
    """

    assignor: OfferedAssignor
    standby_replicas: int | None = None
    leaving: frozenset[str] = frozenset()
    joining: tuple[PlannedProcess, ...] = ()


def checked_what_if(
    assignor: object, configs: object, standby_replicas: object, leaving: object, joining: object
) -> WhatIf:
    """Return a change of a streams group whose values make sense by themselves.

    Raises:
        ConfigurationError: One does not.
    """
    if assignor is None:
        raise ConfigurationError(f"assignor=None: {_NEEDED}")
    if configs is not None:
        raise ConfigurationError(f"configs={configs!r}: {_KEPT}")
    return WhatIf(
        assignor=TaskAssignors.of([assignor]).default,
        standby_replicas=_standbys(standby_replicas),
        leaving=frozenset(_names(leaving)),
        joining=tuple(_processes(joining)),
    )


@frozen(kw_only=True)
class ClassicWhatIf:
    """A change of a classic group.

    Attributes:
        configs: The configuration of its application that would hold, with the task assignor.
        leaving: Ids of members that leave.
        joining: Processes that join.
    """

    configs: ApplicationConfigs
    leaving: frozenset[str] = frozenset()
    joining: tuple[PlannedProcess, ...] = ()


def checked_classic_what_if(
    assignor: object, configs: object, standby_replicas: object, leaving: object, joining: object
) -> ClassicWhatIf:
    """Return a change of a classic group whose values make sense by themselves.

    Raises:
        ConfigurationError: One does not.
    """
    given = {} if configs is None else _mapping(configs)
    return ClassicWhatIf(
        configs=application_configs(assignor, given, _standbys(standby_replicas)),
        leaving=frozenset(_names(leaving)),
        joining=tuple(_processes(joining)),
    )


def _mapping(given: object) -> Mapping[str, object]:
    if isinstance(given, Mapping):
        return {checked_name(key, "configs"): value for key, value in given.items()}
    raise ConfigurationError(f"configs={given!r}: give a dictionary of the application's keys")


def _standbys(given: object) -> int | None:
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
        return given
    raise ConfigurationError(f"standby_replicas={given!r}: give a whole number, 0 or more, or None")


def _names(given: object) -> Iterable[str]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ConfigurationError(f"leaving={given!r}: give a list of member ids, such as [{given!r}]")
    return [checked_name(each, "leaving") for each in given]


def _processes(given: object) -> Iterable[PlannedProcess]:
    if not isinstance(given, Iterable):
        raise ConfigurationError(f"joining={given!r}: give a list of PlannedProcess")
    processes = list(given)
    for each in processes:
        if not isinstance(each, PlannedProcess):
            raise ConfigurationError(f"joining: {each!r} is not a PlannedProcess, such as PlannedProcess(threads=1)")
    return processes
