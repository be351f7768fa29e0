"""The options that say what ACLs are about: resources, users, operations and hosts."""

import functools
import ipaddress
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

import click
from attrs import frozen

from kafka_groups.acls import AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.cli.choices import AnyCase

__all__ = [
    "ACL_OPERATIONS",
    "ANY_HOST",
    "CLUSTER_NAME",
    "HOST",
    "OPERATION",
    "USER",
    "ResourceChoice",
    "principals_of",
    "resource_options",
]

F = TypeVar("F", bound=Callable[..., Any])

CLUSTER_NAME: Final = "kafka-cluster"
ANY_HOST: Final = "*"

_O = AclOperation
ACL_OPERATIONS: Final[Mapping[AclResourceType, tuple[AclOperation, ...]]] = MappingProxyType({
    AclResourceType.TOPIC: (
        _O.READ, _O.WRITE, _O.CREATE, _O.DELETE, _O.ALTER, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS, _O.ALL,
    ),
    AclResourceType.GROUP: (_O.READ, _O.DELETE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS, _O.ALL),
    AclResourceType.TRANSACTIONAL_ID: (_O.WRITE, _O.DESCRIBE, _O.TWO_PHASE_COMMIT, _O.ALL),
    AclResourceType.CLUSTER: (
        _O.CREATE, _O.ALTER, _O.DESCRIBE, _O.CLUSTER_ACTION, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS,
        _O.IDEMPOTENT_WRITE, _O.ALL,
    ),
})  # fmt: skip
"""The operations that exist for each type. Brokers accept others, which never allow anything."""


class _AclOperationType(AnyCase):
    """An operation by its name, in any case, with hyphens or underscores."""

    def __init__(self) -> None:
        names = dict.fromkeys(each.name for operations in ACL_OPERATIONS.values() for each in operations)
        super().__init__(sorted(names))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> AclOperation:
        """Return the operation."""
        return AclOperation[super().convert(str(value).replace("-", "_"), param, ctx)]


class _UserType(click.ParamType):  # type: ignore[type-arg] # not generic in older releases
    """A principal: `User:ann`, or `User:*` for everybody."""

    name = "USER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the principal."""
        kind, colon, name = str(value).partition(":")
        if not (kind and colon and name):
            meant = name or ("" if colon else kind) or "ann"
            self.fail(f"{value!r} is not a user. Write User:{meant}, or 'User:*' for everybody.", param, ctx)
        return str(value)


class _HostType(click.ParamType):  # type: ignore[type-arg] # not generic in older releases
    """An address, a block of addresses, or `*`."""

    name = "HOST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the host."""
        text = str(value)
        try:
            if text != ANY_HOST:
                ipaddress.ip_network(text, strict=False) if "/" in text else ipaddress.ip_address(text)
        except ValueError:
            self.fail(
                f"{text!r} is not an address. Brokers compare the addresses of clients, so write one, such as 10.1.2.3,"
                " a block, such as 10.0.0.0/8 (Kafka 4.4), or '*' for every host.",
                param,
                ctx,
            )
        return text


OPERATION: Final = _AclOperationType()
USER: Final = _UserType()
HOST: Final = _HostType()


@frozen
class ResourceChoice:
    """The resources that the options name.

    Attributes:
        names: The names by type.
        pattern_type: `PREFIXED` with `--prefix`, else `LITERAL`.
    """

    names: Mapping[AclResourceType, tuple[str, ...]]
    pattern_type: AclPatternType

    def __bool__(self) -> bool:
        return any(self.names.values())

    def __iter__(self) -> Iterator[tuple[AclResourceType, str]]:
        for resource_type, names in self.names.items():
            yield from ((resource_type, name) for name in dict.fromkeys(names))

    def of(self, resource_type: AclResourceType) -> tuple[str, ...]:
        """Return the names of a type."""
        return self.names[resource_type]

    def check_given(self, operations: tuple[AclOperation, ...], *, otherwise: str = "") -> None:
        """Check that there are resources, and operations that exist for their types.

        Args:
            operations: The operations.
            otherwise: The end of the sentence that asks for operations.

        Raises:
            click.UsageError: Something is missing.
            click.BadParameter: An operation does not exist for a type.
        """
        if not self:
            raise click.UsageError("Give a resource: --topic, --group, --transactional-id or --cluster.")
        if not operations:
            raise click.UsageError(f"Give --operation{otherwise}.")
        self.check_operations(operations)

    def check_operations(self, operations: tuple[AclOperation, ...]) -> None:
        """Check that operations exist for the types of the resources.

        Raises:
            click.BadParameter: One does not.
        """
        for resource_type, names in self.names.items():
            allowed = ACL_OPERATIONS[resource_type]
            for operation in operations if names else ():
                if operation not in allowed:
                    fitting = ", ".join(sorted(each.name for each in allowed))
                    raise click.BadParameter(
                        f"{operation.name} does not exist for {_NOUNS[resource_type]}: use one of {fitting}.",
                        param_hint="--operation",
                    )


_NOUNS: Final = MappingProxyType({
    AclResourceType.TOPIC: "topics",
    AclResourceType.GROUP: "groups",
    AclResourceType.TRANSACTIONAL_ID: "transactional ids",
    AclResourceType.CLUSTER: "the cluster",
})  # fmt: skip


def principals_of(allowed: tuple[str, ...], denied: tuple[str, ...]) -> list[tuple[str, AclPermission]]:
    """Return whom ACLs allow or deny something.

    Raises:
        click.UsageError: There is nobody.
    """
    if not (allowed or denied):
        raise click.UsageError("Give a user: --allow User:ann or --deny User:ann.")
    return [*((each, AclPermission.ALLOW) for each in allowed), *((each, AclPermission.DENY) for each in denied)]


def resource_options(command: F) -> F:
    """Add the options that name resources to a command, which gets a `ResourceChoice` for `resources`."""

    @functools.wraps(command)
    def run(
        *,
        topics: tuple[str, ...],
        groups: tuple[str, ...],
        ids: tuple[str, ...],
        cluster: bool,
        prefix: bool,
        **given: Any,
    ) -> Any:
        for option, names in (("--topic", topics), ("--group", groups), ("--transactional-id", ids)):
            if "" in names:
                raise click.BadParameter("The name is empty. '*' is every resource of the type.", param_hint=option)
        if prefix and cluster:
            raise click.UsageError("--prefix is for names, and the cluster has none.")
        if prefix and not (topics or groups or ids):
            raise click.UsageError("--prefix needs --topic, --group or --transactional-id.")
        by_type = {
            AclResourceType.TOPIC: topics,
            AclResourceType.GROUP: groups,
            AclResourceType.TRANSACTIONAL_ID: ids,
            AclResourceType.CLUSTER: (CLUSTER_NAME,) if cluster else (),
        }
        pattern = AclPatternType.PREFIXED if prefix else AclPatternType.LITERAL
        return command(resources=ResourceChoice(by_type, pattern), **given)

    options = (
        click.option("--topic", "topics", multiple=True, metavar="NAME", help="A topic. Repeatable."),
        click.option("--group", "groups", multiple=True, metavar="NAME", help="A group. Repeatable."),
        click.option(
            "--transactional-id", "ids", multiple=True, metavar="NAME", help="A transactional id. Repeatable."
        ),
        click.option("--cluster", is_flag=True, help="The cluster."),
        click.option("--prefix", is_flag=True, help="The names are beginnings of names."),
    )
    made: Any = run
    for option in reversed(options):
        made = option(made)
    result: F = made
    return result
