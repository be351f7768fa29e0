"""`kafka-groups acls list`."""

from typing import TYPE_CHECKING, Any, Final

import click

from kafka_groups.acls import AclFilter, AclPatternType
from kafka_groups.cli.acl_options import ResourceChoice, resource_options
from kafka_groups.cli.admin.acls.acl_filters import filter_options, filters_of
from kafka_groups.cli.admin.acls.acl_tables import ACL_TABLE, acl_entry
from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.documents.acls import AclEntry

if TYPE_CHECKING:
    from kafka_groups.acls import AclBinding
    from kafka_groups.admin import KafkaAdmin

__all__ = ["list_acls"]


@click.command("list")
@resource_options
@filter_options
@click.option("--matching", is_flag=True, help="Also ACLs of prefixes of the names, and of '*'.")
@answer_options
@connecting
def list_acls(
    connection: BrokerChoice, form: AnswerForm, resources: ResourceChoice, *, matching: bool, **given: Any
) -> None:
    """Print ACLs.

    Without options, it prints all ACLs of the cluster. Users, hosts and operations are compared as the ACLs have them:
    `--user User:ann` does not print ACLs of `User:*`. --matching prints all ACLs that hold for a resource.
    """
    if matching and (not resources or resources.pattern_type is AclPatternType.PREFIXED):
        raise click.UsageError(
            "--matching needs the whole name of a resource: --topic, --group, or another, without --prefix."
        )
    answer = CommandAnswer[AclEntry](form)
    with asking(connection, answer) as admin:
        wanted = filters_of(resources, AclPatternType.MATCH if matching else resources.pattern_type, **given)
        answer.items += map(acl_entry, _found(admin, wanted))
    answer.tell(ACL_TABLE.lines, lambda each: each.resource)


def _found(admin: "KafkaAdmin", wanted: list[AclFilter]) -> "list[AclBinding]":
    found = {binding: None for each in wanted for binding in admin.describe_acls(each)}
    return sorted(found, key=_ORDER)


_ORDER: Final = lambda each: (each.resource_type, each.name, each.pattern_type, each.principal)  # noqa: E731
