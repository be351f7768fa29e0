"""Runs what a command does with a dead-letter topic."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from kafka_groups.cli.admin.connection import BrokerChoice
from kafka_groups.cli.quiet_clients import quiet_clients
from kafka_groups.errors import ConfigurationError

if TYPE_CHECKING:
    from kafka_groups.share.dead_letters.topic import DeadLetterTopic

__all__ = ["using_topic"]

T = TypeVar("T")


def using_topic(connection: BrokerChoice, name: str, work: Callable[["DeadLetterTopic"], Awaitable[T]]) -> T:
    """Run a coroutine with a topic, and return its result.

    Raises:
        click.UsageError: The configuration is invalid.
        KafkaGroupsError: The topic or the brokers cannot be used.
    """
    import asyncio  # noqa: PLC0415 - help texts need no client

    from kafka_groups.share.dead_letters.topic import DeadLetterTopic  # noqa: PLC0415 - as above

    config = connection.client_config()

    async def run() -> T:
        async with DeadLetterTopic(name, config, connection.timeout_ms) as topic:
            return await work(topic)

    try:
        with quiet_clients():
            return asyncio.run(run())
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
