"""The end of a report: the tally, the duration and the faults, for both versions of the demo."""

from collections.abc import Iterable, Sequence

from rich.console import Console

from kafka_groups.cli.output import table

__all__ = ["print_verdict"]


def print_verdict(console: Console, tally: Iterable[Sequence[str]], faults: Iterable[str], elapsed_ms: int) -> None:
    """Print the tally, how long the run took, and what is wrong.

    Args:
        console: Where to print.
        tally: Names and numbers of records.
        faults: What is wrong, in words.
        elapsed_ms: The duration of the run.
    """
    console.print(table("Tally", ("records", "number"), list(tally)))
    console.print(f"The run took {elapsed_ms / 1000:.1f} s.")
    for fault in faults:
        console.print(f"The run failed: {fault}.")
