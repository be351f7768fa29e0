"""The options of `kafka-groups broker`, apart from what they start, so that its help imports no broker."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

__all__ = ["first_topics_options", "rights_options", "security_options"]

F = TypeVar("F", bound=Callable[..., Any])

_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=str)
_TOPICS: Final = (
    click.option(
        "--topic",
        "topics",
        multiple=True,
        metavar="NAME[:PARTITIONS]",
        help="A topic that exists from the start. Default: num.partitions partitions. Can be repeated.",
    ),
    click.option(
        "--topic-config",
        "topic_configs",
        multiple=True,
        metavar="NAME:KEY=VALUE",
        help="A config of a topic of --topic. Can be repeated.",
    ),
)
_RIGHTS: Final = (
    click.option("--authorize", is_flag=True, help="Check requests against ACLs, as Kafka's StandardAuthorizer does."),
    click.option(
        "--super-user",
        "super_users",
        multiple=True,
        metavar="PRINCIPAL",
        help="Principal that may do everything, such as User:admin. Can be repeated.",
    ),
    click.option(
        "--acl",
        "acls",
        multiple=True,
        metavar="OPTIONS",
        help="ACLs that exist from the start: options of `acls add`, in quotes, such as "
        "'--allow User:ann --topic orders --operation READ'. Can be repeated.",
    ),
)
_SECURITY: Final = (
    click.option(
        "--sasl", "mechanisms", multiple=True, metavar="MECHANISM", help="Enable a SASL mechanism. Can be repeated."
    ),
    click.option(
        "--user", "users", multiple=True, metavar="NAME=PASSWORD", help="User for PLAIN and SCRAM. Can be repeated."
    ),
    click.option("--users-file", type=_FILE, help="File with one NAME=PASSWORD per line."),
    click.option("--tls-certificate", type=_FILE, help="Certificate chain of the brokers, in PEM. Enables TLS."),
    click.option("--tls-key", type=_FILE, help="Private key in PEM, if it is not in the certificate's file."),
    click.option("--tls-client-ca", type=_FILE, help="Require client certificates signed by these authorities."),
)


def first_topics_options(command: F) -> F:
    """Add the options for topics that exist from the start. The command gets `topics` and `topic_configs`."""
    return _with(_TOPICS, command)


def rights_options(command: F) -> F:
    """Add the options for authorization. The command gets `authorize`, `super_users` and `acls`."""
    return _with(_RIGHTS, command)


def security_options(command: F) -> F:
    """Add the options for TLS and SASL. Their values are keyword arguments of `SecurityOptions`."""
    return _with(_SECURITY, command)


def _with(options: tuple[Callable[[F], F], ...], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command
