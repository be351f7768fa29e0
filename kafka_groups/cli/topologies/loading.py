"""From `module:build` on a command line to a topology."""

import importlib
import inspect
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import kafka_groups
from kafka_groups.cli.working_directory import import_from_here
from kafka_groups.functions import idle_kind
from kafka_groups.streams import StreamsBuilder, Topology

__all__ = ["load_function", "load_topology", "place_of", "topology_argument"]

_NOT_SHOWN = (str(Path(kafka_groups.__file__).parent), "<frozen ")
_FORM = "a function without arguments that returns a Topology"

topology_argument = click.argument("build", metavar="MODULE:FUNCTION")
"""The argument that names the function that builds a topology."""


def load_topology(given: str) -> Topology:
    """Import a module, call the function that it names, and return the topology.

    The module may be in the working directory, or anywhere where Python finds it.

    Raises:
        click.ClickException: There is no such function, it failed, or it returned something else.
    """
    return load_function(given)()


def load_function(given: str) -> Callable[[], Topology]:
    """Import a module, and return the function that builds a topology. It can be pickled.

    Raises:
        click.ClickException: There is no such function. The function raises it, too, if the topology cannot be built.
    """
    module_name, colon, name = given.partition(":")
    if not (module_name and colon and name):
        raise click.BadParameter(f"{given!r} is not of the form MODULE:FUNCTION, such as app:build.")
    return partial(_built, given, _function(given, _imported(module_name), name))


def place_of(error: BaseException) -> str:
    """Return the last place outside of this package that led to an exception, as " (file:line)", or nothing.

    If it was raised because of another, the place is that of the first.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_NOT_SHOWN)]
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""


def _imported(name: str) -> ModuleType:
    import_from_here()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise click.ClickException(
                f"There is no module {error.name!r}, neither in {Path.cwd()} nor where Python looks for modules. "
                "Change to the directory that contains it, or set PYTHONPATH."
            ) from error
        raise _import_failed(name, error) from error
    except (Exception, SystemExit) as error:
        raise _import_failed(name, error) from error


def _import_failed(name: str, error: BaseException) -> click.ClickException:
    return click.ClickException(f"Module {name!r} cannot be imported: {_told(error)}")


def _function(given: str, module: ModuleType, name: str) -> Callable[[], Any]:
    found = getattr(module, name, None)
    if found is None:
        functions = sorted(
            name for name, _ in inspect.getmembers(module, inspect.isfunction) if not name.startswith("_")
        )
        raise click.ClickException(
            f"Module {module.__name__!r} has no function {name!r}. Its functions are: {', '.join(functions) or 'none'}."
        )
    if not callable(found) or isinstance(found, type):
        is_class = "a class" if isinstance(found, type) else f"of the type {type(found).__name__}"
        raise click.ClickException(f"{given} is {is_class} and not {_FORM}.")
    if (kind := idle_kind(found)) is not None:
        raise click.ClickException(f"{given} is {kind} and not {_FORM}.")
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise click.ClickException(f"{given} is not {_FORM} ({error}).") from error
    function: Callable[[], Any] = found
    return function


def _built(given: str, function: Callable[[], Any]) -> Topology:
    try:
        made = function()
    except (Exception, SystemExit) as error:
        raise click.ClickException(f"{given} failed: {_told(error)}") from error
    if isinstance(made, StreamsBuilder):
        raise click.ClickException(f"{given} returned a StreamsBuilder. Return builder.build().")
    if not isinstance(made, Topology):
        raise click.ClickException(f"{given} returned {type(made).__name__} and not a Topology.")
    return made


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}{place_of(error)}"
