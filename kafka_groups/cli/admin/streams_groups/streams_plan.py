"""`kafka-groups streams plan`: what a task assignor would do to a running streams group."""

import json
import sys
import traceback
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click
from attrs import evolve

from kafka_groups.cli.admin.connection import BrokerChoice, connected, connecting
from kafka_groups.cli.admin.streams_groups.topology_option import topology_option
from kafka_groups.cli.key_value import keys_and_values
from kafka_groups.cli.output import console_for_people, say
from kafka_groups.cli.working_directory import import_from_here
from kafka_groups.errors import ConfigurationError

if TYPE_CHECKING:
    from kafka_groups.admin import StreamsPlan
    from kafka_groups.assignment import OfferedAssignor
    from kafka_groups.streams import Topology

__all__ = ["plan"]


@click.command()
@click.argument("group")
@click.option(
    "--assignor",
    metavar="MODULE:CLASS",
    help="The task assignor, or the name of one that is built in. With --topology, the default is "
    "HighAvailabilityTaskAssignor.",
)
@topology_option
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="KEY=VALUE",
    help="A key of the assignor's configuration; with --topology, of the application's, such as "
    "num.standby.replicas. Repeatable.",
)
@click.option(
    "--standbys",
    type=click.IntRange(0),
    metavar="N",
    help="Copies of each task with state. Default: as configured.",
)
@click.option("--without", multiple=True, metavar="MEMBER", help="A member that leaves. Repeatable.")
@click.option(
    "--with-process",
    "processes",
    multiple=True,
    metavar="threads=N,rack=NAME,tag.KEY=VALUE",
    help="A process that joins, without state. Repeatable. Every part may be left out.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
@connecting
def plan(connection: BrokerChoice, group: str, *, as_json: bool, **given: Any) -> None:
    """Print what a task assignor would do to the running streams group GROUP. Nothing is changed.

    The group may be a classic group of a streams application, in Python or in Java. Brokers know neither its topology
    nor its configuration, so give these with --topology and --set.

    The assignor runs in this process. Python looks for its module in the working directory first. Numbers of records
    are upper bounds, as compaction may have removed some of them.

    The exit status is 1 if the group could not be planned, or would refuse the result.
    """
    from kafka_groups.assignment import TaskAssignorError  # noqa: PLC0415 - help texts need no client

    change = _change(**given)
    with connected(connection) as admin:
        try:
            made = admin.plan_streams_group(group, **change)
        except TaskAssignorError as error:
            traceback.print_exception(error.__cause__)
            raise
    _print(made, as_json=as_json)


def _print(made: "StreamsPlan", *, as_json: bool) -> None:
    from kafka_groups.cli.admin.streams_groups.plan_documents import plan_document  # noqa: PLC0415 - as above
    from kafka_groups.cli.admin.streams_groups.plan_tables import print_plan  # noqa: PLC0415 - as above

    if as_json:
        say(json.dumps(plan_document(made), indent=2, ensure_ascii=False))
    else:
        print_plan(console_for_people(), made)
    for warning in made.warnings:
        click.echo(f"Warning: {warning}", err=True)
    if made.error is not None:
        click.echo(f"Error: the group would not use this result and keep its tasks. {made.error}", err=True)
        sys.exit(1)


def _change(
    assignor: str | None,
    topology: "Topology | None",
    given: Iterable[str],
    standbys: int | None,
    without: Iterable[str],
    processes: Iterable[str],
) -> dict[str, Any]:
    """Return the arguments of `plan_streams_group`."""
    from kafka_groups.admin import PlannedProcess  # noqa: PLC0415 - as above

    configs = keys_and_values(given)
    try:
        whose = _of_streams_group(assignor, configs) if topology is None else _of_classic(assignor, topology, configs)
        return {
            **whose,
            "standby_replicas": standbys,
            "leaving": list(without),
            "joining": [PlannedProcess.parse(text) for text in processes],
        }
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error


def _of_classic(assignor: str | None, topology: "Topology", configs: dict[str, str]) -> dict[str, Any]:
    from kafka_groups.admin.rules.plans.application_configs import read_configs  # noqa: PLC0415 - as above

    import_from_here()
    read_configs(assignor, configs)  # so that a mistake is one of the options
    return {"assignor": assignor, "topology": topology, "configs": configs}


def _of_streams_group(assignor: str | None, configs: dict[str, str]) -> dict[str, Any]:
    if assignor is None:
        raise click.UsageError(
            "Missing option '--assignor'. Only a plan of a classic group has a default, and needs --topology."
        )
    return {"assignor": _configured(assignor, configs)}


def _configured(assignor: str, configs: dict[str, str]) -> "OfferedAssignor":
    from kafka_groups.assignment import Registered, TaskAssignors  # noqa: PLC0415 - as above

    import_from_here()
    offered = TaskAssignors.of([assignor]).default
    if not configs:
        return offered
    if not isinstance(offered, Registered):
        raise ConfigurationError(
            f"The task assignor '{offered.name}' assigns tasks to members (KIP-1357) and has no configuration: leave "
            "--set out."
        )
    return evolve(offered, configs={**offered.configs, **configs})
