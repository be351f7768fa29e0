"""From `module:build` on a command line to a topology."""

import inspect
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from kafka_groups.cli.imports import imported_module, told
from kafka_groups.functions import idle_kind

if TYPE_CHECKING:
    from kafka_groups.streams import Topology

__all__ = ["load_function", "load_topology", "topology_argument"]

_FORM = "a function without arguments that returns a Topology"

topology_argument = click.argument("build", metavar="MODULE:FUNCTION")
"""The argument that names the function that builds a topology."""


def load_topology(given: str) -> "Topology":
    """Import a module, call the function that it names, and return the topology.

    The module may be in the working directory, or anywhere where Python finds it.

    Raises:
        click.ClickException: There is no such function, it failed, or it returned something else.
    """
    return load_function(given)()


def load_function(given: str) -> Callable[[], "Topology"]:
    """Import a module, and return the function that builds a topology. It can be pickled.

    Raises:
        click.ClickException: There is no such function. The function raises it, too, if the topology cannot be built.
    """
    module_name, colon, name = given.partition(":")
    if not (module_name and colon and name):
        raise click.BadParameter(f"{given!r} is not of the form MODULE:FUNCTION, such as app:build.")
    return partial(_built, given, _function(given, imported_module(module_name), name))


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


def _built(given: str, function: Callable[[], Any]) -> "Topology":
    from kafka_groups.streams import StreamsBuilder, Topology  # noqa: PLC0415 - help texts need no DSL

    try:
        made = function()
    except (Exception, SystemExit) as error:
        raise click.ClickException(f"{given} failed: {told(error)}") from error
    if isinstance(made, StreamsBuilder):
        raise click.ClickException(f"{given} returned a StreamsBuilder. Return builder.build().")
    if not isinstance(made, Topology):
        raise click.ClickException(f"{given} returned {type(made).__name__} and not a Topology.")
    return made
