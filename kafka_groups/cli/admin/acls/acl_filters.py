"""The options that choose ACLs which exist."""

from collections.abc import Callable
from itertools import product
from typing import Any, TypeVar

import click

from kafka_groups.acls import AclFilter, AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.cli.acl_options import HOST, OPERATION, USER, ResourceChoice

__all__ = ["filter_options", "filters_of"]

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--user", "users", multiple=True, type=USER, help="ACLs of a user, such as User:ann. Repeatable."),
    click.option(
        "--allow", "allowed", multiple=True, type=USER, help="ACLs that allow something to a user. Repeatable."
    ),
    click.option("--deny", "denied", multiple=True, type=USER, help="ACLs that deny something to a user. Repeatable."),
    click.option("--operation", "operations", multiple=True, type=OPERATION, help="An operation. Repeatable."),
    click.option("--host", "hosts", multiple=True, type=HOST, help="A host. Repeatable."),
)


def filter_options(command: F) -> F:
    """Add the options that choose ACLs by user, operation and host to a command: the arguments of `filters_of`."""
    made: Any = command
    for option in reversed(_OPTIONS):
        made = option(made)
    result: F = made
    return result


def filters_of(  # noqa: PLR0913 - one for each option
    resources: ResourceChoice,
    pattern_type: AclPatternType,
    *,
    users: tuple[str, ...],
    allowed: tuple[str, ...],
    denied: tuple[str, ...],
    operations: tuple[AclOperation, ...],
    hosts: tuple[str, ...],
) -> list[AclFilter]:
    """Return the filters for all that the options name. An option that is not given chooses everything."""
    principals: list[tuple[str | None, AclPermission | None]] = [
        *((user, None) for user in users),
        *((user, AclPermission.ALLOW) for user in allowed),
        *((user, AclPermission.DENY) for user in denied),
    ]
    named: list[tuple[AclResourceType | None, str | None, AclPatternType | None]] = [
        (resource_type, name, pattern_type) for resource_type, name in resources
    ]
    return [
        AclFilter(*resource, principal=principal, host=host, operation=operation, permission=permission)
        for resource, (principal, permission), operation, host in product(
            named or [(None, None, None)], principals or [(None, None)], operations or [None], hosts or [None]
        )
    ]
