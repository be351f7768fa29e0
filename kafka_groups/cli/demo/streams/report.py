"""The report of a run: flights by carrier, and the tally."""

from rich.console import Console

from kafka_groups.cli.demo.streams.outcome import StreamsOutcome
from kafka_groups.cli.demo.verdict import print_verdict
from kafka_groups.cli.output import table

__all__ = ["print_report"]


def print_report(console: Console, outcome: StreamsOutcome, elapsed_ms: int) -> None:
    """Print the counts, the tally and the verdict."""
    by_count = sorted(outcome.flights.items(), key=lambda item: (-item[1], item[0]))
    rows = [(carrier, f"{count:,}", f"{outcome.expected.get(carrier, 0):,}") for carrier, count in by_count]
    console.print(table("Flights by carrier", ("carrier", "counted by tasks", "counted plainly"), rows))
    tally = [
        ("published", f"{outcome.published:,}"),
        ("counted when a process was killed", f"{outcome.counted_at_kill:,}"),
        ("counted", f"{sum(outcome.flights.values()):,}"),
    ]
    print_verdict(console, tally, outcome.faults(), elapsed_ms)
    if outcome.holds:
        console.print("Every flight was counted exactly once, although a process was killed and another joined late.")
