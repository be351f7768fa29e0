"""What the commands print: plain lines, and tables that fit the terminal."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

__all__ = ["BOOTSTRAP_PREFIX", "console_for_people", "say", "table"]

BOOTSTRAP_PREFIX = "bootstrap.servers="
"""The start of the line on which the broker command prints its address. Other programs read it."""


def console_for_people() -> Console:
    """The console on standard output; without a terminal it prints plain text of a fixed width."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(file=sys.stdout, highlight=False, width=100)


def say(line: str) -> None:
    """Print a line and flush standard output."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Make a table whose first column is text and whose other columns are numbers."""
    made = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        made.add_column(column, justify="right" if number else "left")
    for row in rows:
        made.add_row(*row)
    return made
