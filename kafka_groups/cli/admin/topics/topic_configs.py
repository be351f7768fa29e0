"""`kafka-groups topics configs`."""

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

__all__ = ["configs"]


@click.command()
@click.argument("topic")
@config_options
@dry_run_option
@answer_options
@connecting
def configs(
    connection: BrokerChoice,
    form: AnswerForm,
    topic: str,
    changes: WantedConfigs,
    *,
    dry_run: bool,
) -> None:
    """Print the configurations of TOPIC, or change some.

    With --dry-run, the brokers check the changes.

    The exit status is 1 if nothing was changed because a value is invalid.
    """
    from kafka_groups.admin import ConfigResource  # noqa: PLC0415 - help texts need no client

    resource = ConfigResource("topic", topic)
    if changes:
        change_configs(connection, form, resource, changes, dry_run=dry_run)
        return
    answer = CommandAnswer[ListedConfigEntry](form)
    with asking(connection, answer, topic) as admin:
        answer.items += config_entries(resource, admin.describe_configs([resource])[resource])
    tell_configs(answer)
