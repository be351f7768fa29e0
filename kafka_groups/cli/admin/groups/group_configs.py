"""`kafka-groups groups configs` and `streams configs`: the configurations of a group (KIP-848, KIP-932, KIP-1071)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
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
from kafka_groups.cli.admin.groups.queue_warnings import warn_of_queue
from kafka_groups.cli.answers import AnswerForm, CommandAnswer, answer_options
from kafka_groups.cli.consent import dry_run_option
from kafka_groups.cli.documents.config_values import ListedConfigEntry

if TYPE_CHECKING:
    from kafka_groups.admin import KafkaAdmin

__all__ = ["configs", "streams_configs"]

_STREAMS: Final = "streams."
_PREFIXES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {"consumer": ("consumer.",), "share": ("share.", "errors."), "streams": (_STREAMS,)}
)
"""The beginnings of keys by the type of groups. Classic groups have no configurations."""


@click.command()
@click.argument("group")
@config_options
@click.option("--all-types", is_flag=True, help="Print the configurations that groups of other types have, too.")
@dry_run_option
@answer_options
@connecting
def configs(
    connection: BrokerChoice, form: AnswerForm, group: str, changes: WantedConfigs, *, all_types: bool, dry_run: bool
) -> None:
    """Print the configurations of the share, consumer or streams group GROUP, or change some.

    It prints those that groups of its type have; of all types if the group does not exist yet. The changes reach the
    brokers within moments. With --dry-run, the brokers check them.

    The exit status is 1 if nothing was changed because a value is invalid.
    """
    if changes:
        if all_types:
            raise click.UsageError("--all-types is for printing: leave it out with --set and --unset.")
        _change(connection, form, group, changes, dry_run=dry_run)
    else:
        _print(connection, form, group, None if all_types else _PREFIXES)


@click.command("configs")
@click.argument("group")
@config_options
@dry_run_option
@answer_options
@connecting
def streams_configs(
    connection: BrokerChoice, form: AnswerForm, group: str, changes: WantedConfigs, *, dry_run: bool
) -> None:
    """Print the configurations of the streams group GROUP, or change some.

    GROUP need not exist yet. The changes reach the brokers within moments. With --dry-run, the brokers check them.

    The exit status is 1 if nothing was changed because a value is invalid.
    """
    for key in changes:
        if not key.startswith(_STREAMS):
            raise click.UsageError(f"{key!r} does not configure streams groups: use a key that begins with {_STREAMS}")
    if changes:
        _change(connection, form, group, changes, dry_run=dry_run)
    else:
        _print(connection, form, group, {"": (_STREAMS,)})


def _change(connection: BrokerChoice, form: AnswerForm, group: str, changes: WantedConfigs, *, dry_run: bool) -> None:
    from kafka_groups.admin import ConfigResource  # noqa: PLC0415 - help texts need no client

    warn_of_queue(connection, changes)
    change_configs(connection, form, ConfigResource("group", group), changes, dry_run=dry_run)


def _print(
    connection: BrokerChoice, form: AnswerForm, group: str, prefixes: Mapping[str, Sequence[str]] | None
) -> None:
    """Print configurations. Prefixes by type select some; a single entry without type selects for all."""
    from kafka_groups.admin import ConfigResource  # noqa: PLC0415 - as above

    answer = CommandAnswer[ListedConfigEntry](form)
    resource = ConfigResource("group", group)
    with asking(connection, answer, group) as admin:
        wanted = () if prefixes is None else prefixes.get("") or prefixes.get(_type(admin, group), ())
        values = admin.describe_configs([resource])[resource]
        answer.items += [
            each for each in config_entries(resource, values) if not wanted or each.key.startswith(tuple(wanted))
        ]
    tell_configs(answer)


def _type(admin: "KafkaAdmin", group: str) -> str:
    """Return the type of a group; nothing if it does not exist, or is not to be seen."""
    found = admin.describe_groups([group]).values.get(group)
    return "" if found is None else found.type
