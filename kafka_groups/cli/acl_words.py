"""ACLs in the words of the shell: the options of `kafka-groups acls add`, and what fits to what."""

import ipaddress
import shlex
from collections.abc import Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, Final

import click

from kafka_groups.acls import AclBinding, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.authorization.bindings import CLUSTER_NAME
from kafka_groups.broker.authorization.creations import check_creation
from kafka_groups.errors import InvalidRequestError
from kafka_groups.errors.texts import sentences

__all__ = ["FITTING_OPERATIONS", "acl_bindings", "bindings_of_text", "operation_named"]

_O = AclOperation
FITTING_OPERATIONS: Final[Mapping[AclResourceType, tuple[AclOperation, ...]]] = MappingProxyType({
    AclResourceType.TOPIC: (
        _O.ALL, _O.READ, _O.WRITE, _O.CREATE, _O.DELETE, _O.ALTER, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS,
    ),
    AclResourceType.GROUP: (
        _O.ALL, _O.READ, _O.DELETE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS,
    ),
    AclResourceType.TRANSACTIONAL_ID: (_O.ALL, _O.WRITE, _O.DESCRIBE, _O.TWO_PHASE_COMMIT),
    AclResourceType.CLUSTER: (
        _O.ALL, _O.CREATE, _O.ALTER, _O.DESCRIBE, _O.CLUSTER_ACTION, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS,
        _O.IDEMPOTENT_WRITE,
    ),
})  # fmt: skip
"""The operations that brokers ask about, by the type of the resource."""

_NAMED: Final[Mapping[str, AclResourceType]] = MappingProxyType({
    "topic": AclResourceType.TOPIC,
    "group": AclResourceType.GROUP,
    "transactional_id": AclResourceType.TRANSACTIONAL_ID,
})  # fmt: skip
_WORDS: Final = click.Command(
    "--acl",
    params=[
        click.Option(["--allow"], multiple=True),
        click.Option(["--deny"], multiple=True),
        *(click.Option([f"--{name.replace('_', '-')}"], multiple=True) for name in _NAMED),
        click.Option(["--cluster"], is_flag=True),
        click.Option(["--prefix"], is_flag=True),
        click.Option(["--operation"], multiple=True),
        click.Option(["--host"], multiple=True),
    ],
)


def bindings_of_text(text: str, *, reads_blocks: bool = True) -> list[AclBinding]:
    """Return the ACLs of a text such as `--allow User:ann --topic orders --operation READ`.

    Args:
        text: The options of `kafka-groups acls add`.
        reads_blocks: Whether hosts may be blocks of addresses, as since Kafka 4.4.

    Raises:
        click.UsageError: An option is unknown or missing, or an ACL is invalid.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.UsageError(sentences(str(error), "Quote it as in a shell")) from None
    with _WORDS.make_context("--acl", words) as context:
        return acl_bindings(**context.params, reads_blocks=reads_blocks)


def acl_bindings(  # noqa: PLR0913 - the options
    *,
    allow: Sequence[str],
    deny: Sequence[str],
    operation: Sequence[str],
    host: Sequence[str],
    cluster: bool,
    prefix: bool,
    reads_blocks: bool,
    **named: Any,
) -> list[AclBinding]:
    """Return an ACL for each combination of a user, a resource, an operation and a host.

    Args:
        allow: Principals that get the right.
        deny: Principals that are denied it.
        operation: Names of operations.
        host: Hosts; by default every host.
        cluster: Whether the right is about the cluster.
        prefix: Whether names are the beginnings of names.
        reads_blocks: Whether hosts may be blocks of addresses.
        named: The values of `topic`, `group` and `transactional_id`.

    Raises:
        click.UsageError: Something is missing, or an ACL is invalid.
    """
    resources = [(kind, name) for option, kind in _NAMED.items() for name in named[option]]
    resources += [(AclResourceType.CLUSTER, CLUSTER_NAME)] if cluster else []
    users = [(AclPermission.ALLOW, user) for user in allow] + [(AclPermission.DENY, user) for user in deny]
    _require("--allow or --deny with a user, such as User:ann", users)
    _require("--topic, --group or --transactional-id with a name, or --cluster", resources)
    _require("--operation, such as READ", operation)
    if prefix and cluster:
        raise click.UsageError("--prefix: the cluster has only one name.")
    pattern = AclPatternType.PREFIXED if prefix else AclPatternType.LITERAL
    operations = [operation_named(each) for each in operation]
    return [
        _checked(AclBinding(kind, name, pattern, user, address, each, permission), reads_blocks=reads_blocks)
        for (permission, user), (kind, name), each, address in product(users, resources, operations, host or ("*",))
    ]


def operation_named(text: str) -> AclOperation:
    """Return an operation by its name, in any case and with hyphens or underscores.

    Raises:
        click.UsageError: There is no such operation.
    """
    name = text.upper().replace("-", "_")
    usable = [each.name for each in AclOperation if each not in (AclOperation.UNKNOWN, AclOperation.ANY)]
    if name not in usable:
        raise click.UsageError(f"Unknown operation {text!r}. Use one of {', '.join(usable)}.")
    return AclOperation[name]


def _require(what: str, given: Sequence[object]) -> None:
    if not given:
        raise click.UsageError(f"Add {what}.")


def _checked(binding: AclBinding, *, reads_blocks: bool) -> AclBinding:
    fitting = FITTING_OPERATIONS[binding.resource_type]
    kind = binding.resource_type.name.lower().replace("_", " ")
    if binding.operation not in fitting:
        names = ", ".join(each.name for each in fitting)
        raise click.UsageError(f"A {kind} has no operation {binding.operation}. Use one of {names}.")
    _check_principal(binding.principal)
    _check_host(binding.host, reads_blocks=reads_blocks)
    try:
        check_creation(binding, reads_blocks=reads_blocks)
    except InvalidRequestError as error:
        raise click.UsageError(sentences(str(error))) from None
    return binding


def _check_principal(principal: str) -> None:
    kind, colon, name = principal.partition(":")
    if not (kind and colon and name):
        raise click.UsageError(
            f"{principal!r} is not a principal. Use a type and a name, such as User:{kind or 'ann'}."
        )


def _check_host(host: str, *, reads_blocks: bool) -> None:
    # Brokers accept any text, and compare it with the address of the client.
    if host == "*" or _is_address(host) or (reads_blocks and "/" in host):
        return
    blocks = ", a block such as 10.0.0.0/8" if reads_blocks else ""
    raise click.UsageError(
        f"{host!r} is not the address of a client. Use one such as 10.0.0.7{blocks}, or * for every host."
    )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
