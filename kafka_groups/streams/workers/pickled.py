"""The program that worker processes get from their parent, and a check that they can get it."""

import logging
import pickle
from collections.abc import Callable, Mapping

from attrs import frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import text_of
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.topology.topology import Topology

__all__ = ["WorkerProgram", "checked_program"]

_WHY = "With num_workers from 2 on, each worker is a process that imports what it runs"


@frozen(kw_only=True)
class WorkerProgram:
    """The program of a worker process, as it is sent there.

    Attributes:
        build: Builds the topology.
        mapping: Keys of the application by their dotted names.
        keywords: Keys of the application by their Python names.
        listeners: The listeners of restoration.
        process_id: The id of the parent, for the group.
        log_level: The level of the parent's root logger.
    """

    build: Callable[[], Topology]
    mapping: Mapping[str, object]
    keywords: Mapping[str, object]
    listeners: RestoreListeners
    process_id: str
    log_level: int


def checked_program(
    build: object, mapping: Mapping[str, object] | None, keywords: Mapping[str, object], listeners: RestoreListeners
) -> WorkerProgram:
    """Return a program that can be sent to worker processes, still without the id of the process.

    Raises:
        ConfigurationError: The topology is not a function that a worker can import, or a key or listener cannot be
            pickled.
    """
    if isinstance(build, Topology):
        raise ConfigurationError(f"topology={build!r} is a topology. {_WHY}: give the function that builds it.")
    _check("topology", build, "Give a function at the top level of a module, and no lambda or inner function.")
    given = {
        "state_restore_listener": listeners.restore,
        "standby_update_listener": listeners.standby,
        **(mapping or {}),
        **keywords,
    }
    for name, value in given.items():
        _check(name, value, "Give something at the top level of a module, and no lambda or inner function.")
    return WorkerProgram(
        build=build,  # type: ignore[arg-type]
        mapping=dict(mapping or {}),
        keywords=dict(keywords),
        listeners=listeners,
        process_id="",
        log_level=logging.getLogger().getEffectiveLevel(),
    )


def _check(name: str, value: object, remedy: str) -> None:
    try:
        pickle.dumps(value)
    except Exception as error:  # whatever the value's own class raises
        raise ConfigurationError(f"{name} cannot be pickled ({text_of(error)}). {_WHY}. {remedy}") from error
