"""`kafka-groups brokers configs`."""

from typing import TYPE_CHECKING, Final

import click

from kafka_groups.cli.admin.config_options import (
    WantedConfigs,
    change_configs,
    config_entries,
    config_options,
    tell_configs,
)
from kafka_groups.cli.admin.connection import BrokerChoice, asking, connecting
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.consent import dry_run_option
from kafka_groups.cli.documents.config_values import ListedConfigEntry

if TYPE_CHECKING:
    from kafka_groups.admin import ConfigResource, KafkaAdmin

__all__ = ["configs"]

_ALL_BROKERS: Final = ""


@click.command()
@click.argument("broker", metavar="[BROKER]", required=False, type=click.IntRange(0))
@click.option("--all-brokers", is_flag=True, help="Those that are set for all brokers, which single ones can override.")
@config_options
@dry_run_option
@answer_options
@connecting
def configs(
    connection: BrokerChoice,
    form: AnswerForm,
    broker: int | None,
    changes: WantedConfigs,
    *,
    all_brokers: bool,
    dry_run: bool,
) -> None:
    """Print the configurations of brokers, or change some of BROKER or of all brokers.

    BROKER is the id of a broker. Without it and without --all-brokers, those of each broker are printed. With
    --dry-run, the brokers check the changes.

    The exit status is 1 if a broker could not be asked, or nothing was changed because a value is invalid.
    """
    if all_brokers and broker is not None:
        raise click.UsageError("Give either BROKER or --all-brokers.")
    name = _ALL_BROKERS if all_brokers else None if broker is None else str(broker)
    if not changes:
        _print(connection, form, name)
    elif name is None:
        raise click.UsageError("Give BROKER or --all-brokers with --set and --unset.")
    else:
        from kafka_groups.admin import ConfigResource  # noqa: PLC0415 - help texts need no client

        change_configs(connection, form, ConfigResource("broker", name), changes, dry_run=dry_run)


def _print(connection: BrokerChoice, form: AnswerForm, name: str | None) -> None:
    answer = CommandAnswer[ListedConfigEntry](form)
    with asking(connection, answer) as admin:
        found = admin.describe_configs(_resources(admin, name))
        answer.take(found, None)
        for resource, values in found.values.items():
            answer.items += config_entries(resource, values)
    tell_configs(answer, with_names=name is None)


def _resources(admin: "KafkaAdmin", name: str | None) -> list["ConfigResource"]:
    from kafka_groups.admin import ConfigResource  # noqa: PLC0415 - as above

    names = [str(each.node_id) for each in admin.describe_cluster().brokers] if name is None else [name]
    return [ConfigResource("broker", each) for each in names]
