"""`kafka-groups streams demo`."""

import sys
from pathlib import Path
from typing import Any

import click

from kafka_groups.cli.output import BOOTSTRAP_OPTIONS

__all__ = ["demo"]


@click.command()
@click.option(
    *BOOTSTRAP_OPTIONS,
    help="Use this Kafka instead of the embedded broker: 4.2 or newer, as it runs in a streams group.",
)
@click.option("--partitions", type=click.IntRange(3, 100), default=6, help="Partitions of the topic, and tasks.")
@click.option("--brokers", type=click.IntRange(1, 10), default=1, help="Number of embedded brokers.")
@click.option("--flights", "limit", type=click.IntRange(3_000), help="Use only this many of the 336,776 flights.")
@click.option("--timeout", "timeout_seconds", type=float, default=300.0, help="Fail after this many seconds.")
@click.option(
    "--page", type=click.Path(path_type=Path, dir_okay=False), help="Where to write an HTML page about the run."
)
def demo(**given: Any) -> None:
    """Sum the delays of 336,776 real flights, exactly once, while one process joins late and another is killed.

    The flights are joined with the weather and summed by airline and day. The exit status is 0 only if each flight has
    exactly one committed result.
    """
    from kafka_groups.cli.demo.demo_versions import OF_STREAMS, run_demo  # noqa: PLC0415 - only if it is used

    if given["page"] is None:
        del given["page"]
    sys.exit(run_demo(OF_STREAMS, given))
