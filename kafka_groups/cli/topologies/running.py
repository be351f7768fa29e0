"""`kafka-groups streams run`: an application that runs until you stop it."""

import logging
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kafka_groups.cli.client_keys import SERVERS_VARIABLE, client_keys
from kafka_groups.cli.key_value import keys_and_values, refuse_repeated
from kafka_groups.cli.output import BOOTSTRAP_OPTIONS, say
from kafka_groups.cli.topologies.loading import load_function, topology_argument
from kafka_groups.errors import ConfigurationError, KafkaGroupsError

if TYPE_CHECKING:
    from kafka_groups.streams import StreamsState

__all__ = ["run_application"]

_LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@click.command("run")
@topology_argument
@click.option(
    *BOOTSTRAP_OPTIONS,
    metavar="HOST:PORT",
    help=f"The brokers to contact first. Default: those in the configuration, or ${SERVERS_VARIABLE}.",
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A properties file with the configuration of the application.",
)
@click.option(
    "--set",
    "-c",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="A key of the configuration, such as application.id=shop. Overrides the file. Can be repeated.",
)
@click.option(
    "--group-protocol",
    type=click.Choice(["streams", "classic"]),
    help="How tasks are assigned: streams (by the brokers, from Kafka 4.2 on) or classic (by a member, from Kafka 3.7 "
    "on). The same as --set group.protocol=NAME. Default: streams.",
)
@click.option("--workers", type=click.IntRange(1), help="The same as --set num.workers=N. Default: 1.")
@click.option(
    "--probe-address",
    metavar="HOST:PORT",
    help="Where to answer GET /live and GET /ready, for Kubernetes. The same as --set probe.address=HOST:PORT.",
)
@click.option(
    "--state-address",
    metavar="HOST:PORT",
    help="Where to answer questions to the stores over HTTP, without authentication. Needs the extra streams-http. "
    "Other processes pass questions on to the address in application.server.",
)
def run_application(  # noqa: PLR0913 - the command's options
    build: str,
    *,
    bootstrap_servers: str | None,
    config: Path | None,
    pairs: tuple[str, ...],
    group_protocol: str | None,
    workers: int | None,
    probe_address: str | None,
    state_address: str | None,
) -> None:
    """Run an application until Ctrl-C or SIGTERM, which let it commit and leave its group.

    MODULE:FUNCTION names the function that builds the topology, such as app:build for the function build in app.py.

    Standard output has a line for each new state of the application, and standard error has the log.

    The exit status is 0 after a signal to stop, 1 if an error ended it, and 2 if the configuration is invalid.
    """
    from kafka_groups.streams import KafkaStreams, StateServer  # noqa: PLC0415 - help texts need no application

    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=_LOG_FORMAT)
    options = {"group.protocol": group_protocol, "num.workers": workers, "probe.address": probe_address}
    chosen = {name: value for name, value in options.items() if value is not None}
    given = keys_and_values(pairs)
    refuse_repeated([*given, *chosen], "--set")
    keys = {**client_keys(config, bootstrap_servers), **given, **chosen}
    function = load_function(build)
    try:
        app = KafkaStreams(function, keys, on_state=_tell)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    try:
        with nullcontext() if state_address is None else StateServer(app, state_address):
            app.run()
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    except KafkaGroupsError as error:
        raise click.ClickException(str(error)) from error


def _tell(state: "StreamsState", _before: "StreamsState") -> None:
    say(state.name)
