"""Output of the commands: plain lines, and tables that fit the terminal."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

__all__ = ["BOOTSTRAP_OPTIONS", "BOOTSTRAP_PREFIX", "console_for_people", "say", "table"]

BOOTSTRAP_OPTIONS = ("--bootstrap-servers", "--bootstrap-server", "bootstrap_servers")
"""The option, as clients call the key and as Kafka's own tools call it, and its parameter."""

BOOTSTRAP_PREFIX = "bootstrap.servers="
"""The broker command prints its address on a line that starts with this. Other programs read it."""


def console_for_people() -> Console:
    """Return a console on standard output. Without a terminal, it prints plain text of a fixed width."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(file=sys.stdout, highlight=False, width=100)


def say(line: str) -> None:
    """Print a line and flush standard output."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table whose first column is text and whose other columns are numbers."""
    made = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        made.add_column(column, justify="right" if number else "left")
    for row in rows:
        made.add_row(*row)
    return made
