"""Options that all commands for administration have, and what they do with results."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from attrs import frozen

from kafka_groups.cli.answers import CommandAnswer
from kafka_groups.cli.client_keys import SERVERS_VARIABLE, client_keys
from kafka_groups.cli.output import BOOTSTRAP_OPTIONS
from kafka_groups.errors import ConfigurationError, KafkaGroupsError

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin
    from kafka_groups.config.clients.admin import AdminConfig

__all__ = [
    "CLUSTER",
    "DEFAULT_TIMEOUT_S",
    "BrokerChoice",
    "asking",
    "broker_options",
    "connected",
    "connecting",
]

F = TypeVar("F", bound=Callable[..., Any])

CLUSTER = "cluster"
"""The resource of errors that concern no group, topic or broker alone."""

DEFAULT_TIMEOUT_S = 30.0


@frozen
class BrokerChoice:
    """The options that name the brokers.

    Attributes:
        bootstrap_servers: Their addresses, or None if the file or the environment has them.
        config: A properties file, or None.
        timeout: Longest wait for a call, in seconds.
    """

    bootstrap_servers: str | None
    config: Path | None
    timeout: float

    @property
    def timeout_ms(self) -> int:
        """The longest wait in milliseconds."""
        return round(self.timeout * 1_000)

    def client_config(self) -> "AdminConfig":
        """Return the checked configuration of a client.

        Raises:
            click.UsageError: A key is unknown or missing, or has a wrong value.
        """
        from kafka_groups.config.clients.admin import admin_config  # noqa: PLC0415 - help texts need no client

        try:
            given = client_keys(self.config, self.bootstrap_servers)
            return admin_config({**given, "default.api.timeout.ms": str(self.timeout_ms)})
        except ConfigurationError as error:
            raise click.UsageError(str(error)) from error


def connecting(command: F) -> F:
    """Add the options to a command, which gets a `BrokerChoice` for `connection`."""

    @functools.wraps(command)
    def run(*, bootstrap_servers: str | None, config: Path | None, timeout: float, **given: Any) -> Any:
        return command(connection=BrokerChoice(bootstrap_servers, config, timeout), **given)

    timeout = click.option(
        "--timeout", type=click.FloatRange(0), default=DEFAULT_TIMEOUT_S, help="Give up after this many seconds."
    )
    made: Any = timeout(run)
    result: F = broker_options(made)
    return result


def broker_options(command: F) -> F:
    """Add the options that name the brokers to a command, which gets `bootstrap_servers` and `config`."""
    servers = click.option(
        *BOOTSTRAP_OPTIONS,
        metavar="HOST:PORT",
        help=f"The brokers to contact first. Default: those in the file of --config, or ${SERVERS_VARIABLE}.",
    )
    config = click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A properties file with the configuration of the client, such as TLS and SASL.",
    )
    return servers(config(command))


@contextmanager
def connected(connection: BrokerChoice) -> Iterator["KafkaAdmin"]:
    """Run a block with an admin client. An error that it raises ends the command with exit status 1."""
    from kafka_groups.admin import KafkaAdmin  # noqa: PLC0415 - as above

    admin = KafkaAdmin(connection.client_config())
    try:
        with admin:
            yield admin
    except KafkaGroupsError as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def asking(connection: BrokerChoice, answer: CommandAnswer[Any], resource: str = CLUSTER) -> Iterator["KafkaAdmin"]:
    """Run a block with an admin client. An error that it raises becomes one of the answer.

    Args:
        connection: The options that name the brokers.
        answer: The answer.
        resource: What an error of the block is about.

    Raises:
        click.UsageError: The configuration, or an argument of a call, is invalid. Nothing was sent.
    """
    from kafka_groups.admin import KafkaAdmin  # noqa: PLC0415 - as above

    config = connection.client_config()
    try:
        with answer.failing_for(resource), KafkaAdmin(config) as admin:
            yield admin
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
