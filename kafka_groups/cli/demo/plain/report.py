"""The report of a run: delays by carrier and route, and the tally."""

from collections.abc import Iterator

from rich.console import Console

from kafka_groups.cli.demo.plain.tally import PlainOutcome
from kafka_groups.cli.demo.report_tables import DELAY_COLUMNS, delay_rows, print_verdict
from kafka_groups.cli.output import table

__all__ = ["print_report"]

_ROUTES = 8


def print_report(console: Console, outcome: PlainOutcome, elapsed_ms: int) -> None:
    """Print the delays, the tally and the verdict."""
    by_carrier, by_route = outcome.computed
    console.print(table("Delays by carrier, in minutes", ("carrier", *DELAY_COLUMNS), delay_rows(by_carrier)))
    worst = delay_rows(by_route)[:_ROUTES]
    title = f"The {len(worst)} worst of {len(by_route)} routes, in minutes"
    console.print(table(title, ("route", *DELAY_COLUMNS), worst))
    print_verdict(console, _tally(outcome), outcome.faults(), elapsed_ms)
    if outcome.holds:
        console.print(
            "Every flight is accounted for, and the delays equal those of a plain computation from the same file."
        )


def _tally(outcome: PlainOutcome) -> Iterator[tuple[str, str]]:
    yield "published", f"{outcome.published:,}"
    yield "delivered", f"{outcome.delivered:,}"
    yield "accepted", f"{outcome.accepted:,}"
    yield "redelivered", f"{outcome.redelivered:,}"
    yield "lost", f"{outcome.lost:,}"
