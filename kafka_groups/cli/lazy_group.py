"""Groups of commands that are imported on first use."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """A group that imports its commands on demand, so that each starts quickly.

    Args:
        modules: The module and the name of each command.
        given: Arguments of a click group.
    """

    def __init__(self, *, modules: Mapping[str, tuple[str, str]], **given: Any) -> None:
        super().__init__(**given)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        if cmd_name not in self._modules:
            return None
        module, name = self._modules[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command
