"""Delays as rows of tables, and the end of a report with tally and faults, for all versions of the demo."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console

from kafka_groups.cli.demo.flights import Delays
from kafka_groups.cli.output import table
from kafka_groups.errors.texts import sentences

__all__ = ["DELAY_COLUMNS", "delay_rows", "print_verdict"]


DELAY_COLUMNS = ("flights", "cancelled", "mean departure delay", "mean arrival delay")
"""The columns after the name."""


def delay_rows(delays: Mapping[str, Delays]) -> list[tuple[str, ...]]:
    """Return a row for each name, ordered by mean arrival delay."""
    ordered = sorted(delays.items(), key=lambda item: item[1].mean_arrival_delay or 0.0, reverse=True)
    return [
        (
            name,
            f"{sums.flights:,}",
            f"{sums.flights - sums.departed:,}",
            _minutes(sums.mean_departure_delay),
            _minutes(sums.mean_arrival_delay),
        )
        for name, sums in ordered
    ]


def _minutes(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.1f}"


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
        console.print(sentences(f"The run failed: {fault}"))
