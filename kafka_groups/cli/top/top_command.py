"""`kafka-groups top`: what workers do now."""

import asyncio
import math
import sys
from collections.abc import Sequence
from typing import Final

import click

from kafka_groups.cli.top.display import TopDisplay, keep_showing
from kafka_groups.cli.top.worker_asking import ProbeAddress
from kafka_groups.cli.top.worker_source import WorkerSource
from kafka_groups.errors import ConfigurationError

__all__ = ["top"]

_FAILED: Final = 1
_SHORTEST_S: Final = 0.1
_LONGEST_S: Final = 86_400


def _addresses(_: click.Context, __: click.Parameter, given: Sequence[str]) -> Sequence[ProbeAddress]:
    try:
        return [ProbeAddress.of(text) for text in dict.fromkeys(given)]
    except ConfigurationError as error:
        raise click.BadParameter(str(error)) from error


def _finite(_: click.Context, __: click.Parameter, seconds: float) -> float:
    if math.isnan(seconds):
        raise click.BadParameter("it is not a number of seconds.")
    return seconds


@click.command("top")
@click.option(
    "--worker",
    "workers",
    metavar="HOST:PORT",
    multiple=True,
    callback=_addresses,
    help="The probe address of a worker; may be given several times.",
)
@click.option(
    "--interval",
    type=click.FloatRange(_SHORTEST_S, _LONGEST_S),
    default=2.0,
    callback=_finite,
    metavar="SECONDS",
    help="The time from one look to the next.",
)
@click.option("--once", is_flag=True, help="Look once.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line, for each worker and look.")
def top(*, workers: Sequence[ProbeAddress], interval: float, once: bool, as_json: bool) -> None:
    """Print what workers do now, again and again until Ctrl-C: a row for each handler. This changes nothing.

    The workers answer at the address that they were given as --probe-address. A worker that does not answer is a row
    with the reason.

    With --once, the exit status is 1 if a worker does not answer.
    """
    if not workers:
        raise click.UsageError("Give the probe address of a worker: --worker HOST:PORT.")
    showing = keep_showing(
        [WorkerSource(workers)], TopDisplay(as_json=as_json), None if once else interval, asyncio.sleep
    )
    try:
        has_failed = asyncio.run(showing)
    except KeyboardInterrupt:
        if once:
            raise
        return  # it runs until then
    if has_failed:
        sys.exit(_FAILED)
