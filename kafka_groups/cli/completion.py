"""`kafka-groups completion`: completion of commands and options in a shell."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from kafka_groups.cli.output import say

__all__ = ["completion"]

_PROGRAM: Final = "kafka-groups"
_VARIABLE: Final = "_KAFKA_GROUPS_COMPLETE"
"""The variable with which the script asks the command for completions. Click looks for this name."""
_SHELLS: Final[Mapping[str, type[ShellComplete]]] = MappingProxyType(
    {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
)


@click.command()
@click.argument("shell", type=click.Choice(tuple(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    r"""Print the script that completes commands and options in a shell.

    \b
    bash: eval "$(kafka-groups completion bash)" in ~/.bashrc
    zsh:  eval "$(kafka-groups completion zsh)" in ~/.zshrc, after compinit
    fish: kafka-groups completion fish > ~/.config/fish/completions/kafka-groups.fish
    """
    made = _SHELLS[shell](context.find_root().command, {}, _PROGRAM, _VARIABLE)
    say(made.source().rstrip())
