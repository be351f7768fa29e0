"""Groups of commands that are imported on first use."""

import importlib
from collections.abc import Mapping
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

__all__ = ["HELP_OPTIONS", "LazyGroup"]

HELP_OPTIONS: Final = ("-h", "--help")


class LazyGroup(click.Group):
    """A group that imports its commands on demand, so that each starts quickly.

    Args:
        modules: The module, the name and the text of each command. The text is the first sentence of its help, so that
            the help of the group imports no command.
        given: Arguments of a click group.
    """

    def __init__(self, *, modules: Mapping[str, tuple[str, str, str]], **given: Any) -> None:
        super().__init__(**given)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        if cmd_name not in self._modules:
            return None
        module, name, _ = self._modules[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        # click inherits them from the group, but keeps those of the first use, which may be one without the group.
        command.context_settings.setdefault("help_option_names", HELP_OPTIONS)
        return command

    def text_of(self, name: str) -> str:
        """Return the text of a command, without importing it."""
        return self._modules[name][2]

    def module_of(self, name: str) -> str:
        """Return the name of the module of a command, without importing it."""
        return self._modules[name][0]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and texts of the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.text_of(name)) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin so."""
        commands = [
            CompletionItem(name, help=self.text_of(name))
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]
