"""`kafka-groups acls remove`."""

from typing import TYPE_CHECKING, Any

import click

from kafka_groups.acls import AclFilter
from kafka_groups.cli.acl_options import ResourceChoice, resource_options
from kafka_groups.cli.admin.acls.acl_filters import filter_options, filters_of
from kafka_groups.cli.admin.acls.acl_tables import ACL_TABLE, acl_entry
from kafka_groups.cli.admin.connection import CLUSTER, BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.consent import Consent, consent_options
from kafka_groups.cli.documents.acls import AclEntry
from kafka_groups.cli.problems import problem_of
from kafka_groups.errors.texts import counted

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin

__all__ = ["remove"]


@click.command()
@resource_options
@filter_options
@click.option("--all", "everything", is_flag=True, help="Remove all ACLs of the cluster.")
@consent_options
@answer_options
@connecting
def remove(
    connection: BrokerChoice,
    form: AnswerForm,
    consent: Consent,
    resources: ResourceChoice,
    *,
    everything: bool,
    **given: Any,
) -> None:
    """Remove the ACLs that the options choose.

    The options that add an ACL remove it again. Each option that you leave out chooses everything: `--user User:ann`
    removes all ACLs of the user. It asks on a terminal. Elsewhere, give --yes or --dry-run.

    The exit status is 1 if an ACL was not removed.
    """
    _check(resources, given, everything=everything)
    consent.check()
    answer = CommandAnswer[AclEntry](form)
    with asking(connection, answer) as admin:
        wanted = filters_of(resources, resources.pattern_type, **given)
        found = list(dict.fromkeys(binding for each in wanted for binding in admin.describe_acls(each)))
        if consent.is_dry_run or not found:
            answer.items += map(acl_entry, found)
        else:
            consent.ask(
                f"Remove {counted(len(found), 'ACL')}?\n" + "\n".join(ACL_TABLE.lines(map(acl_entry, found))) + "\n"
            )
            _delete(admin, wanted, answer)
        if not found:
            click.echo("No ACL was found.", err=True)
    answer.tell(ACL_TABLE.lines)


def _check(resources: ResourceChoice, given: dict[str, Any], *, everything: bool) -> None:
    is_chosen = bool(resources) or any(given.values())
    if everything and is_chosen:
        raise click.UsageError(
            "--all removes every ACL of the cluster: give it without other options that choose some."
        )
    if not (everything or is_chosen):
        raise click.UsageError(
            "Choose the ACLs to remove, for example with --user or --topic. --all removes every ACL of the cluster."
        )


def _delete(admin: "KafkaAdmin", wanted: list[AclFilter], answer: CommandAnswer[AclEntry]) -> None:
    done = admin.delete_acls(wanted)
    for removed in done.values.values():
        answer.take(removed, lambda binding, _none: acl_entry(binding), str)
    for error in done.errors.values():
        answer.fail(problem_of(CLUSTER, error))
