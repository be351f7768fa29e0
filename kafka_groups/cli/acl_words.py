"""ACLs in the words of the shell: `broker --acl` takes the options of `acls add` as a text."""

import shlex
from itertools import product

import click

from kafka_groups.acls import AclBinding, AclOperation
from kafka_groups.cli.acl_options import (
    ANY_HOST,
    HOST,
    OPERATION,
    USER,
    ResourceChoice,
    principals_of,
    resource_options,
)
from kafka_groups.errors.texts import sentences

__all__ = ["bindings_of_text"]


def bindings_of_text(text: str, *, reads_blocks: bool = True) -> list[AclBinding]:
    """Return the ACLs of a text such as `--allow User:ann --topic orders --operation READ`.

    Args:
        text: The options of `kafka-groups acls add`, without `--for`.
        reads_blocks: Whether hosts may be blocks of addresses, as since Kafka 4.4.

    Raises:
        click.UsageError: An option is unknown or missing, or an ACL is invalid.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.UsageError(sentences(str(error), "Quote it as in a shell")) from None
    bindings: list[AclBinding] = _words.main(words, "--acl", standalone_mode=False)
    for binding in bindings:
        if "/" in binding.host and not reads_blocks:
            raise click.UsageError(
                f"{binding.host!r} is a block of addresses, which this release does not read. Write an address, such "
                "as 10.1.2.3, or '*' for every host."
            )
    return bindings


@click.command(add_help_option=False)
@click.option("--allow", "allowed", multiple=True, type=USER)
@click.option("--deny", "denied", multiple=True, type=USER)
@resource_options
@click.option("--operation", "operations", multiple=True, type=OPERATION)
@click.option("--host", "hosts", multiple=True, type=HOST)
def _words(
    resources: ResourceChoice,
    allowed: tuple[str, ...],
    denied: tuple[str, ...],
    operations: tuple[AclOperation, ...],
    hosts: tuple[str, ...],
) -> list[AclBinding]:
    principals = principals_of(allowed, denied)
    resources.check_given(operations, otherwise=", such as READ")
    return [
        AclBinding(kind, name, resources.pattern_type, principal, host, operation, permission)
        for (principal, permission), (kind, name), operation, host in product(
            principals, resources, operations, hosts or (ANY_HOST,)
        )
    ]
