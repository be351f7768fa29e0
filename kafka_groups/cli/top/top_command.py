"""`kafka-groups top`: what groups and workers do now."""

import asyncio
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kafka_groups.cli.admin.connection import DEFAULT_TIMEOUT_S, BrokerChoice, broker_options
from kafka_groups.errors import ConfigurationError

if TYPE_CHECKING:
    from kafka_groups.cli.top.worker_asking import ProbeAddress
    from kafka_groups.config.clients.admin import AdminConfig

__all__ = ["top"]

_FAILED: Final = 1
_SHORTEST_S: Final = 0.1
_LONGEST_S: Final = 86_400


def _addresses(_: click.Context, __: click.Parameter, given: Sequence[str]) -> Sequence["ProbeAddress"]:
    from kafka_groups.cli.top.worker_asking import ProbeAddress  # noqa: PLC0415 - help texts need no worker

    try:
        return [ProbeAddress.of(text) for text in dict.fromkeys(given)]
    except ConfigurationError as error:
        raise click.BadParameter(str(error)) from error


def _finite(_: click.Context, __: click.Parameter, seconds: float) -> float:
    if math.isnan(seconds):
        raise click.BadParameter("it is not a number of seconds.")
    return seconds


@click.command("top")
@click.argument("groups", metavar="[GROUP]...", nargs=-1)
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
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line, for each group, worker and look.")
@broker_options
def top(
    groups: tuple[str, ...], workers: Sequence["ProbeAddress"], *, interval: float, once: bool, **others: Any
) -> None:
    """Print what groups and workers do now, again and again until Ctrl-C. This changes nothing.

    Each group is a row, as the brokers tell it: members, lag, and the records that it finishes and that arrive in a
    second, from the second look on. Without GROUP, these are all groups; with --worker and without an option that names
    brokers, none.

    Each handler of a worker is a row. Workers answer at the address that they were given as --probe-address. A worker
    that does not answer is a row with the reason.

    With --once, the exit status is 1 if a group could not be described, or a worker does not answer.
    """
    choice = _brokers(groups, workers, others["bootstrap_servers"], others["config"])
    config = None if choice is None else choice.client_config()
    try:
        has_failed = asyncio.run(
            _show(config, groups, workers, as_json=others["as_json"], interval_s=None if once else interval)
        )
    except KeyboardInterrupt:
        if once:
            raise
        return  # it runs until then
    if has_failed:
        sys.exit(_FAILED)


def _brokers(
    groups: Sequence[str], workers: Sequence["ProbeAddress"], servers: str | None, config: Path | None
) -> BrokerChoice | None:
    """Return the brokers to ask about groups; None if only workers are wanted."""
    if workers and not groups and servers is None and config is None:
        return None
    return BrokerChoice(servers, config, DEFAULT_TIMEOUT_S)


async def _show(
    config: "AdminConfig | None",
    groups: Sequence[str],
    workers: Sequence["ProbeAddress"],
    *,
    as_json: bool,
    interval_s: float | None,
) -> bool:
    """Look at groups and workers, and print them. Return whether the last look has failed."""
    from kafka_groups.cli.top.display import TopDisplay, keep_showing  # noqa: PLC0415 - as above
    from kafka_groups.cli.top.group_source import GroupSource  # noqa: PLC0415 - as above
    from kafka_groups.cli.top.worker_source import WorkerSource  # noqa: PLC0415 - as above
    from kafka_groups.client.assembly import Environment  # noqa: PLC0415 - as above
    from kafka_groups.client.calls.client import admin_client  # noqa: PLC0415 - as above

    display = TopDisplay(as_json=as_json)
    of_workers = [WorkerSource(workers)] if workers else []
    if config is None:
        return await keep_showing(of_workers, display, interval_s, asyncio.sleep)
    client = admin_client(config, Environment())
    try:
        return await keep_showing([GroupSource(client, groups), *of_workers], display, interval_s, asyncio.sleep)
    finally:
        await client.close()
