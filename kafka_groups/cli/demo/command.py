"""`kafka-groups demo`."""

import asyncio
import sys
from typing import Any

import click
from confluent_kafka import KafkaException

from kafka_groups.cli.demo.plain.report import print_report
from kafka_groups.cli.demo.plain.run import Demo, DemoOptions
from kafka_groups.cli.demo.plain.tally import Outcome
from kafka_groups.cli.demo.progress import progress_on
from kafka_groups.cli.output import console_for_people
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import SystemClock

__all__ = ["demo"]

_INTERRUPTED = 130


@click.command()
@click.option("--bootstrap-servers", help="Run on this Kafka (4.2 or newer) instead of an embedded broker.")
@click.option("--mode", type=click.Choice(["explicit", "implicit"]), default="explicit", help="Acknowledgement.")
@click.option("--partitions", type=click.IntRange(1, 100), default=4, help="Of the topic.")
@click.option(
    "--workers-per-partition",
    type=click.IntRange(2, 10),
    default=2,
    help="A killed worker keeps its partitions for the session timeout, so that each needs another one.",
)
@click.option("--brokers", type=click.IntRange(1, 10), default=1, help="Of the embedded cluster.")
@click.option("--flights", "limit", type=click.IntRange(1), help="Take only the first so many flights of 336,776.")
@click.option("--timeout", "timeout_seconds", type=float, default=300.0, help="Seconds until the run gives up.")
def demo(**given: Any) -> None:
    """Send 336,776 real flights through a share group of worker processes and kill one on the way.

    Exits with status 0 only if every flight is accounted for.
    """
    sys.exit(_run(DemoOptions(**given)))


def _run(options: DemoOptions) -> int:
    console, clock = console_for_people(), SystemClock()
    started_ms = clock.now_ms()
    try:
        outcome = asyncio.run(_demo(options))
    except KeyboardInterrupt:
        console.print("Interrupted; broker and workers are stopped.")
        return _INTERRUPTED
    except (KafkaGroupsError, KafkaException, TimeoutError) as error:
        console.print(f"The run failed: {str(error) or type(error).__name__}", markup=False)
        return 1
    print_report(console, outcome, clock.now_ms() - started_ms)
    return 0 if outcome.holds else 1


async def _demo(options: DemoOptions) -> Outcome:
    with progress_on(console_for_people()) as progress:
        return await Demo(options, progress).run()
