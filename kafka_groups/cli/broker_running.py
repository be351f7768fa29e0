"""Runs the cluster of `kafka-groups broker`."""

import asyncio
import os
import signal
import stat
import sys
from collections.abc import Sequence
from typing import Any

import click

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.profile import profile_named
from kafka_groups.cli.broker_rights import authorizing_settings, first_acls, warn_of_anonymous_clients
from kafka_groups.cli.broker_security import SecurityOptions
from kafka_groups.cli.broker_topics import FirstTopic, create_first_topics, first_topics
from kafka_groups.cli.key_value import keys_and_values
from kafka_groups.cli.output import BOOTSTRAP_PREFIX, say
from kafka_groups.cli.working_directory import import_from_here
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.errors import ConfigurationError, InvalidConfigError, NetworkError

__all__ = ["run_cluster"]


def run_cluster(  # noqa: PLR0913 - the options of the command
    port: int,
    brokers: int,
    given: tuple[str, ...],
    profile: str,
    *,
    topics: tuple[str, ...],
    topic_configs: tuple[str, ...],
    authorize: bool,
    super_users: tuple[str, ...],
    acls: tuple[str, ...],
    until_stdin_closes: bool,
    **security: Any,
) -> None:
    """Run a cluster until a signal, given the options of the command.

    Raises:
        click.ClickException: An option is invalid, or the port is in use.
    """
    settings = authorizing_settings(_settings(given, profile), super_users, authorize=authorize)
    first = first_topics(topics, topic_configs, settings, brokers)
    made = SecurityOptions(**security).security()
    bindings = first_acls(acls, settings, profile)
    warn_of_anonymous_clients(settings, made)
    try:
        cluster = EmbeddedCluster(brokers, port=port, settings=settings, security=made, profile=profile, acls=bindings)
        asyncio.run(_serve(cluster, first, until_stdin_closes=until_stdin_closes))
    except ConfigurationError as error:
        raise click.BadParameter(str(error), param_hint="--tls-certificate") from error
    except NetworkError as error:
        raise click.ClickException(str(error)) from error


async def _serve(cluster: EmbeddedCluster, topics: Sequence[FirstTopic], *, until_stdin_closes: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with cluster:
        create_first_topics(cluster, topics)
        say(f"{BOOTSTRAP_PREFIX}{cluster.bootstrap_servers}")
        closing = asyncio.create_task(_input_closed(stop)) if until_stdin_closes else None
        await stop.wait()
        if closing is not None:
            closing.cancel()


async def _input_closed(stop: asyncio.Event) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    if not _can_be_awaited():
        stop.set()
        return
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        while await reader.read(1024):
            pass
        stop.set()
    finally:
        transport.close()


def _can_be_awaited() -> bool:
    """Return whether standard input can close later. A file or /dev/null ends at once, and has no events."""
    if sys.stdin is None or sys.stdin.closed:
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(sys.stdin.fileno())


def _settings(given: tuple[str, ...], profile: str) -> BrokerSettings:
    pairs: dict[str, object] = {**keys_and_values(given)}
    import_from_here()  # a task assignor may be there
    try:
        return profile_named(profile).settings(pairs)
    except InvalidConfigError as error:
        raise click.BadParameter(str(error), param_hint="--set") from error
