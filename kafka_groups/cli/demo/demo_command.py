"""`kafka-groups demo`."""

import asyncio
import importlib
import sys
from collections.abc import Awaitable
from typing import Any

import click
from attrs import frozen
from rich.console import Console

from kafka_groups.cli.demo.pipeline.prerequisites import check_prerequisites
from kafka_groups.cli.demo.progress import Progress, progress_on
from kafka_groups.cli.output import BOOTSTRAP_OPTIONS, console_for_people
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import SystemClock

__all__ = ["OF_STREAMS", "DemoVersion", "demo", "run_demo"]

_INTERRUPTED = 130
_PARTITIONS = {True: 2, False: 4}
_FEWEST_FLIGHTS_WITH_SPARK = 10_000


@click.command()
@click.option(*BOOTSTRAP_OPTIONS, help="Use this Kafka (4.2 or newer) instead of the embedded broker.")
@click.option("--spark/--no-spark", default=True, help="Run the workers in PySpark or as plain processes.")
@click.option(
    "--mode",
    type=click.Choice(["explicit", "implicit"]),
    help="Acknowledgement mode without Spark (default: explicit).",
)
@click.option(
    "--partitions", type=click.IntRange(1, 100), help="Partitions of the topic (default: 2, or 4 without Spark)."
)
@click.option(
    "--workers-per-partition",
    type=click.IntRange(2, 10),
    default=2,
    help="Workers per partition, two or more: a killed worker keeps its partitions until its session times out.",
)
@click.option("--brokers", type=click.IntRange(1, 10), default=1, help="Number of embedded brokers.")
@click.option("--flights", "limit", type=click.IntRange(1), help="Use only this many of the 336,776 flights.")
@click.option("--timeout", "timeout_seconds", type=float, default=300.0, help="Fail after this many seconds.")
def demo(*, spark: bool, mode: str | None, partitions: int | None, **given: Any) -> None:
    """Send 336,776 real flights through a share group into PySpark. A worker and then the whole query are killed.

    The exit status is 0 only if every record is accounted for and the result equals that of a plain computation.
    Requires Java 17 or newer. With --no-spark, the workers are plain processes, one of which is killed.
    """
    given["partitions"] = partitions or _PARTITIONS[spark]
    if spark and mode is not None:
        raise click.UsageError("--mode requires --no-spark: PySpark workers always acknowledge explicitly.")
    if spark and given["limit"] is not None and given["limit"] < _FEWEST_FLIGHTS_WITH_SPARK:
        raise click.UsageError(
            f"--flights must be at least {_FEWEST_FLIGHTS_WITH_SPARK:,}, so that there is time for both kills."
        )
    if not spark:
        given["mode"] = mode or "explicit"
    sys.exit(run_demo(_WITH_SPARK if spark else _WITHOUT_SPARK, given))


@frozen
class DemoVersion:
    """One version of the demo: the modules `run` and `report` of a package, imported on first use."""

    package: str
    run: str
    options: str

    def outcome(self, given: dict[str, Any], progress: Progress) -> Awaitable[Any]:
        """Run this version of the demo."""
        module = importlib.import_module(f"{self.package}.run")
        options = getattr(module, self.options)(**given)
        outcome: Awaitable[Any] = getattr(module, self.run)(options, progress).run()
        return outcome

    def report(self, console: Console, outcome: Any, elapsed_ms: int) -> None:
        """Print the results."""
        importlib.import_module(f"{self.package}.report").print_report(console, outcome, elapsed_ms)


_WITH_SPARK = DemoVersion("kafka_groups.cli.demo.pipeline", "Pipeline", "PipelineOptions")
_WITHOUT_SPARK = DemoVersion("kafka_groups.cli.demo.plain", "Demo", "DemoOptions")
OF_STREAMS = DemoVersion("kafka_groups.cli.demo.streams", "StreamsDemo", "StreamsDemoOptions")
"""The demo of streams groups."""


def run_demo(version: DemoVersion, given: dict[str, Any]) -> int:
    """Run a version of the demo with these options and print its report. Return the exit status."""
    console, clock = console_for_people(), SystemClock()
    started_ms = clock.now_ms()
    try:
        if version is _WITH_SPARK:
            check_prerequisites()
        outcome = asyncio.run(_with_progress(version, given))
    except KeyboardInterrupt:
        console.print("Interrupted. The broker and the workers have stopped.")
        return _INTERRUPTED
    except (KafkaGroupsError, TimeoutError) as error:
        console.print(f"The run failed: {str(error) or type(error).__name__}", markup=False, soft_wrap=True)
        return 1
    version.report(console, outcome, clock.now_ms() - started_ms)
    return 0 if outcome.holds else 1


async def _with_progress(version: DemoVersion, given: dict[str, Any]) -> Any:
    with progress_on(console_for_people()) as progress:
        return await version.outcome(given, progress)
