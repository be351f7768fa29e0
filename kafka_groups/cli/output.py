"""Output of the commands: plain lines, and tables that fit the terminal."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["BOOTSTRAP_OPTIONS", "BOOTSTRAP_PREFIX", "console_for_people", "ending_with_pipe", "say", "table"]

BOOTSTRAP_OPTIONS = ("--bootstrap-servers", "--bootstrap-server", "bootstrap_servers")
"""The option, as clients call the key and as Kafka's own tools call it, and its parameter."""

BOOTSTRAP_PREFIX = "bootstrap.servers="
"""The broker command prints its address on a line that starts with this. Other programs read it."""


def console_for_people() -> "Console":
    """Return a console on standard output. Without a terminal, it prints plain text of a fixed width."""
    from rich.console import Console  # noqa: PLC0415 - help texts need none, and are to come at once

    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(file=sys.stdout, highlight=False, width=100)


def say(line: str) -> None:
    """Print a line and flush standard output.

    Raises:
        SystemExit: Nobody reads standard output any more. The command ends silently, with status 0.
    """
    with ending_with_pipe():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


@contextmanager
def ending_with_pipe() -> Iterator[None]:
    """End the command silently if a block writes to standard output and nobody reads it any more."""
    try:
        yield
    except BrokenPipeError:
        # Python flushes standard output when it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> "Table":
    """Return a table whose first column is text and whose other columns are numbers."""
    from rich.table import Table  # noqa: PLC0415 - as above

    made = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        made.add_column(column, justify="right" if number else "left")
    for row in rows:
        made.add_row(*row)
    return made
