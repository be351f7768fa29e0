"""The report of a run: delays by airline and by weather, and the tally."""

from collections.abc import Iterator

from rich.console import Console

from kafka_groups.cli.demo.pipeline.delays import rolled_up
from kafka_groups.cli.demo.pipeline.tally import PipelineOutcome, Verdict
from kafka_groups.cli.demo.report_tables import DELAY_COLUMNS, delay_rows, print_verdict
from kafka_groups.cli.output import table

__all__ = ["print_report"]


def print_report(console: Console, outcome: PipelineOutcome, elapsed_ms: int) -> None:
    """Print the delays, the tally and the verdict."""
    airlines, weather = rolled_up(outcome.delays, 0), rolled_up(outcome.delays, 1)
    console.print(table("Delays by airline, in minutes", ("airline", *DELAY_COLUMNS), delay_rows(airlines)))
    console.print(table("Delays by weather at departure, in minutes", ("weather", *DELAY_COLUMNS), delay_rows(weather)))
    print_verdict(console, _tally(outcome), outcome.faults(), elapsed_ms)
    if outcome.holds:
        console.print(
            f"Every record is accounted for: {outcome.left.records:,} enriched flights and the delays over them equal"
            " the plain computation over the source files.",
            soft_wrap=True,
        )


def _tally(outcome: PipelineOutcome) -> Iterator[tuple[str, str]]:
    yield "published", f"{outcome.published:,}"
    yield "delivered", f"{outcome.delivered:,}"
    yield "redelivered", f"{outcome.redelivered:,}"
    yield "held by the killed worker", f"{outcome.killed.get(Verdict.KILL_WORKER, 0):,}"
    yield "held by a worker of the killed query", f"{outcome.killed.get(Verdict.KILL_QUERY, 0):,}"
    yield "rows of flights written", f"{outcome.written.rows:,}"
    yield "duplicates among them", f"{outcome.written.duplicates:,}"
    yield "duplicates removed", f"{outcome.removed:,}"
    yield "lost", f"{outcome.lost:,}"
