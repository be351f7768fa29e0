"""The report of a run: delays by airline, and the tally."""

from rich.console import Console

from kafka_groups.cli.demo.report_tables import print_verdict
from kafka_groups.cli.demo.streams.outcome import StreamsOutcome, by_airline
from kafka_groups.cli.demo.streams.topology import Sums
from kafka_groups.cli.output import table

__all__ = ["print_report"]


def print_report(console: Console, outcome: StreamsOutcome, elapsed_ms: int) -> None:
    """Print the sums, the tally and the verdict."""
    plain = by_airline(outcome.expected)
    by_count = sorted(outcome.by_airline.items(), key=lambda item: (-item[1].flights, item[0]))
    rows = [
        (
            airline,
            f"{sums.flights:,}",
            f"{sums.mean_minutes:.1f}",
            f"{sums.windy:,}",
            _same(sums, plain.get(airline)),
        )
        for airline, sums in by_count
    ]
    columns = ("airline", "flights", "minutes late", "in wind", "plain computation")
    console.print(table("Delays by airline", columns, rows))
    tally = [
        ("flights published", f"{outcome.published:,}"),
        ("results committed when a process was killed", f"{outcome.results_at_kill:,}"),
        ("results committed", f"{outcome.results:,}"),
    ]
    print_verdict(console, tally, outcome.faults(), elapsed_ms)
    if outcome.holds:
        console.print("Every flight has exactly one result, although a process was killed and another joined late.")


def _same(sums: Sums, plain: Sums | None) -> str:
    return "the same" if sums == plain else f"{plain}"
