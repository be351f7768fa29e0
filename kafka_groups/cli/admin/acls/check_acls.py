"""`kafka-groups acls check`."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.acls import AclFilter, AclOperation, AclPatternType
from kafka_groups.cli.acl_options import (
    ANY_HOST,
    HOST,
    OPERATION,
    USER,
    ResourceChoice,
    resource_options,
)
from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, AnswerTable, CommandAnswer, answer_options
from kafka_groups.cli.documents.acls import AclCheckEntry

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin
    from kafka_groups.cli.admin.acls.access_questions import AuthorizerSettings

__all__ = ["check"]

_FAILED: Final = 1


@click.command()
@click.argument("user", type=USER)
@click.argument("operation", type=OPERATION)
@resource_options
@click.option(
    "--host", type=HOST, default=ANY_HOST, help="The address of the user. By default, only ACLs for all hosts count."
)
@answer_options
@connecting
def check(
    connection: BrokerChoice, form: AnswerForm, resources: ResourceChoice, user: str, operation: AclOperation, host: str
) -> None:
    r"""Print whether the brokers allow OPERATION on a resource to USER, and why.

    \b
    kafka-groups acls check User:ann READ --topic orders

    It reads the ACLs, and decides as brokers do. Nothing is asked in the name of the user.

    The exit status is 1 if the operation is not allowed on one of the resources.
    """
    from kafka_groups.cli.admin.acls.access_questions import AccessQuestion  # noqa: PLC0415 - help texts need no broker

    if not resources:
        raise click.UsageError("Give a resource: --topic, --group, --transactional-id or --cluster.")
    if resources.pattern_type is AclPatternType.PREFIXED:
        raise click.UsageError("A check is about whole names: leave out --prefix.")
    resources.check_operations((operation,))
    answer = CommandAnswer[AclCheckEntry](form)
    with asking(connection, answer) as admin:
        settings = _settings(admin)
        for kind, name in resources:
            acls = admin.describe_acls(AclFilter(kind, name, AclPatternType.MATCH))
            answer.items.append(AccessQuestion(user, host, operation, kind, name).answer(settings, acls))
        if not all(each.allowed for each in answer.items):
            for note in settings.notes:
                click.echo(note, err=True)
    answer.tell(_TABLE.lines, lambda each: each.resource if each.allowed else "")
    if not all(each.allowed for each in answer.items):
        sys.exit(_FAILED)


def _settings(admin: "KafkaAdmin") -> "AuthorizerSettings":
    from kafka_groups.admin import ConfigResource  # noqa: PLC0415 - help texts need no client
    from kafka_groups.cli.admin.acls.access_questions import (  # noqa: PLC0415 - as above
        SUPER_USERS,
        WITHOUT_ACLS,
        AuthorizerSettings,
    )
    from kafka_groups.errors import KafkaGroupsError  # noqa: PLC0415 - as above

    broker = admin.describe_cluster().brokers[0].node_id
    try:
        found = admin.describe_configs([ConfigResource("broker", str(broker))]).checked()
    except KafkaGroupsError as error:
        unknown = f"It is not known whether {SUPER_USERS} and {WITHOUT_ACLS} of the brokers allow more: {error}"
        return AuthorizerSettings(frozenset(), allows_without_acls=False, notes=(unknown,))
    (values,) = found.values.values()
    shown = {key: values[key].value for key in (SUPER_USERS, WITHOUT_ACLS) if key in values}
    users = frozenset(each.strip() for each in (shown.get(SUPER_USERS) or "").split(";") if each.strip())
    return AuthorizerSettings(users, (shown.get(WITHOUT_ACLS) or "").lower() == "true", _notes(shown))


def _notes(shown: Mapping[str, str | None]) -> Sequence[str]:
    from kafka_groups.cli.admin.acls.access_questions import SUPER_USERS, WITHOUT_ACLS  # noqa: PLC0415 - as above

    # Real brokers show the names of settings that are not in Kafka's own table, and no values.
    hidden = [key for key in (SUPER_USERS, WITHOUT_ACLS) if shown.get(key) is None]
    return [f"The brokers do not show {' and '.join(hidden)}, which may allow more."] if hidden else []


def _row(entry: AclCheckEntry) -> Sequence[str]:
    return (
        entry.principal,
        entry.operation,
        entry.resource_type,
        entry.resource,
        "yes" if entry.allowed else "no",
        entry.reason,
    )


_TABLE: Final = AnswerTable[AclCheckEntry](("PRINCIPAL", "OPERATION", "TYPE", "RESOURCE", "ALLOWED", "REASON"), _row)
