"""`kafka-groups demo`."""

import sys
from typing import Any

import click

from kafka_groups.cli.output import BOOTSTRAP_OPTIONS

__all__ = ["demo"]

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
    from kafka_groups.cli.demo.demo_versions import (  # noqa: PLC0415 - help texts need no demo
        WITH_SPARK,
        WITHOUT_SPARK,
        run_demo,
    )

    given["partitions"] = partitions or _PARTITIONS[spark]
    if spark and mode is not None:
        raise click.UsageError("--mode requires --no-spark: PySpark workers always acknowledge explicitly.")
    if spark and given["limit"] is not None and given["limit"] < _FEWEST_FLIGHTS_WITH_SPARK:
        raise click.UsageError(
            f"--flights must be at least {_FEWEST_FLIGHTS_WITH_SPARK:,}, so that there is time for both kills."
        )
    if not spark:
        given["mode"] = mode or "explicit"
    sys.exit(run_demo(WITH_SPARK if spark else WITHOUT_SPARK, given))
