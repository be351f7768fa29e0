"""`kafka-groups broker`: an embedded cluster that runs until you stop it."""

import asyncio
import signal
import sys
from typing import Any

import click

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.profile import DEFAULT_PROFILE, PROFILES, profile_named
from kafka_groups.cli.broker_security import SecurityOptions, security_options
from kafka_groups.cli.output import BOOTSTRAP_PREFIX, say
from kafka_groups.cli.working_directory import import_from_here
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.errors import ConfigurationError, InvalidConfigError, NetworkError

__all__ = ["broker"]


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the first broker; 0 picks free ports.")
@click.option(
    "--brokers", type=click.IntRange(1, 100), default=1, help="Number of brokers. Their ports are consecutive."
)
@click.option(
    "--set", "given", multiple=True, metavar="KEY=VALUE", help="Broker setting, by its Kafka name. Can be repeated."
)
@click.option(
    "--profile",
    type=click.Choice(tuple(PROFILES)),
    default=DEFAULT_PROFILE.name,
    show_default=True,
    help="Release of Kafka that the brokers act as.",
)
@security_options
@click.option("--until-stdin-closes", is_flag=True, help="Exit when standard input closes, for use as a child process.")
def broker(
    port: int, brokers: int, given: tuple[str, ...], profile: str, *, until_stdin_closes: bool, **security: Any
) -> None:
    """Run an embedded Kafka cluster on loopback until Ctrl-C. Data is kept in memory and lost on exit."""
    try:
        cluster = EmbeddedCluster(
            brokers,
            port=port,
            settings=_settings(given, profile),
            security=SecurityOptions(**security).security(),
            profile=profile,
        )
        asyncio.run(_serve(cluster, until_stdin_closes=until_stdin_closes))
    except ConfigurationError as error:
        raise click.BadParameter(str(error), param_hint="--tls-certificate") from error
    except NetworkError as error:
        raise click.ClickException(str(error)) from error


async def _serve(cluster: EmbeddedCluster, *, until_stdin_closes: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with cluster:
        say(f"{BOOTSTRAP_PREFIX}{cluster.bootstrap_servers}")
        closing = asyncio.create_task(_input_closed(stop)) if until_stdin_closes else None
        await stop.wait()
        if closing is not None:
            closing.cancel()


async def _input_closed(stop: asyncio.Event) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        while await reader.read(1024):
            pass
        stop.set()
    finally:
        transport.close()


def _settings(given: tuple[str, ...], profile: str) -> BrokerSettings:
    pairs = dict(_pair(text) for text in given)
    import_from_here()  # a task assignor may be there
    try:
        return profile_named(profile).settings(pairs)
    except InvalidConfigError as error:
        raise click.BadParameter(str(error), param_hint="--set") from error


def _pair(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not of the form KEY=VALUE.", param_hint="--set")
    return name.strip(), value
