"""`kafka-groups acls add`."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from kafka_groups.acls import AclBinding, AclOperation, AclPermission
from kafka_groups.cli.acl_options import (
    ANY_HOST,
    HOST,
    OPERATION,
    USER,
    ResourceChoice,
    principals_of,
    resource_options,
)
from kafka_groups.cli.admin.acls.acl_tables import ACL_TABLE, acl_entry
from kafka_groups.cli.admin.acls.role_options import RoleChoice, role_options
from kafka_groups.cli.admin.connection import CLUSTER, BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.consent import dry_run_option
from kafka_groups.cli.documents.acls import AclEntry
from kafka_groups.cli.problems import problem_of

if TYPE_CHECKING:
    from kafka_groups.client.rights import NeededRight

__all__ = ["add"]


@click.command()
@click.option("--allow", "allowed", multiple=True, type=USER, help="Allow it to a user, such as User:ann. Repeatable.")
@click.option("--deny", "denied", multiple=True, type=USER, help="Deny it to a user. Repeatable.")
@resource_options
@click.option(
    "--operation", "operations", multiple=True, type=OPERATION, help="An operation, such as READ. Repeatable."
)
@role_options
@click.option(
    "--host",
    "hosts",
    multiple=True,
    type=HOST,
    help="An address that the user connects from, or a block of them. Repeatable.  [default: every host]",
)
@dry_run_option
@answer_options
@connecting
def add(
    connection: BrokerChoice,
    form: AnswerForm,
    resources: ResourceChoice,
    role: RoleChoice,
    *,
    operations: tuple[AclOperation, ...],
    dry_run: bool,
    **given: Any,
) -> None:
    r"""Add ACLs: allow or deny operations on resources to users.

    \b
    kafka-groups acls add --allow User:ann --topic orders --operation READ
    kafka-groups acls add --allow User:ann --for share-consumer --group invoices --topic orders
    kafka-groups acls add --allow User:ann --for worker shop:worker

    READ, WRITE, DELETE and ALTER include DESCRIBE. An ACL that denies wins over all that allow. An ACL that exists is
    left as it is.

    The exit status is 1 if an ACL was not added.
    """
    principals = principals_of(given["allowed"], given["denied"])
    rights = _rights(resources, role, operations)
    bindings = list(dict.fromkeys(_bindings(principals, rights, given["hosts"] or (ANY_HOST,))))
    answer = CommandAnswer[AclEntry](form)
    if dry_run:
        connection.client_config()
        answer.items += map(acl_entry, bindings)
    else:
        with asking(connection, answer) as admin:
            _create(admin.create_acls(bindings), answer)
    answer.tell(ACL_TABLE.lines)


def _rights(
    resources: ResourceChoice, role: RoleChoice, operations: tuple[AclOperation, ...]
) -> Sequence["NeededRight"]:
    from kafka_groups.client.rights import NeededRight  # noqa: PLC0415 - help texts need no client

    if role:
        if operations:
            raise click.UsageError("Give either --operation or --for.")
        return role.rights(resources)
    resources.check_given(operations, otherwise=", or --for what a program asks for")
    is_prefix = resources.pattern_type.name == "PREFIXED"
    return [NeededRight(operations, kind, (name,), is_prefix=is_prefix) for kind, name in resources]


def _bindings(
    principals: Iterable[tuple[str, AclPermission]], rights: Iterable["NeededRight"], hosts: Iterable[str]
) -> Iterable[AclBinding]:
    for right, (principal, permission), host in product(rights, principals, hosts):
        pattern = "prefixed" if right.is_prefix else "literal"
        for name, operation in product(right.names, right.operations):
            yield AclBinding(right.resource_type, name, pattern, principal, host, operation, permission)


def _create(done: Any, answer: CommandAnswer[AclEntry]) -> None:
    answer.items += map(acl_entry, done.values)
    # All fail for one reason if the user may not add any, or there is no authorizer.
    told: set[str] = set()
    for binding, error in done.errors.items():
        problem = problem_of(CLUSTER, error)
        if problem.code in _OF_ALL and problem.line in told:
            continue
        told.add(problem.line)
        answer.fail(problem if problem.code in _OF_ALL else problem_of(str(binding), error))


_OF_ALL = frozenset({"CLUSTER_AUTHORIZATION_FAILED", "SECURITY_DISABLED"})
